"""Every row of the page about migration has a test that does what the user wrote."""

from __future__ import annotations

import ast
import re

import pytest

from tools.paths import ROOT

PAGE = ROOT / "docs" / "start" / "migration.md"
CHOICE = "contract/test_executor_class.py"
SHARED = "contract/executors"
#: Tests by the beginning of a row's first column.
TESTS = {
    "`CodeAgent(tools=[...], model=...)`": "contract/test_local_replaced.py::"
    "test_local_executor_is_the_forks_under_every_name",
    "`ToolCallingAgent`, `MultiStepAgent`": "contract/test_interrupt.py::"
    "test_managed_agents_are_interrupted_too",
    "`additional_authorized_imports=": "integration/docker/test_docker_images.py::"
    "test_import_names_become_distributions_and_work_without_a_network",
    "`executor=my_executor`": f"{CHOICE}::test_falsy_instance_is_taken",
    "`agent.save(...)`": "contract/test_saving.py::test_managed_agents_keep_their_own_executors",
    "`Tool.from_gradio(...)`": "integration/bridge/test_bridge_gradio.py::"
    "test_a_tool_of_a_gradio_app",
    "`agent.cleanup()`": "contract/test_cleanup.py::test_second_cleanup_does_nothing",
    '`executor_type="docker"` |': "integration/docker/test_docker_isolation.py::"
    "test_default_limits_are_in_the_engine",
    '`executor_kwargs={"port": 8888}`': "contract/test_executor_names.py::"
    "test_parameters_are_upstreams_in_upstreams_order_with_its_defaults",
    "`pip install` in the agent": "integration/docker/test_docker_install.py::"
    "test_without_a_network_the_error_says_what_to_do",
    "`from smolagents import DockerExecutor`": "contract/test_executor_names.py::"
    "test_names_of_upstream_give_the_forks_executors",
    "`from smolagents.remote_executors import": "contract/test_executor_names.py::"
    "test_upstreams_classes_have_a_name_of_their_own",
    "`plt.show()`": f"{SHARED}/test_contract_outputs.py::test_figures_come_as_images",
    "`executor=DockerExecutor`": f"{CHOICE}::test_wrong_type_is_refused_with_advice",
    '`executor_type="docker"` with `managed_agents`': f"{SHARED}/test_contract_agents.py::"
    "test_a_managed_agent_is_called_twice",
    "a tool whose source": "integration/docker/test_docker_tools.py::"
    "test_placement_in_the_sandbox_sends_source",
    '`executor_type="wasm"`': "integration/wasm/test_wasm_runs.py::"
    "test_agent_by_the_executors_name",
    "`timeout_seconds` of local": f"{SHARED}/test_contract_limits.py::test_endless_code_is_stopped",
    "code that catches an error": f"{SHARED}/test_contract_ends.py::"
    "test_no_code_goes_on_after_the_final_answer",
    "`with`, `while` or `try`": f"{SHARED}/test_contract_state.py::test_last_statement_has_a_value",
    "a misspelt name": "unit/interpreter/test_error_messages.py::"
    "test_a_misspelt_name_never_takes_the_value_of_another",
    "`open(...)`": "contract/test_permitted_builtins.py::test_a_builtin_is_permitted_later",
    "an unknown keyword": "unit/executors/test_validation.py::test_parameter_there_is_not",
    "a saved agent whose executor": "contract/test_saving.py::"
    "test_instance_is_an_error_that_says_so",
    "`allow_pickle=True`": "integration/docker/test_docker_values.py::"
    "test_no_pickle_unless_asked_for",
    "`docker`": "contract/test_extras.py::"
    "test_package_of_the_docker_executor_is_installed_without_an_extra",
    '`pip install "smolagents[mcp]"`': "contract/test_extras.py::"
    "test_extra_excludes_mcp_that_mcpadapt_cannot_import",
}


def rows() -> list[str]:
    lines = re.findall(r"^\| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return [line for line in lines if not line.startswith("you wrote")]


def test_each_row_has_one_test():
    begun = {row: [start for start in TESTS if row.startswith(start)] for row in rows()}
    # The longest beginning is the row's own.
    chosen = {row: max(starts, key=len) for row, starts in begun.items() if starts}
    assert [row for row in begun if row not in chosen] == []
    assert sorted(chosen.values()) == sorted(TESTS)


@pytest.mark.parametrize("test", TESTS.values())
def test_the_test_is_there(test):
    path, name = test.split("::")
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    assert name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
