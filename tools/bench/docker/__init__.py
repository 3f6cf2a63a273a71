"""DockerExecutor against upstream's own and a bare container: ``python -m tools.bench.docker``."""
