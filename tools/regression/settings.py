"""Settings of the two environments and of the tests: the policy, in one place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tools.paths import BUILD, ROOT

__all__ = [
    "CONSTRAINTS",
    "DEVIATIONS",
    "EXTRAS",
    "OPTIONAL",
    "OVERLAY",
    "PROJECT",
    "RECORDS",
    "REQUIREMENTS",
    "SCRATCH",
    "environment_of_a_run",
]

SCRATCH = BUILD / "regression"
UPSTREAM = ROOT / "tests" / "upstream"
OVERLAY = UPSTREAM / "overlay"
PROJECT = UPSTREAM / "project"
RECORDS = UPSTREAM / "outcomes"
DEVIATIONS = UPSTREAM / "deviations.toml"
CONSTRAINTS = Path(__file__).with_name("constraints.txt")

# Upstream's extras that install from an index alone. Left out: vllm (needs a GPU), quality and
# test (tools; the ones that its tests import are named below), torch, audio, transformers and
# mlx-lm (they pull the CUDA build of torch, see OPTIONAL).
EXTRAS = (
    "bedrock blaxel docker e2b gradio litellm mcp modal openai telemetry toolkit vision".split()
)

REQUIREMENTS = (
    "Wikipedia-API>=0.8.1",
    "ipython>=8.31.0",
    "numpy>=1.21.2",
    # A test compares with pandas 2's words ("Use a.empty, a.bool(), ..."), which 3 has changed.
    "pandas>=2.2.3,<3",
    "pytest>=8.1.0",
    "pytest-timeout",
    "pytest-xdist",
    "rank-bm25",
    "soundfile",
    "transformers>=4.0.0",
    "uv==0.13.9",
)

# Groups that not every index or platform has. One that does not resolve is left out on both sides
# and named in the report. A plain `torch` would be the CUDA build of 3 GB on Linux; the local
# version asks for the CPU build and for nothing else. accelerate requires torch.
OPTIONAL: dict[str, tuple[str, ...]] = {
    "torch": ("torch==2.13.0+cpu", "accelerate"),
    "mlx": ("mlx[cpu]", "mlx-lm"),
}

# Default deny: a test sees only these of the caller's variables. Keys and tokens are left out on
# purpose (a test that finds OPENAI_API_KEY would call the service), proxies too; the rest is what
# lets the one test that installs a package reach the user's own index.
_PASSED_ON = re.compile(
    r"\A(LANG|LC_.*|TERM|DOCKER_HOST|PIP_.*|UV_.*|SSL_CERT_.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)\Z"
)


def environment_of_a_run(
    environ: Mapping[str, str],
    *,
    python: Path,
    home: Path,
    network: bool,
    run_all: bool,
) -> dict[str, str]:
    """Variables for one run of upstream's tests, the same on both sides but for their homes.

    Args:
        environ: the caller's variables.
        python: interpreter of the virtual environment.
        home: an empty folder that serves as home, cache and temporary folder.
        network: let the test processes reach other machines.
        run_all: run what upstream marks ``require_run_all``.
    """
    return {
        **{name: value for name, value in environ.items() if _PASSED_ON.match(name)},
        "PATH": f"{python.parent}:{environ.get('PATH', '/usr/bin:/bin')}",
        "VIRTUAL_ENV": str(python.parent.parent),
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "HF_HOME": str(home / "huggingface"),
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "GRADIO_ANALYTICS_ENABLED": "False",
        # litellm fetches its price list on import otherwise.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "COLUMNS": "120",
        # arize-phoenix registers a pytest plugin that does not import on every Python.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **({"REGRESSION_NETWORK": "1"} if network else {}),
        **({"RUN_ALL": "1"} if run_all else {}),
    }
