"""Requirements of pip for import names.

``additional_authorized_imports`` are import names; pip needs distribution names, and some of the
best known differ. The rules, in order:

1. ``*`` needs no requirement: it allows every import, and names no package.
2. ``package.*`` and ``package.module`` count as ``package``.
3. Names of the standard library need no requirement.
4. Names with a version or extras (``numpy==2.1``, ``uvicorn[standard]``) are used unchanged.
5. Names inside a namespace package (``google.cloud.storage``, ``ruamel.yaml``) become the
   distribution of that part; see ``namespaces``.
6. Others are looked up in the table below, or used unchanged.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from ..errors import ConfigurationError
from .namespaces import NAMESPACES, distribution_in

__all__ = ["DISTRIBUTIONS", "requirements_for"]

# Import name -> distribution, for widely used names; others can be given as requirements=.
DISTRIBUTIONS = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "IPython": "ipython",
    "Levenshtein": "Levenshtein",
    "MySQLdb": "mysqlclient",
    "OpenGL": "PyOpenGL",
    "OpenSSL": "pyOpenSSL",
    "PIL": "pillow",
    "attr": "attrs",
    "barcode": "python-barcode",
    "bs4": "beautifulsoup4",
    "bson": "pymongo",
    "cairosvg": "CairoSVG",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "discord": "discord.py",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "ffmpeg": "ffmpeg-python",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "googleapiclient": "google-api-python-client",
    "grpc": "grpcio",
    "hydra": "hydra-core",
    "imblearn": "imbalanced-learn",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "kaggle": "kaggle",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "nacl": "PyNaCl",
    "osgeo": "GDAL",
    "pdfminer": "pdfminer.six",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pylab": "matplotlib",
    "pytorch_lightning": "pytorch-lightning",
    "pywt": "PyWavelets",
    "rdkit": "rdkit",
    "sentence_transformers": "sentence-transformers",
    "serial": "pyserial",
    "shapefile": "pyshp",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "skopt": "scikit-optimize",
    "slugify": "python-slugify",
    "snappy": "python-snappy",
    "socks": "PySocks",
    "telegram": "python-telegram-bot",
    "tlz": "toolz",
    "umap": "umap-learn",
    "usb": "pyusb",
    "whois": "python-whois",
    "wikipediaapi": "Wikipedia-API",
    "win32api": "pywin32",
    "win32com": "pywin32",
    "wx": "wxPython",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
# PEP 508 without direct references and without options of a requirements file.
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]+\])?\s*"
    r"((===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9.*+!_-]+(\s*,\s*)?)*\s*(;[^\n\r]*)?\Z"
)


def requirements_for(imports: Iterable[str], extra: Iterable[str] = ()) -> tuple[str, ...]:
    """List the requirements, sorted, without duplicates.

    Args:
        imports: import names, as in ``additional_authorized_imports``.
        extra: requirements of pip, added unchanged.

    Raises:
        ConfigurationError: an entry is neither a module's name nor a requirement.
    """
    found: dict[str, str] = {}
    for name in imports:
        requirement = _requirement_for(name)
        if requirement:
            found.setdefault(requirement.lower(), requirement)
    for requirement in extra:
        _check(requirement)
        found[requirement.lower()] = requirement.strip()
    return tuple(sorted(found.values(), key=str.lower))


def _requirement_for(name: str) -> str | None:
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"additional_authorized_imports: {name!r} is not a module's name")
    name = name.strip()
    if name == "*":
        return None
    if not _NAME.match(name.removesuffix(".*")):
        _check(name)
        return name
    top = name.removesuffix(".*").split(".", 1)[0]
    if top in sys.stdlib_module_names or top in ("smolagents", "smolagents_fork"):
        return None
    if top in NAMESPACES:
        return distribution_in(name.removesuffix(".*"))
    return DISTRIBUTIONS.get(top, top)


def _check(requirement: str) -> None:
    if not isinstance(requirement, str) or not _REQUIREMENT.match(requirement.strip()):
        raise ConfigurationError(
            f"{requirement!r} is not a requirement of the form name[extras]<version>: options, "
            "addresses and paths are not passed on to pip; build an image of your own (image=)"
        )
