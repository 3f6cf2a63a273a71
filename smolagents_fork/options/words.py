"""Names that several options have elsewhere: in docker-py, compose files and hosted services."""

from __future__ import annotations

__all__ = ["CORES", "DISK", "ENGINES", "FOLDERS", "IMPORTS", "PACKAGES", "PROCESSES", "VARIABLES"]

CORES = (
    "cores cpu cpu_cores cpu_count cpu_limit cpu_quota max_cpus nano_cpus num_cpus vcpu vcpus cpus"
)
DISK = (
    "disk disk_limit disk_mb disk_quota max_file_size storage storage_opt disk_size workdir_size "
    "file_size"
)
ENGINES = "base_url docker_host docker_url"
FOLDERS = "binds mount mounts volume volumes files"
IMPORTS = (
    "allowed_imports allowed_modules authorized_imports imports modules additional_imports "
    "additional_authorized_imports"
)
PACKAGES = (
    "dependencies deps install libraries packages pip pip_install pip_packages python_packages "
    "requirements"
)
PROCESSES = "max_pids max_processes nproc pids process_limit pids_limit max_threads"
VARIABLES = "env env_vars environ environment_variables envs environment"
