"""Streams and frames between host, helper process and nodes."""
