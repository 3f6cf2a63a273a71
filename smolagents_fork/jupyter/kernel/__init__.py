"""Code that is sent into a kernel, and ``bootstrap``, which creates the requests that send it."""
