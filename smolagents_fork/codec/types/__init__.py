"""Types of values that the codec knows: each with its encoder, and the decoder of its tag."""
