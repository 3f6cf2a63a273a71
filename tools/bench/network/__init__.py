"""Requests through the proxy of ``allowed_hosts=`` beside the same client without it."""
