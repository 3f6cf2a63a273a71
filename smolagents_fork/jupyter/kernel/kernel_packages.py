"""Installation of packages from within the kernel: pip, into a folder the kernel may write to.

Like ``agent``, this file is sent as text and does not import this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import importlib
import json
import os
import subprocess
import sys
import sysconfig


def add_packages(kernel):
    """Install packages into a writable folder, and add it to the import path."""
    data, ca = (bytes(b) for b in kernel.get_parent("shell")["buffers"][:2])
    settings = json.loads(data)
    folder = settings["folder"]
    scheme = sysconfig.get_preferred_scheme("prefix")
    base = {"base": folder, "platbase": folder}
    paths = list(dict.fromkeys(sysconfig.get_path(n, scheme, base) for n in ("purelib", "platlib")))
    # The work folder has more room than /tmp, and code may be mapped from it.
    temporary = os.path.join(folder, "tmp")
    os.makedirs(temporary, exist_ok=True)
    environment = {
        **os.environ,
        **settings["environment"],
        "TMPDIR": temporary,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    if ca:
        environment["PIP_CERT"] = os.path.join(folder, "ca.pem")
        with open(environment["PIP_CERT"], "wb") as file:
            file.write(ca)
    options = [
        "--prefix",
        folder,
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--no-input",
    ]
    options += ["--no-warn-script-location", "--progress-bar", "off"]
    command = [sys.executable, "-m", "pip", "install", *options, *settings["requirements"]]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=settings["seconds"],
        )
    except subprocess.TimeoutExpired as error:
        text = _end_of(error.stdout)
        raise TimeoutError(
            f"pip took longer than build_timeout_seconds={settings['seconds']}\n{text}"
        ) from None
    if done.returncode != 0:
        raise RuntimeError(f"pip ended with {done.returncode}\n{_end_of(done.stdout)}")
    sys.path[:0] = [path for path in paths if path not in sys.path]
    importlib.invalidate_caches()


def _end_of(output):
    return (output or b"").decode("utf-8", "replace")[-8000:].strip()
