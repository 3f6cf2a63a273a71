"""The workflows call what exists, and the weekly check cannot fail unseen."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.command import run
from tools.paths import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"
REPORT = ROOT / "tools" / "report_rebase_check.sh"

pytestmark = pytest.mark.skipif(
    not WORKFLOWS.is_dir(), reason="a source distribution carries no workflows"
)


def steps(name: str) -> list[dict[str, Any]]:
    workflow = yaml.safe_load((WORKFLOWS / name).read_text("utf-8"))
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize(
    "path", [*sorted(WORKFLOWS.glob("*.yml")), ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name
)
def test_every_make_target_exists(path: Path):
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = set(re.findall(r"(?:^|run: |`)make ([a-z-]+)", path.read_text("utf-8"), re.MULTILINE))
    assert used <= targets


def other_systems_commands() -> list[str]:
    """Return the commands of the job for Windows and macOS: installation, and tests."""
    workflow = yaml.safe_load((WORKFLOWS / "test.yml").read_text("utf-8"))
    job = workflow["jobs"]["other-systems"]
    assert job["strategy"]["matrix"]["os"] == ["windows-latest", "macos-latest"]
    return [step["run"] for step in job["steps"] if "run" in step]


def test_build_lock_series_and_local_executor_are_tested_on_other_systems():
    """The job itself cannot run here; its commands name what exists."""
    install, tested = other_systems_commands()
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (backend,) = re.findall(r'^requires = \["(.+)"\]$', project, re.MULTILINE)
    assert "--constraint requirements-dev.txt" in install
    assert f"\n{backend}\n" in (ROOT / "requirements-dev.txt").read_text("utf-8")
    files = re.findall(r"tests/\S+", tested)
    assert {Path(name).parts[1] for name in files} == {"build", "tools", "contract"}
    assert [name for name in files if not (ROOT / name).is_file()] == []


NO_POSIX = """
import sys, warnings

