"""Installation of packages from within the kernel: pip, into a folder the kernel may write to.

The program's own calls of pip install there, too.

Like ``agent``, this file is sent as text and does not import this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import importlib
import os
import subprocess
import sys
import sysconfig


def add_packages(settings, ca):
    """Install packages, into a folder of the import path where one is given.

    Args:
        settings: ``requirements``; ``folder``, empty for the kernel's own environment; pip's
            ``environment`` with a folder; ``seconds``, and ``limit``, their text.
        ca: certificates that pip trusts; empty for its own.
    """
    environment = use_folder(settings, ca) if settings["folder"] else os.environ
    if settings["requirements"]:
        install(settings, environment)


def use_folder(settings, ca):
    """Add a writable folder to the import path, and let pip use it; return pip's environment."""
    folder = settings["folder"]
    scheme = sysconfig.get_preferred_scheme("prefix")
    base = {"base": folder, "platbase": folder}
    paths = list(dict.fromkeys(sysconfig.get_path(n, scheme, base) for n in ("purelib", "platlib")))
    # The work folder has more room than /tmp, and code may be mapped from it.
    temporary = os.path.join(folder, "tmp")
    try:
        for path in (temporary, *paths):
            os.makedirs(path, exist_ok=True)
    except OSError:
        if settings["requirements"]:
            raise
        return os.environ  # no packages were requested, and the folder cannot be written
    pip = {
        **settings["environment"],
        "PIP_PREFIX": folder,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COLOR": "1",
        "PIP_NO_INPUT": "1",
        "PIP_NO_WARN_SCRIPT_LOCATION": "1",
        "PIP_PROGRESS_BAR": "off",
    }
    if ca:
        pip["PIP_CERT"] = os.path.join(folder, "ca.pem")
        with open(pip["PIP_CERT"], "wb") as file:
            file.write(ca)
    for name, value in pip.items():
        os.environ.setdefault(name, value)
    # For the other processes of the program: pip, too, finds there what is installed.
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, *filter(None, known)]))
    sys.path[:0] = [path for path in paths if path not in sys.path]
    return {**os.environ, **pip, "TMPDIR": temporary}


def install(settings, environment):
    """Install the requirements with pip."""
    command = [sys.executable, "-m", "pip", "install", "--", *settings["requirements"]]
    try:
        result = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=settings["seconds"],
        )
    except subprocess.TimeoutExpired as error:
        text = _end_of(error.stdout)
        raise TimeoutError(f"pip took longer than {settings['limit']}\n{text}") from None
    if result.returncode != 0:
        raise RuntimeError(f"pip ended with {result.returncode}\n{_end_of(result.stdout)}")
    importlib.invalidate_caches()


def _end_of(output):
    return (output or b"").decode("utf-8", "replace")[-8000:].strip()
