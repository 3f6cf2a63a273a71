"""Requirements of pip for the entries of ``additional_authorized_imports``.

An entry names a package by an import name or by its distribution's, perhaps with a version. pip
needs distribution names, and some of the best known differ. The rules, in order:

1. ``*`` needs no requirement: it allows every import, and names no package.
2. ``package.*`` and ``package.module`` count as ``package``.
3. Names of the standard library, in any version of Python, need no requirement.
4. Names inside a namespace package (``google.cloud.storage``, ``ruamel.yaml``) become the
   distribution of that part.
5. Others are looked up in the table below, or used unchanged.
6. A version, extras and a marker (``numpy==2.1``, ``uvicorn[standard]``) follow that name.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ConfigurationError
from ..standard_library import is_standard
from ..text.redaction import without_passwords

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = [
    "DISTRIBUTIONS",
    "NAMESPACES",
    "ImportEntry",
    "distribution_for",
    "distribution_in",
    "import_name_in",
    "import_names_of",
    "missing_requirements",
    "parse_entry",
    "parse_requirement",
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

# Namespace packages: first parts of import names that many distributions share.
#
# google.cloud.storage and google.protobuf come from different distributions, and neither is named
# google. Each namespace has its own rule for the number of parts that make a distribution's name,
# and for the separator.


class _Rule(NamedTuple):
    """Rule by which a namespace names its distributions.

    Attributes:
        depth: number of parts of the import name that make the distribution's name.
        separator: between the parts in the distribution's name.
    """

    depth: int
    separator: str


# The longest prefix counts.
NAMESPACES: dict[str, _Rule] = {
    "azure": _Rule(2, "-"),
    "azure.ai": _Rule(3, "-"),
    "azure.cognitiveservices": _Rule(3, "-"),
    "azure.communication": _Rule(3, "-"),
    "azure.data": _Rule(3, "-"),
    "azure.keyvault": _Rule(3, "-"),
    "azure.mgmt": _Rule(3, "-"),
    "azure.monitor": _Rule(3, "-"),
    "azure.search": _Rule(3, "-"),
    "azure.storage": _Rule(3, "-"),
    "backports": _Rule(2, "."),
    "google": _Rule(2, "-"),
    "google.ai": _Rule(3, "-"),
    "google.cloud": _Rule(3, "-"),
    "jaraco": _Rule(2, "."),
    "llama_index": _Rule(2, "-"),
    "llama_index.agent": _Rule(3, "-"),
    "llama_index.embeddings": _Rule(3, "-"),
    "llama_index.llms": _Rule(3, "-"),
    "llama_index.readers": _Rule(3, "-"),
    "llama_index.vector_stores": _Rule(3, "-"),
    "mysql": _Rule(2, "-"),
    "opentelemetry": _Rule(2, "-"),
    "opentelemetry.exporter": _Rule(3, "-"),
    "opentelemetry.instrumentation": _Rule(3, "-"),
    "plone": _Rule(2, "."),
    "repoze": _Rule(2, "."),
    "ruamel": _Rule(2, "."),
    "sphinxcontrib": _Rule(2, "-"),
    "zc": _Rule(2, "."),
    "zope": _Rule(2, "."),
}

# Import name -> distribution, for exceptions to the rules.
_EXCEPTIONS = {
    "azure.storage.filedatalake": "azure-storage-file-datalake",
    "azure.storage.fileshare": "azure-storage-file-share",
    "google.api": "googleapis-common-protos",
    "google.cloud.exceptions": "google-cloud-core",
    "google.cloud.secretmanager": "google-cloud-secret-manager",
    "google.iam": "grpc-google-iam-v1",
    "google.longrunning": "googleapis-common-protos",
    "google.oauth2": "google-auth",
    "google.protobuf": "protobuf",
    "google.rpc": "googleapis-common-protos",
    "google.type": "googleapis-common-protos",
    "llama_index.core": "llama-index-core",
    "mysql.connector": "mysql-connector-python",
    "opentelemetry.baggage": "opentelemetry-api",
    "opentelemetry.context": "opentelemetry-api",
    "opentelemetry.metrics": "opentelemetry-api",
    "opentelemetry.propagate": "opentelemetry-api",
    "opentelemetry.semconv": "opentelemetry-semantic-conventions",
    "opentelemetry.trace": "opentelemetry-api",
}

# google.cloud.vision_v1 is a version of google.cloud.vision.
_VERSION = re.compile(r"_v\d+\w*\Z")


def distribution_in(name: str) -> str:
    """Return the distribution that provides an import name inside one of :data:`NAMESPACES`.

    Args:
        name: import name, without ``.*``.

    Raises:
        ConfigurationError: the name is only a namespace, which no distribution provides.
    """
    parts = name.split(".")
    prefixes = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    rule = next(NAMESPACES[start] for start in prefixes if start in NAMESPACES)
    if len(parts) < rule.depth:
        example = f"{name}.{_EXAMPLES.get(name, 'part')}"
        raise ConfigurationError(
            f"{name!r} is a namespace that many distributions share, so nothing can be installed "
            f"for it: name the part the code uses, such as {example!r}"
        )
    parts = [_VERSION.sub("", part) for part in parts]
    normalized = ".".join(parts[: rule.depth])
    joined = rule.separator.join(parts[: rule.depth])
    return _EXCEPTIONS.get(normalized) or (
        joined.replace("_", "-") if rule.separator == "-" else joined
    )


def import_name_in(distribution: str) -> str | None:
    """Return the import name inside one of :data:`NAMESPACES` that a distribution provides.

    Returns:
        the import name; ``None`` where no namespace has a distribution of that name.

    Example:
        >>> import_name_in("google-cloud-storage")
        'google.cloud.storage'
    """
    for name, other in _EXCEPTIONS.items():
        if other == distribution:
            return name
    for namespace in sorted(NAMESPACES, key=len, reverse=True):
        rule = NAMESPACES[namespace]
        prefix = namespace.replace(".", rule.separator) + rule.separator
        if distribution.startswith(prefix):
            return f"{namespace}.{distribution[len(prefix) :].replace('-', '_')}"
    return None


_EXAMPLES = {
    "azure": "identity",
    "azure.storage": "blob",
    "google": "cloud.storage",
    "google.cloud": "storage",
    "ruamel": "yaml",
    "zope": "interface",
}


_PLAIN = re.compile(r"[\w.-]+\Z")
# Characters of a requirement, and of one that a message shows.
_LONGEST = 1000
# Endings of files that pip installs.
_ARCHIVES = (
    *(".whl", ".egg", ".zip", ".tar", ".tgz", ".tbz", ".txz", ".tlz", ".tar.gz", ".tar.bz2"),
    *(".tar.xz", ".tar.lz", ".tar.lzma"),
)
_SMOLAGENTS = ("smolagents", "smolagents_fork")


@dataclass(frozen=True)
class ImportEntry:
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


def parse_entry(text: str) -> ImportEntry:
    """Parse an entry of ``additional_authorized_imports``.

    Args:
        text: import name or distribution's name, perhaps with a version (PEP 508).

    Raises:
        ConfigurationError: it is neither, or it asks for a version of a standard module.
    """
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f"additional_authorized_imports: {text!r} is not a module name")
    text = text.strip()
    if text == "*":
        return ImportEntry(text, text)
    name, wildcard, _ = text.partition(".*")
    if _PLAIN.match(name):
        return ImportEntry(text, name, wildcard)
    parsed = parse_requirement(text)
    name, versions = parsed.name, str(parsed.specifier)
    entry = ImportEntry(text, name, versions=versions)
    if versions and is_standard(entry.top):
        raise ConfigurationError(
            f"{text!r}: {name} is part of Python and has no version of its own; leave it out"
        )
    return entry


def requirements_for(imports: Iterable[str], extra: Iterable[str] = ()) -> tuple[str, ...]:
    """List the requirements, sorted, without duplicates.

    Args:
        imports: entries of ``additional_authorized_imports``.
        extra: requirements of pip.

    Raises:
        ConfigurationError: an entry is neither a module's name nor a requirement.
    """
    requirements: dict[str, str] = {}
    for text in imports:
        entry = parse_entry(text)
        distribution = distribution_for(entry.name)
        if distribution:
            requirement = str(parse_requirement(distribution + entry.suffix))
            requirements.setdefault(requirement.lower(), requirement)
    for text in extra:
        requirement = str(parse_requirement(text))
        requirements[requirement.lower()] = requirement
    return tuple(sorted(requirements.values(), key=str.lower))


def missing_requirements(requested: Iterable[str], installed: Iterable[str]) -> list[str]:
    """List what a sandbox with the packages of one list lacks for another list.

    Args:
        requested: entries of ``additional_authorized_imports``; without a version, any serves.
        installed: entries that the sandbox was made with.

    Example:
        >>> missing_requirements(["numpy", "pandas"], ["numpy==2.1"])
        ['pandas']
    """
    installed = list(installed)
    present = {*requirements_for(installed)}
    present |= {distribution_for(parse_entry(text).name) or "" for text in installed}
    known = {_normalize(requirement) for requirement in present}
    return [text for text in requirements_for(requested) if _normalize(text) not in known]


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
    if name == "*" or is_standard(top) or top in _SMOLAGENTS:
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
    normalized = _normalize(distribution)
    known = [*_RENAMED.items(), *((name, other) for other, name in _VARIANTS.items())]
    return tuple(name for name, other in known if _normalize(other) == normalized)


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_requirement(text: str) -> Requirement:
    """Parse a requirement that anybody may have written, such as a saved agent's.

    What pip is to install passes through here, and pip gets ``str()`` of the result as an argument.
    So no text becomes an option, an address, a path or a file of requirements.

    Args:
        text: a name, perhaps with extras, versions and a marker (PEP 508).

    Raises:
        ConfigurationError: it is something else, an address, or the name of an archive.

    Example:
        >>> str(parse_requirement("uvicorn [standard]>=0.30"))
        'uvicorn[standard]>=0.30'
    """
    # Imported here: most lists have no requirement, and every agent has a list.
    from packaging.requirements import InvalidRequirement, Requirement

    parsed = None
    if isinstance(text, str) and len(text) <= _LONGEST and text.isascii() and text.isprintable():
        with contextlib.suppress(AttributeError, InvalidRequirement):
            parsed = Requirement(text)
    # pip takes it, without extras and marker, for a path if it has a separator or an archive's end.
    asked = "" if parsed is None else f"{parsed.name} {parsed.name}{parsed.specifier}".lower()
    is_path = any(part in asked for part in "/\\") or any(
        name.endswith(_ARCHIVES) for name in asked.split()
    )
    if parsed is None or parsed.url is not None or is_path:
        shown = repr(without_passwords(str(text)))
        raise ConfigurationError(
            f"{shown[:_LONGEST]} is not a requirement of the form name[extras]<version>: options, "
            "addresses and paths are not passed on to pip; build an image of your own (image=)"
        )
    return parsed
