"""Namespace packages: import names that many distributions share the beginning of.

``google.cloud.storage`` and ``google.protobuf`` come from different distributions and neither of
them is called ``google``. How many parts decide, and how they become the distribution's name, is
the namespace's own custom.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import ConfigurationError

__all__ = ["NAMESPACES", "distribution_in"]


class _Custom(NamedTuple):
    """Rule by which a namespace names its distributions.

    Attributes:
        depth: how many parts of the import name make the distribution's name.
        joint: what stands between them there.
    """

    depth: int
    joint: str


# The longest beginning counts.
NAMESPACES: dict[str, _Custom] = {
    "azure": _Custom(2, "-"),
    "azure.ai": _Custom(3, "-"),
    "azure.cognitiveservices": _Custom(3, "-"),
    "azure.communication": _Custom(3, "-"),
    "azure.data": _Custom(3, "-"),
    "azure.keyvault": _Custom(3, "-"),
    "azure.mgmt": _Custom(3, "-"),
    "azure.monitor": _Custom(3, "-"),
    "azure.search": _Custom(3, "-"),
    "azure.storage": _Custom(3, "-"),
    "backports": _Custom(2, "."),
    "google": _Custom(2, "-"),
    "google.ai": _Custom(3, "-"),
    "google.cloud": _Custom(3, "-"),
    "jaraco": _Custom(2, "."),
    "llama_index": _Custom(2, "-"),
    "llama_index.agent": _Custom(3, "-"),
    "llama_index.embeddings": _Custom(3, "-"),
    "llama_index.llms": _Custom(3, "-"),
    "llama_index.readers": _Custom(3, "-"),
    "llama_index.vector_stores": _Custom(3, "-"),
    "mysql": _Custom(2, "-"),
    "opentelemetry": _Custom(2, "-"),
    "opentelemetry.exporter": _Custom(3, "-"),
    "opentelemetry.instrumentation": _Custom(3, "-"),
    "plone": _Custom(2, "."),
    "repoze": _Custom(2, "."),
    "ruamel": _Custom(2, "."),
    "sphinxcontrib": _Custom(2, "-"),
    "zc": _Custom(2, "."),
    "zope": _Custom(2, "."),
}

# Import name -> distribution, where the custom is not followed.
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
    """The distribution that provides an import name inside one of :data:`NAMESPACES`.

    Args:
        name: import name, without ``.*``.

    Raises:
        ConfigurationError: the name stops at the namespace, which no distribution provides.
    """
    parts = name.split(".")
    beginnings = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    custom = next(NAMESPACES[start] for start in beginnings if start in NAMESPACES)
    if len(parts) < custom.depth:
        example = f"{name}.{_EXAMPLES.get(name, 'part')}"
        raise ConfigurationError(
            f"{name!r} is a namespace that many distributions share, so nothing can be installed "
            f"for it: name the part the code uses, such as {example!r}"
        )
    parts = [_VERSION.sub("", part) for part in parts]
    wanted = ".".join(parts[: custom.depth])
    joined = custom.joint.join(parts[: custom.depth])
    return _EXCEPTIONS.get(wanted) or (joined.replace("_", "-") if custom.joint == "-" else joined)


_EXAMPLES = {
    "azure": "identity",
    "azure.storage": "blob",
    "google": "cloud.storage",
    "google.cloud": "storage",
    "ruamel": "yaml",
    "zope": "interface",
}
