"""Import names inside namespace packages go to the distribution that provides them."""

from __future__ import annotations

import pytest

from smolagents_fork.distributions.requirements import requirements_for
from smolagents_fork.errors import ConfigurationError


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("google.cloud.storage", "google-cloud-storage"),
        ("google.cloud.storage.*", "google-cloud-storage"),
        ("google.cloud.bigquery_storage", "google-cloud-bigquery-storage"),
        ("google.cloud.vision_v1", "google-cloud-vision"),
        ("google.cloud.secretmanager", "google-cloud-secret-manager"),
        ("google.protobuf.json_format", "protobuf"),
        ("google.auth.transport.requests", "google-auth"),
        ("google.oauth2", "google-auth"),
        ("google.genai", "google-genai"),
        ("google.api_core.exceptions", "google-api-core"),
        ("ruamel.yaml", "ruamel.yaml"),
        ("ruamel.yaml.comments", "ruamel.yaml"),
        ("zope.interface", "zope.interface"),
        ("zope.interface.*", "zope.interface"),
        ("azure.identity", "azure-identity"),
        ("azure.storage.blob", "azure-storage-blob"),
        ("azure.storage.filedatalake", "azure-storage-file-datalake"),
        ("azure.mgmt.compute", "azure-mgmt-compute"),
        ("backports.zoneinfo", "backports.zoneinfo"),
        ("jaraco.functools", "jaraco.functools"),
        ("sphinxcontrib.bibtex", "sphinxcontrib-bibtex"),
        ("opentelemetry.trace", "opentelemetry-api"),
        ("opentelemetry.sdk.trace", "opentelemetry-sdk"),
        ("opentelemetry.exporter.otlp", "opentelemetry-exporter-otlp"),
        ("llama_index.llms.openai", "llama-index-llms-openai"),
        ("mysql.connector", "mysql-connector-python"),
        ("grpc", "grpcio"),
        ("pdfminer.high_level", "pdfminer.six"),
    ],
)
def test_namespace_packages(name, distribution):
    assert requirements_for([name]) == (distribution,)


@pytest.mark.parametrize("name", ["google", "google.*", "google.cloud", "zope", "azure.storage"])
def test_namespace_alone_names_no_distribution(name):
    with pytest.raises(ConfigurationError) as caught:
        requirements_for([name])
    assert "namespace that many distributions share" in str(caught.value)
    assert "such as" in str(caught.value)
