"""Editors and type checkers see every option of the constructor, with its type."""

from __future__ import annotations

import inspect

from smolagents_fork import DockerExecutor, DockerPool
from smolagents_fork.executors.docker.option_groups import (
    DockerKeywords,
    DockerKeywordsWithUpstreams,
)
from smolagents_fork.executors.docker.options import option_names


def named(function) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}


def unpacked(function) -> str:
    parameters = inspect.signature(function).parameters.values()
    return next(one.annotation for one in parameters if one.kind is one.VAR_KEYWORD)


def test_constructor_and_its_keywords_name_every_option_once():
    keywords = set(DockerKeywords.__annotations__)
    assert not named(DockerExecutor) & keywords
    assert set(option_names()) <= named(DockerExecutor) | keywords
    assert keywords <= set(option_names())
    assert unpacked(DockerExecutor) == "Unpack[DockerKeywords]"


def test_functions_that_take_every_option_by_name_have_them_all():
    assert set(DockerKeywordsWithUpstreams.__annotations__) == set(option_names())
    for function in (DockerPool, DockerExecutor.setup):
        assert unpacked(function) == "Unpack[DockerKeywordsWithUpstreams]"
