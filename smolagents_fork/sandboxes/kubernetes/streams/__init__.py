"""Byte streams of a pod: execs, attachments, and a stream that survives lost connections."""
