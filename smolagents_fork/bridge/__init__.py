"""The host's side of a call that code in a sandbox makes: dispatch and frames, no transport."""
