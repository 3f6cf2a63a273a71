"""A real Kubernetes cluster on this machine: built once from Debian's source, kept, and run."""
