"""Suggestions for keywords that an executor does not have: the option that was probably meant.

An option that waives a boundary is suggested only for its own misspelt name, never for a similar
one: ``allow_network=True`` means ``network=``, and not ``allow_shared_network=``.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

__all__ = ["OTHER_NAMES", "suggest_options"]

_IMPORTS = ("additional_authorized_imports", "additional_imports")
_PACKAGES = ("requirements", *_IMPORTS)
_PRINTED = ("max_print_outputs_length",)

# Option -> its names in docker-py, compose files, hosted services and other executors.
_NAMES_ELSEWHERE: dict[tuple[str, ...], str] = {
    ("acquire_timeout_seconds",): "acquire_timeout wait_timeout",
    ("additional_functions",): "builtins custom_functions functions",
    _IMPORTS: "allowed_imports allowed_modules authorized_imports imports modules",
    ("ca_bundle",): "ca_cert ca_certs ca_file cert certs ssl_cert_file",
    ("cpu_seconds", "timeout_seconds"): "cpu_time max_cpu_time",
    ("cpus", "cpu_seconds"): (
        "cores cpu cpu_cores cpu_count cpu_limit cpu_quota max_cpus nano_cpus num_cpus vcpu vcpus"
    ),
    ("disk_size", "workdir_size", "file_size"): (
        "disk disk_limit disk_mb disk_quota max_file_size storage storage_opt"
    ),
    ("engine",): "base_url docker_host docker_url",
    ("environment", "secrets"): "env env_vars environ environment_variables envs",
    ("figures_dir",): "figure_dir figures output_dir plot_dir plots_dir save_dir",
    ("files",): "data_files input_files upload uploads",
    ("idle_seconds",): "idle idle_timeout max_idle",
    ("image",): "container_image docker_image image_tag template",
    ("lease_seconds",): "lease time_to_live ttl",
    _PRINTED: "max_output max_output_size max_stdout output_limit truncate_output",
    ("max_size",): "max_containers max_sandboxes max_workers pool_size",
    ("memory",): (
        "max_memory max_memory_mb mem mem_limit mem_mb memory_bytes memory_limit memory_limit_mb "
        "memory_mb ram"
    ),
    ("min_size", "max_size"): "size",
    ("min_size",): "min_idle prewarm warm",
    ("network",): (
        "allowed_hosts hosts internet internet_access net network_access network_disabled "
        "network_enabled network_mode networking shared_network block_network"
    ),
    ("on_output",): "callback on_print on_stderr on_stdout output_callback stream_callback",
    _PACKAGES: (
        "dependencies deps install libraries packages pip pip_install pip_packages python_packages"
    ),
    ("pids_limit", "max_threads"): "max_pids max_processes nproc pids process_limit",
    ("runtime",): "container_runtime oci_runtime runtime_class",
    ("startup_timeout_seconds",): "boot_timeout start_timeout startup_timeout",
    ("timeout_seconds",): (
        "execution_timeout max_execution_time max_time run_timeout time_limit timeout timeout_ms "
        "timeout_s timeout_sec"
    ),
    ("tmp_size",): "shm_size tmpfs tmpfs_size",
    ("user",): "run_as_user uid user_id",
    ("volumes", "files"): "binds mount mounts volume volumes",
    ("workdir",): "cwd work_dir working_dir working_directory workspace",
}
#: Names of options elsewhere, and of the options of one executor that another has not, each with
#: the options here.
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    name: options
    # The first row of a name is the one that counts.
    for options, names in reversed(_NAMES_ELSEWHERE.items())
    for name in (*names.split(), *options)
}
# Beginnings of a flag's name: what follows says what the flag is about.
_FLAG_PREFIXES = ("allow_", "allowed_", "block_", "disable_", "enable_", "no_", "use_", "with_")
# Options that waive a boundary, besides all that begin with allow_.
_WAIVERS = frozenset({"container_run_kwargs", "read_only", "readable_paths"})
# Mistyped letters of a waiver's own name.
_MOST_EDITS = 2
# Likeness from which another name is taken for misspelt.
_LIKENESS = 0.7


def suggest_options(unknown: str, names: Collection[str]) -> list[str]:
    """Return the options that were probably meant; empty if none comes to mind.

    Args:
        unknown: a keyword that there is not.
        names: those that there are.
    """
    subjects = [
        unknown.removeprefix(prefix) for prefix in _FLAG_PREFIXES if unknown.startswith(prefix)
    ]
    safe = [name for name in names if not _waives(name) or _edits(unknown, name) <= _MOST_EDITS]
    for word in (unknown, *subjects):
        if word in safe:
            return [word]
        meant = [name for name in OTHER_NAMES.get(word, ()) if name in safe]
        close = meant or difflib.get_close_matches(word, safe, 1, cutoff=_LIKENESS)
        if close:
            return close
    return []


def _waives(name: str) -> bool:
    return name.startswith("allow_") or name in _WAIVERS


def _edits(first: str, second: str) -> int:
    """Count the letters to insert, remove or replace to make ``second`` of ``first``."""
    row = list(range(len(second) + 1))
    for count, letter in enumerate(first, 1):
        last, row = row, [count]
        for place, other in enumerate(second):
            cheapest = min(last[place + 1] + 1, row[place] + 1, last[place] + (letter != other))
            row.append(cheapest)
    return row[-1]
