"""What upstream's next release could be: the locked one with its coming refactorings.

- the options of ``CodeAgent`` and of the executors are taken by keyword only, in another order, and
  ``DockerExecutor`` has one more;
- executors are chosen by entry points (upstream issue 2722);
- ``remote_executors.py`` is a package, whose names it and ``smolagents`` import on first use
  (PEP 562).
"""

from __future__ import annotations

import ast

__all__ = ["ENTRY_POINTS", "made_release"]

_INIT = "smolagents/__init__.py"
_AGENTS = "smolagents/agents.py"
_REMOTE = "smolagents/remote_executors.py"
_LOCAL = "smolagents/local_python_executor.py"
_GROUP = "smolagents.executors"

#: Entry points that the release has beside those of the locked one.
ENTRY_POINTS = {
    _GROUP: {
        "local": "smolagents.local_python_executor:LocalPythonExecutor",
        "daytona": "smolagents.remote_executors.daytona:DaytonaExecutor",
        **{
            name.lower(): f"smolagents.remote_executors:{name}Executor"
            for name in ("Blaxel", "Docker", "E2B", "Modal")
        },
    }
}
_AGENT_EDITS = {
    "        prompt_templates: PromptTemplates | None = None,\n"
    "        additional_authorized_imports: list[str] | None = None,\n": (
        "        *,\n"
        "        additional_authorized_imports: list[str] | None = None,\n"
        "        prompt_templates: PromptTemplates | None = None,\n"
    ),
}
_DOCKER_OPTIONS = '        port: int = 8888,\n        image_name: str = "jupyter-kernel",\n'
_NEW_DOCKER_OPTIONS = (
    '        image_name: str = "jupyter-kernel",\n'
    "        execution_timeout_seconds: int | None = None,\n"
    "        port: int = 8888,\n"
)
_CALL = "(additional_imports, logger, allow_pickle=allow_pickle)"
_REGISTRY = f'''
    def create_python_executor(self) -> PythonExecutor:
        from importlib.metadata import entry_points

        found = {{entry.name: entry for entry in entry_points(group="{_GROUP}")}}
        if self.executor_type not in found:
            raise ValueError(f"No executor is registered as {{self.executor_type}}")
        if self.executor_type == "local":
            imports = {{"additional_authorized_imports": self.additional_authorized_imports}}
            return LocalPythonExecutor(**imports, **self.executor_kwargs)
        return found[self.executor_type].load()(
            self.additional_authorized_imports, self.logger, **self.executor_kwargs
        )
'''
_LAZY = """
import importlib

_OWNERS = {owners!r}
__all__ = {public}


def __getattr__(name):
    if name not in _OWNERS:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    return getattr(importlib.import_module(f"{{__name__}}.{{_OWNERS[name]}}"), name)
"""
_STAR = "from .remote_executors import *\n"
_PUBLIC = "[name for name in (*globals(), *_OWNERS) if name[0] != '_']"
_DAYTONA = """
from ..local_python_executor import CodeOutput, PythonExecutor


class DaytonaExecutor(PythonExecutor):
    def __init__(self, additional_imports, logger, **kwargs):
        pass

    def send_tools(self, tools):
        pass

    def send_variables(self, variables):
        pass

    def __call__(self, code_action):
        return CodeOutput(output="daytona", logs="", is_final_answer=True)
"""


def made_release(tree: dict[str, bytes]) -> dict[str, bytes]:
    """Return the package of the made release.

    Args:
        tree: the locked release's package.
    """
    tree = dict(tree)
    agents = tree[_AGENTS].decode()
    for old, new in _AGENT_EDITS.items():
        assert agents.count(old) == 1, old
        agents = agents.replace(old, new)
    tree[_AGENTS] = _with_registry(agents).encode()
    source = tree.pop(_REMOTE).decode().replace("\nfrom .", "\nfrom ..")
    source = source.replace("(additional_imports, logger, allow_pickle)", _CALL)
    assert source.count(_DOCKER_OPTIONS) == 1
    source = source.replace(_DOCKER_OPTIONS, _NEW_DOCKER_OPTIONS)
    source = _by_keyword(source, "allow_pickle")
    owners, modules = _split(source)
    tree |= {f"smolagents/remote_executors/{name}": text.encode() for name, text in modules}
    init = tree[_INIT].decode().replace(_STAR, "")
    lazy = _LAZY.format(owners=dict.fromkeys(owners, "remote_executors"), public=_PUBLIC)
    tree[_INIT] = f"{init}{lazy}".encode()
    local = _by_keyword(tree[_LOCAL].decode(), "additional_authorized_imports")
    return {**tree, _LOCAL: local.encode()}


def _with_registry(agents: str) -> str:
    """Return the module with the method that looks an executor up."""
    lines = agents.splitlines(keepends=True)
    (method,) = (
        node
        for node in ast.walk(ast.parse(agents))
        if isinstance(node, ast.FunctionDef) and node.name == "create_python_executor"
    )
    lines[method.lineno - 1 : method.end_lineno] = _REGISTRY.strip("\n").splitlines(keepends=True)
    # Its executors are looked up, so the module no longer imports them.
    for node in ast.parse(agents).body:
        if isinstance(node, ast.ImportFrom) and node.module == "remote_executors":
            lines[node.lineno - 1 : node.end_lineno] = []
    return "".join(lines)


def _by_keyword(source: str, first: str) -> str:
    """Return a module whose constructors take ``first``, and what follows, by keyword only."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for argument in node.args.args:
                if argument.arg == first:
                    lines[argument.lineno - 1] = "        *,\n" + lines[argument.lineno - 1]
    return "".join(lines)


def _split(source: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the module of each class, and the modules of the package: one a class, and a base."""
    lines = source.splitlines(keepends=True)
    body = ast.parse(source).body
    ends = [node.lineno - 1 for node in body[1:]] + [len(lines)]
    starts = [0, *ends[:-1]]
    shared, modules, owners = "", [], {"RemotePythonExecutor": "base"}
    for node, start, end in zip(body, starts, ends, strict=True):
        text = "".join(lines[start:end])
        if isinstance(node, ast.ClassDef) and node.name != "RemotePythonExecutor":
            name = node.name.removesuffix("Executor").lower()
            owners[node.name] = name
            modules.append((f"{name}.py", text))
        elif not (isinstance(node, ast.Assign) and "__all__" in text):
            shared += text
    names = ", ".join(
        node.name
        for node in ast.parse(shared).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    public = sorted(set(owners) - {"RemotePythonExecutor"})
    header = "\n".join(
        ast.unparse(node)
        for node in ast.parse(shared).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    return owners, [
        ("__init__.py", _LAZY.format(owners=owners, public=public)),
        ("base.py", shared),
        ("daytona.py", _DAYTONA),
        *((name, f"{header}\nfrom .base import {names}\n\n\n{text}") for name, text in modules),
    ]
