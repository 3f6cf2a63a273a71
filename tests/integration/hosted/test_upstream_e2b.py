"""Faults of upstream's E2BExecutor that the fork repairs; a test fails when upstream does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hosted_services import Hosted
from smolagents import CodeAgent, FinalAnswerTool, InferenceClientModel, remote_executors
from smolagents.utils import AgentError

pytestmark = pytest.mark.parametrize("running", ["e2b"], indirect=True)


@pytest.fixture
def upstream(hosted: Hosted) -> Iterator[remote_executors.E2BExecutor]:
    return hosted.make(hosted.upstream)


def test_logs_are_not_what_was_printed(upstream: remote_executors.E2BExecutor):
    code = (
        "import sys, time\nprint('one', end='', flush=True)\ntime.sleep(0.3)\n"
        "print(' line')\nprint('careful', file=sys.stderr)"
    )
    assert upstream(code).logs == "one\n line\n"


def test_second_final_answer_tool_raises(
    upstream: remote_executors.E2BExecutor, monkeypatch: pytest.MonkeyPatch
):
    # Upstream writes the attribute on the class's own function; this removes it afterwards.
    monkeypatch.setattr(FinalAnswerTool.forward, "__source__", None, raising=False)
    tool = FinalAnswerTool()
    # What upstream's own change of the tool imports, and would install at each run.
    upstream.installed_packages += ["numpy", "PIL"]
    upstream.send_tools({"final_answer": tool})
    assert upstream("final_answer(1)").output == 1
    upstream.send_tools({"final_answer": tool})
    with pytest.raises(AgentError, match="name 'allow_pickle_setting' is not defined"):
        upstream("final_answer(1)")


def test_failed_installation_goes_unnoticed(hosted: Hosted):
    assert hosted.make(hosted.upstream, ("nowhere_found",)).installed_packages == ["nowhere_found"]


def test_failed_start_leaves_the_sandbox(hosted: Hosted):
    hosted.service.faults.status[hosted.run] = 500
    before = set(hosted.service.sandboxes)
    with pytest.raises(Exception, match="shown by the test: 500"):
        hosted.make(hosted.upstream, ("nowhere_found",))
    (left,) = set(hosted.service.sandboxes) - before
    hosted.service.faults.clear()
    from e2b_code_interpreter import Sandbox

    Sandbox.kill(left)


def test_loaded_agent_installs_the_standard_library(hosted: Hosted):
    with CodeAgent(
        tools=[],
        model=InferenceClientModel(),
        executor_class=hosted.upstream,
        executor_kwargs=hosted.options,
        verbosity_level=0,
    ) as made:
        saved = made.to_dict()
        assert made.python_executor.installed_packages == []
    with CodeAgent.from_dict(saved) as loaded:
        # Some of these names are other people's packages on an index.
        assert {"collections", "queue"} <= set(loaded.python_executor.installed_packages)
