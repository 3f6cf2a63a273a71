"""What the patches call: which executor an agent gets, how it is saved, how it ends."""
