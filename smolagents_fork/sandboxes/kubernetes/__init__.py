"""Kubernetes as an engine: each sandbox is a pod without a network."""
