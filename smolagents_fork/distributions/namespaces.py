"""Namespace packages: first parts of import names that many distributions share.

``google.cloud.storage`` and ``google.protobuf`` come from different distributions, and neither is
named ``google``. Each namespace has its own rule for the number of parts that make a distribution's
name, and for the separator.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import ConfigurationError

__all__ = ["NAMESPACES", "distribution_in", "import_name_in"]


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
    "google.api_core": "google-api-core",
    "google.cloud.exceptions": "google-cloud-core",
    "google.cloud.secretmanager": "google-cloud-secret-manager",
    "google.cloud.videointelligence": "google-cloud-videointelligence",
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
    wanted = ".".join(parts[: rule.depth])
    joined = rule.separator.join(parts[: rule.depth])
    return _EXCEPTIONS.get(wanted) or (
        joined.replace("_", "-") if rule.separator == "-" else joined
    )


def import_name_in(distribution: str) -> str | None:
    """Return the import name inside one of :data:`NAMESPACES` that a distribution provides.

    Args:
        distribution: Name of the distribution.

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
