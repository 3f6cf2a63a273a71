"""The list of authorised imports, which means the same on every executor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contract_declarations import behaviour
from contract_kinds import KINDS
from private_index import write_wheel_of
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork.executors.agents.selection import VARIABLE

ROOT = Path(__file__).parents[3]
#: A program that uses everything on the list of docs/start/getting-started.md.
PROGRAM = """
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import numpy.linalg
import pandas as pd
import PIL.Image
from matplotlib.ticker import MaxNLocator
from PIL import Image, ImageDraw

orders = pd.DataFrame({"region": ["north", "east", "east"], "turnover": [68.0, 240.0, 267.0]})
total = orders.groupby("region")["turnover"].sum()
try:
    np.linalg.inv(np.zeros((2, 2)))
except np.linalg.LinAlgError as error:
    singular = str(error)
axes = plt.figure(figsize=(2, 1)).add_subplot()
axes.bar(list(total.index), list(total))
axes.yaxis.set_major_locator(MaxNLocator(3))
plt.close("all")
picture = Image.new("RGB", (4, 3))
ImageDraw.Draw(picture).point((0, 0), "white")
final_answer([total.idxmax(), singular, float(np.linalg.norm([3, 4])), list(picture.size)])
"""
ANSWER = ["east", "Singular matrix", 5.0, [4, 3]]


def list_of_the_page() -> list[str]:
    page = (ROOT / "docs" / "start" / "getting-started.md").read_text("utf-8")
    found = re.search(r"^imports = \[(.*)\]$", page, re.MULTILINE)
    assert found is not None
    return re.findall(r'"([^"]+)"', found[1])


@behaviour("Imports", "A program can use every import that the getting-started page lists.")
@pytest.mark.parametrize("renamed", [{}, {"PIL": "Pillow"}], ids=["import names", "distributions"])
def test_one_list_serves_every_executor(contract, monkeypatch, renamed):
    imports = [renamed.get(name, name) for name in list_of_the_page()]
    if contract.without_wheels("numpy", "numpy"):
        return
    if contract.kind is KINDS[contract.kind.name]:
        monkeypatch.setenv(VARIABLE, contract.kind.name)  # the one word
        chosen = {}
    else:
        chosen = {"executor_class": contract.kind.cls}
    model = Script(PROGRAM)
    agent = CodeAgent([], model=model, additional_authorized_imports=imports, max_steps=1, **chosen)
    contract.keep(agent)
    assert type(agent.python_executor) is contract.kind.cls
    assert agent.run("Which region?") == ANSWER
    assert "'PIL'" in agent.system_prompt
    assert "Pillow" not in agent.system_prompt


@behaviour("Imports", "Authorising a standard package includes its public submodules.")
def test_public_submodules_come_with_their_package(contract):
    executor = contract.ordinary
    code = """
import json, os, os.path, xml.etree.ElementTree as tree
from urllib.parse import quote
from urllib import error
try:
    1 / 0
except ZeroDivisionError:
    try:
        json.loads("{")
    except json.decoder.JSONDecodeError as failure:
        found = failure.pos
[found, os.path.basename("a/b"), tree.fromstring("<a/>").tag, quote("a b"), error.URLError.__name__]
"""
    assert executor(code).output == [1, "b", "a", "a%20b", "URLError"]


@behaviour(
    "Imports", "A distribution's name, or one with a version, authorises the package's import name."
)
def test_entries_may_be_distributions(contract, tmp_path, monkeypatch):
    options = {}
    if contract.kind.name == "docker":
        # An image that is there. What pip is asked for is in tests/unit/distributions.
        imports = ["numpy", "pandas", "matplotlib", "pillow"]
        code = "from PIL import ImageDraw\n'text'"
    elif contract.kind.name == "wasm":
        files = {"thing/__init__.py": "", "thing/inner.py": "VALUE = 'text'\n"}
        write_wheel_of(tmp_path, "some_thing", "2.0", files)
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        options = {"packages_dir": tmp_path}
        imports, code = ["some-thing>=1,<3"], "import thing.inner\nthing.inner.VALUE"
    else:
        imports = ["python-dateutil>=2.8", "typing-extensions"]
        code = (
            "from dateutil.parser import parse\nimport typing_extensions\n"
            "'text' if parse('2024-02-03').day == 3 else ''"
        )
    assert contract.make(imports, **options)(code).output == "text"


@behaviour("Imports", "All modules that the prompt lists can be imported.")
def test_prompt_lists_modules_that_can_be_imported(contract):
    agent = contract.keep(CodeAgent(tools=[], model=Script(), **contract.agent_options()))
    found = re.search(r"only from the following list of modules: \[(.*)\]", agent.system_prompt)
    assert found is not None
    names = re.findall(r"'([\w.]+)'", found[1])
    assert {"threading", "math"} < set(names)
    agent.python_executor("\n".join(f"import {name}" for name in names))
