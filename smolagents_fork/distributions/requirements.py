"""Requirements of pip for the entries of ``additional_authorized_imports``.

An entry names a package by an import name or by its distribution's, perhaps with a version. pip
needs distribution names, and some of the best known differ. The rules, in order:

1. ``*`` needs no requirement: it allows every import, and names no package.
2. ``package.*`` and ``package.module`` count as ``package``.
3. Names of the standard library need no requirement.
4. Names inside a namespace package (``google.cloud.storage``, ``ruamel.yaml``) become the
   distribution of that part; see ``namespaces``.
5. Others are looked up in the table below, or used unchanged.
6. A version, extras and a marker (``numpy==2.1``, ``uvicorn[standard]``) follow that name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import ConfigurationError
from ..redaction import without_passwords
from .namespaces import NAMESPACES, distribution_in

__all__ = [
    "DISTRIBUTIONS",
    "Entry",
    "distribution_for",
    "import_names_of",
    "missing_requirements",
    "parse_entry",
    "requirements_for",
]

# Import name -> distribution, for widely used names; others can be given as requirements=.
_RENAMED = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "IPython": "ipython",
    "Levenshtein": "Levenshtein",
    "MySQLdb": "mysqlclient",
    "OpenGL": "PyOpenGL",
    "OpenSSL": "pyOpenSSL",
    "PIL": "pillow",
    "barcode": "python-barcode",
    "bs4": "beautifulsoup4",
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
    "nacl": "PyNaCl",
    "osgeo": "GDAL",
    "pdfminer": "pdfminer.six",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
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
# The same for modules of distributions that have a module of their own name besides.
_FURTHER = {
    "attr": "attrs",
    "bson": "pymongo",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "pylab": "matplotlib",
    "tlz": "toolz",
}
DISTRIBUTIONS = {**_RENAMED, **_FURTHER}
# Other distributions of the same modules.
_VARIANTS = {
    "faiss-gpu": "faiss",
    "opencv-contrib-python": "cv2",
    "opencv-contrib-python-headless": "cv2",
    "opencv-python": "cv2",
    "tensorflow-cpu": "tensorflow",
}

_PLAIN = re.compile(r"[\w.-]+\Z")
_SMOLAGENTS = ("smolagents", "smolagents_fork")


@dataclass(frozen=True)
class Entry:
    """One entry of a list of authorised imports.

    Attributes:
        text: as it was given.
        name: import name or distribution's name; ``*`` for every module.
        wildcard: ``.*``, where private submodules are meant, too.
        versions: version specifiers, such as ``>=2,<3``; empty for any version.
    """

    text: str
    name: str
    wildcard: str = ""
    versions: str = ""

    @property
    def top(self) -> str:
        """First part of the name."""
        return self.name.split(".", 1)[0]

    @property
    def suffix(self) -> str:
        """Extras, versions and marker, which follow the name."""
        return "" if self.wildcard else self.text[len(self.name) :]

    def applies(self) -> bool:
        """Tell whether a marker, such as ``python_version < "3.12"``, is true here."""
        if ";" not in self.suffix:
            return True
        from packaging.requirements import Requirement

        marker = Requirement(self.text).marker
        return marker is None or marker.evaluate()

    def admits(self, version: str) -> bool:
        """Tell whether a version of the distribution is one of those asked for."""
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(self.versions).contains(version, prereleases=True)


def parse_entry(text: str) -> Entry:
    """Parse an entry of ``additional_authorized_imports``.

    Args:
        text: import name or distribution's name, perhaps with a version (PEP 508).

    Raises:
        ConfigurationError: it is neither, or it asks for a version of a standard module.
    """
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f"additional_authorized_imports: {text!r} is not a module's name")
    text = text.strip()
    if text == "*":
        return Entry(text, text)
    name, wildcard, _ = text.partition(".*")
    if _PLAIN.match(name):
        return Entry(text, name, wildcard)
    name, versions = _parse_requirement(text)
    entry = Entry(text, name, versions=versions)
    if versions and entry.top in sys.stdlib_module_names:
        raise ConfigurationError(
            f"{text!r}: {name} is part of Python and has no version of its own; leave it out"
        )
    return entry


def requirements_for(imports: Iterable[str], extra: Iterable[str] = ()) -> tuple[str, ...]:
    """List the requirements, sorted, without duplicates.

    Args:
        imports: entries of ``additional_authorized_imports``.
        extra: requirements of pip, added unchanged.

    Raises:
        ConfigurationError: an entry is neither a module's name nor a requirement.
    """
    found: dict[str, str] = {}
    for text in imports:
        entry = parse_entry(text)
        distribution = distribution_for(entry.name)
        if distribution:
            requirement = distribution + entry.suffix
            _parse_requirement(requirement)
            found.setdefault(requirement.lower(), requirement)
    for requirement in extra:
        _parse_requirement(requirement)
        found[requirement.lower()] = requirement.strip()
    return tuple(sorted(found.values(), key=str.lower))


def missing_requirements(asked: Iterable[str], given: Iterable[str]) -> list[str]:
    """List what a sandbox with the packages of one list lacks for another list.

    Args:
        asked: entries of ``additional_authorized_imports``; without a version, any serves.
        given: entries that the sandbox was made with.

    Example:
        >>> missing_requirements(["numpy", "pandas"], ["numpy==2.1"])
        ['pandas']
    """
    given = list(given)
    present = {*requirements_for(given)}
    present |= {distribution_for(parse_entry(text).name) or "" for text in given}
    known = {_normalized(requirement) for requirement in present}
    return [one for one in requirements_for(asked) if _normalized(one) not in known]


def distribution_for(name: str) -> str | None:
    """Return the distribution that provides an import name; ``None`` for what Python provides.

    Args:
        name: import name or distribution's name, without ``.*``.

    Raises:
        ConfigurationError: the name is only a namespace, which no distribution provides.

    Example:
        >>> distribution_for("sklearn.linear_model")
        'scikit-learn'
    """
    top = name.split(".", 1)[0]
    if name == "*" or top in sys.stdlib_module_names or top in _SMOLAGENTS:
        return None
    if top in NAMESPACES:
        return distribution_in(name)
    return DISTRIBUTIONS.get(top, top)


def import_names_of(distribution: str) -> tuple[str, ...]:
    """Return the import names that the tables give for a distribution; empty if they have none.

    Example:
        >>> import_names_of("PyYAML")
        ('yaml',)
    """
    wanted = _normalized(distribution)
    known = [*_RENAMED.items(), *((name, other) for other, name in _VARIANTS.items())]
    return tuple(name for name, other in known if _normalized(other) == wanted)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _parse_requirement(requirement: str) -> tuple[str, str]:
    """Return name and version specifiers of a requirement without an address.

    Raises:
        ConfigurationError: it is something else.
    """
    # Imported here: most lists have no requirement, and every agent has a list.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        parsed = Requirement(requirement) if requirement.isprintable() else None
    except (AttributeError, InvalidRequirement):
        parsed = None
    if parsed is None or parsed.url is not None:
        raise ConfigurationError(
            f"{without_passwords(requirement)!r} is not a requirement of the form "
            "name[extras]<version>: options, "
            "addresses and paths are not passed on to pip; build an image of your own (image=)"
        )
    return parsed.name, str(parsed.specifier)
