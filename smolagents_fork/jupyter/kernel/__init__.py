"""The code that is sent into a kernel, and ``bootstrap``, which makes the requests that send it."""
