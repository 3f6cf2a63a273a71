"""Entries of a list of authorised imports to the names that programs import, and distributions."""

from __future__ import annotations

import time
import zipfile
from importlib.metadata import version

import pytest

from smolagents_fork.distributions.import_names import import_names, missing_packages, providers
from smolagents_fork.distributions.requirements import requirements_for
from smolagents_fork.errors import ConfigurationError


@pytest.mark.parametrize(
    ("entry", "names", "requirements"),
    [
        ("*", ["*"], []),
        ("os.path", ["os.path"], []),
        ("__future__", ["__future__"], []),
        ("numpy", ["numpy"], ["numpy"]),
        ("numpy.*", ["numpy.*"], ["numpy"]),
        ("numpy >= 1.26", ["numpy"], ["numpy>=1.26"]),
        ("PIL", ["PIL"], ["pillow"]),
        ("Pillow", ["PIL"], ["Pillow"]),
        ("PIL>=9", ["PIL"], ["pillow>=9"]),
        ("pillow.*", ["PIL.*"], ["pillow"]),
        ("sklearn.linear_model", ["sklearn.linear_model"], ["scikit-learn"]),
        ("scikit-learn", ["sklearn"], ["scikit-learn"]),
        ("scikit_learn==1.5.*", ["sklearn"], ["scikit_learn==1.5.*"]),
        ("sklearn>=1.5", ["sklearn"], ["scikit-learn>=1.5"]),
        ("PyYAML", ["yaml"], ["PyYAML"]),
        ("opencv-python", ["cv2"], ["opencv-python"]),
        ("discord.py", ["discord"], ["discord.py"]),
        ("ruamel.yaml>=0.18", ["ruamel.yaml"], ["ruamel.yaml>=0.18"]),
        ("google-cloud-storage", ["google.cloud.storage"], ["google-cloud-storage"]),
        ("google.cloud.storage>=2", ["google.cloud.storage"], ["google-cloud-storage>=2"]),
        ("uvicorn[standard]>=0.3,<1", ["uvicorn"], ["uvicorn[standard]<1,>=0.3"]),
        ("typing-extensions", ["typing_extensions"], ["typing-extensions"]),
        ("python-dateutil", ["dateutil"], ["python-dateutil"]),
        ("no-such-thing", ["no_such_thing"], ["no-such-thing"]),
        ("numpy; python_version > '3'", ["numpy"], ['numpy; python_version > "3"']),
        ("numpy; python_version < '3'", [], ['numpy; python_version < "3"']),
    ],
)
def test_every_spelling_of_an_entry(entry, names, requirements):
    assert list(import_names([entry])) == names
    assert list(requirements_for([entry])) == requirements


def test_modules_of_a_wheel_are_those_that_it_contains(tmp_path):
    wheel = tmp_path / "some_thing-2.0-py3-none-any.whl"
    files = ["thing/__init__.py", "thing/inner/__init__.py", "space/part/__init__.py", "_hidden.py"]
    files += ["single.py", "fast.cpython-314-wasm32-emscripten.so", "thing/data.txt"]
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in files:
            archive.writestr(file, "")
        info = "some_thing-2.0.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: some-thing\nVersion: 2.0\n"
        )
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in files))
    path = [str(wheel)]
    assert import_names(["some-thing>=1"], path) == ("fast", "single", "space.part", "thing")
    assert import_names(["thing.inner"], path) == ("thing.inner",)
    assert import_names(["json", "numpy"], path) == ("json", "numpy")


def test_folders_without_end_take_linear_time(tmp_path):
    wheel, depth = tmp_path / "deep-1.0-py3-none-any.whl", 65_000
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("deep-1.0.dist-info/METADATA", "Name: deep\nVersion: 1.0\n")
        lines = [f"{'a/' * depth}module{number}.py,,\n" for number in range(30)]
        archive.writestr("deep-1.0.dist-info/RECORD", "".join(lines))
    started = time.monotonic()
    assert len(import_names(["deep>=1"], [str(wheel)])[0]) > depth
    assert time.monotonic() - started < 60


@pytest.mark.parametrize(
    ("entry", "module"),
    [
        ("os.path.join", "os.path"),
        ("json.dumps", "json"),
        ("json.dumps.*", "json"),
        ("numpy.array", "numpy"),
        ("numpy.linalg.norm.any", "numpy.linalg"),
        ("PIL.Image.new>=1", "PIL.Image"),
    ],
)
def test_what_is_in_a_module_is_not_an_entry(entry, module):
    with pytest.raises(ConfigurationError, match=f"is not a module. Pass '{module}'"):
        import_names([entry])


def test_modules_that_are_not_files_are_entries():
    for name in ("os.path", "collections.abc", "xml.etree.ElementTree", "json.decoder.*"):
        assert import_names([name]) == (name,)
    for name in ("numpy.no_such", "no_such.at.all", "os.no_such"):
        assert import_names([name]) == (name,)


def test_installed_versions_satisfy_the_list():
    installed = version("numpy")
    assert missing_packages(["numpy", f"numpy=={installed}", "numpy>=1", "Pillow>=1", "*"]) == ""
    assert missing_packages(["numpy; python_version < '3'", "json"]) == ""


@pytest.mark.parametrize("entry", ["numpy==1.0", "numpy[extra]<1", "numpy~=1.0.0"])
def test_another_version_is_named_beside_the_one_asked_for(entry):
    wanted = entry.replace("[extra]", "").removeprefix("numpy")
    assert missing_packages([entry]) == (
        f"{entry} is authorized, and numpy {version('numpy')} is installed. Install that version "
        f"(pip install 'numpy{wanted}'), leave the version out, or use executor_type='docker', "
        "which installs what the list names."
    )


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ("no_such_module.part", "no_such_module"),
        ("no-such-thing>=2", "no-such-thing"),
        ("No-Such-Thing", "No-Such-Thing"),
    ],
)
def test_what_is_not_installed_is_named_in_upstreams_words(entry, named):
    assert missing_packages([entry, "numpy"]) == (
        f"Non-installed authorized modules: {named}. Please install these modules or remove them "
        "from the authorized imports list."
    )


def test_a_version_of_a_standard_module_is_refused():
    for function in (import_names, missing_packages, requirements_for):
        with pytest.raises(ConfigurationError) as caught:
            function(["json>=2"])
        assert str(caught.value) == (
            "'json>=2': json is part of Python and has no version of its own; leave it out"
        )


@pytest.mark.parametrize("bad", ["a b", "git+https://x/y", "a @ file:///etc", "", "x\n--pre"])
def test_what_is_no_entry_is_refused(bad):
    for function in (import_names, missing_packages):
        with pytest.raises(ConfigurationError):
            function([bad])


@pytest.mark.parametrize(
    ("top", "names"),
    [("numpy", ["numpy"]), ("PIL", ["pillow"]), ("yaml", ["pyyaml"]), ("nump", []), ("absent", [])],
)
def test_distributions_of_a_module_are_known_on_every_python(top: str, names: list[str]):
    assert [one.metadata["Name"].lower() for one in providers(top)] == names


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