for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
warnings.simplefilter("ignore")
import filelock  # warns here once, and on Windows not at all
"""


@pytest.mark.broad
@pytest.mark.slow
def test_tests_of_other_systems_are_collected_without_posix_modules(tmp_path: Path):
    _, tested = other_systems_commands()
    (tmp_path / "no_posix.py").write_text(NO_POSIX)
    python_path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    run(
        [
            sys.executable, "-m", "pytest", "-p", "no_posix", "-p", "no:cacheprovider", "-qq",
            "--collect-only", *re.findall(r"tests/\S+", tested),
        ],
        timeout_seconds=300, cwd=ROOT, env={**os.environ, "PYTHONPATH": python_path},
    )  # fmt: skip


def test_one_job_needs_all_others():
    jobs = yaml.safe_load((WORKFLOWS / "test.yml").read_text("utf-8"))["jobs"]
    required = jobs.pop("required")
    assert set(required["needs"]) == set(jobs)
    assert required["if"] == "always()"


def test_development_requirements_are_pinned_without_an_index():
    lines = (ROOT / "requirements-dev.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.match(r"[\w.-]+==[\w.!+-]+( ; .+)?\Z", line)] == []


@pytest.mark.parametrize("python", ["3.10", "3.14"])
@pytest.mark.parametrize("system", ["linux", "darwin", "win32", "emscripten"])
def test_development_requirements_are_pinned_where_they_are_asked_for(python, system):
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": system,
    }
    asked, pinned = (
        {
            canonicalize_name(one.name)
            for line in (ROOT / name).read_text("utf-8").splitlines()
            if not line.startswith("#")
            and ((one := Requirement(line)).marker is None or one.marker.evaluate(environment))
        }
        for name in ("requirements-dev.in", "requirements-dev.txt")
    )
    assert asked <= pinned


def test_pre_commit_calls_installed_modules():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0][
        "hooks"
    ]
    modules = [hook["entry"].split()[2] for hook in hooks]
    assert {"ruff", "mypy"} <= set(modules)
    for module in modules:
        assert importlib.util.find_spec(module) is not None, module


def test_whole_suite_requires_what_ci_requires():
    workflow = yaml.safe_load((WORKFLOWS / "test.yml").read_text("utf-8"))
    ours = re.findall(r"export (REQUIRE_\w+)=1", (ROOT / ".ci" / "run").read_text("utf-8"))
    assert ours
    # The cluster is built from Debian's package source, which a hosted runner does not have.
    assert set(ours) - {"REQUIRE_KUBERNETES"} <= set(workflow["jobs"]["suite"]["env"])
    commands = [step.get("run", "") for step in steps("test.yml")]
    for target in ("make demo", "make test", "make test-all"):
        assert any(command.endswith(target) for command in commands)


def test_nightly_suite_leaves_nothing_out():
    workflow = yaml.safe_load((WORKFLOWS / "test.yml").read_text("utf-8"))
    # YAML 1.1 reads the key "on" as true. Minute and hour alone: every day.
    (schedule,) = workflow[True]["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* \*", schedule["cron"])
    condition = workflow["jobs"]["suite"]["env"]["WHOLE_CONTRACT"]
    assert condition == "${{ github.event_name == 'schedule' && '1' || '' }}"


def test_weekly_checks_own_failure_is_visible():
    conditions = [str(step.get("if", "")) for step in steps("rebase-check.yml")]
    assert "failure() || cancelled()" in conditions
    assert any(condition.startswith("always()") for condition in conditions)


@pytest.fixture
def report(tmp_path: Path):
    """Runs the report script with a ``gh`` that writes down how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    gh = folder / "gh"
    gh.write_text(
        '#!/bin/sh\necho "$@" >> "$GH_LOG"\n'
        'for word; do [ "$last" = --body-file ] && cat "$word" >> "$GH_LOG"; last=$word; done\n'
        '[ "$2" = list ] && printf "%s" "$GH_OPEN"\n'
        'exit "${GH_STATUS:-0}"\n'
    )
    gh.chmod(0o755)

    def call(
        status: str,
        *,
        name: str = "rebase-check",
        open_issue: str = "",
        text: str | None = None,
        gh_status: str = "0",
    ):
        if text is not None:
            (tmp_path / "reports").mkdir()
            (tmp_path / "reports" / f"{name}.md").write_text(text)
        log = tmp_path / "log"
        environment = {
            **os.environ,
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "GH_LOG": str(log),
            "GH_OPEN": open_issue,
            "GH_STATUS": gh_status,
            "RUN_URL": "https://example.invalid/run/1",
        }
        done = subprocess.run(
            ["bash", str(REPORT), name, status],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        return done.returncode, log.read_text()

    return call


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("rebase-check", "rebase-check: the series does not go onto"),
        ("drift-check", "drift-check: the series does not go onto upstream's main"),
    ],
)
def test_failed_check_opens_an_issue_of_its_own_with_the_report(report, name, title):
    status, log = report("1", name=name, text="hunk 2 of smolagents/agents.py")
    assert status == 0
    assert f"issue create --title {title}" in log
    assert "hunk 2 of smolagents/agents.py" in log
    assert "https://example.invalid/run/1" in log


def test_only_reporting_steps_have_the_token():
    workflow = yaml.safe_load((WORKFLOWS / "rebase-check.yml").read_text("utf-8"))
    assert "GH_TOKEN" not in workflow["jobs"]["check"]["env"]
    for step in steps("rebase-check.yml"):
        if "GH_TOKEN" in step.get("env", {}):
            assert "gh issue" in step["run"] or "report_rebase_check.sh" in step["run"]


def test_open_issue_is_commented_on(report):
    _, log = report("1", open_issue="17", text="again")
    assert "issue comment 17" in log
    assert "issue create" not in log


def test_check_that_could_not_run_says_so(report):
    _, log = report("2")
    assert "the check could not run (exit status 2)" in log
    assert "There is no reports/rebase-check.md" in log


def test_report_that_cannot_be_filed_fails_loudly(report):
    status, _ = report("1", text="x", gh_status="4")
    assert status != 0
