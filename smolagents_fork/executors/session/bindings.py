"""Bindings of an executor's code to the host: tools to call, variables, sources.

They are stored here, so that a new guest gets the same ones.
"""

from __future__ import annotations

import difflib
import functools
import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import codec
from ...bridge import CallRecord, Dispatcher
from ...codec.attachments import Attachments, join_messages
from ...codec.limits import RAISE_VALUE_BYTES
from ...errors import ConfigurationError, EncodeError
from ...guest.frames import Part
from ...jupyter.kernel.agent import PICKLE_KEY
from ...upstream import get_tools_definition_code
from ..call_options import CallOptions
from .guest import Ask, Request, Task

__all__ = ["Bindings"]

# Upstream's warning about the same risk.
_PICKLE_WARNING = (
    "Falling back to insecure pickle serialization. This is a security risk and will be removed in "
    "a future version. Consider using only safe serializable types."
)
_UNPICKLE_WARNING = "Deserializing pickle data. This is a security risk if the data is untrusted."


class Bindings:
    """Tools, variables and sources of one executor.

    Args:
        on_call: called with a record of every call of a tool.
        before_call: called with name and arguments before a tool is; ``None``: nothing is.
    """

    def __init__(
        self,
        options: CallOptions,
        on_call: Callable[[CallRecord], None],
        before_call: Callable[[str, Mapping[str, Any]], None] | None,
    ) -> None:
        self._options = options
        self.calls = Dispatcher(
            max_value_bytes=options.max_value_bytes,
            max_calls=options.max_tool_calls,
            tool_timeout_seconds=options.tool_timeout_seconds,
            calling_thread=options.tools_in_calling_thread,
            on_call=on_call,
            before_call=before_call,
        )
        self._functions = dict(options.additional_functions or {})
        self.calls.register(self._functions)
        self._names: set[str] = set(self._functions)
        self._sources: list[str] = []
        #: Name -> whether it is pickled, and the pieces of its encoding.
        self._variables: dict[str, tuple[bool, Sequence[Part]]] = {}

    def prepare(self, ask: Ask) -> None:
        """Give a new guest the tools, sources and variables of the last one."""
        if self.calls.specs:
            self._define(ask)
        for code in self._sources:
            _define_source(ask, code)
        self._send(ask, self._variables)

    # -- tools --

    def register(self, tools: Mapping[str, Any]) -> list[str]:
        """Register ``tools``; return the requirements of those sent as source.

        Raises:
            ConfigurationError: a placement is invalid or names a misspelt tool, or no program can
                call a tool of that name.
        """
        self._check_placed_names(tools)
        sent = self._sent(tools)
        if "final_answer" in sent:
            raise ConfigurationError(
                "tool_placement['final_answer']='sandbox': final_answer runs on the host only"
            )
        kept = {name: tool for name, tool in tools.items() if name not in sent}
        kept.update(self._functions)  # they win, as upstream has it
        if self._options.allow_pickle and "final_answer" in kept:
            kept["final_answer"] = _unpickling(kept["final_answer"])
        self.calls.register(kept)
        needed = {name for tool in sent.values() for name in tool.to_dict()["requirements"]}
        return sorted(needed - {"smolagents"})

    def define(self, ask: Ask, tools: Mapping[str, Any]) -> None:
        """Make registered ``tools`` callable in the guest."""
        self._define(ask)
        sent = self._sent(tools)
        if sent:
            code = get_tools_definition_code(dict(sent))
            _define_source(ask, code)
            self._sources.append(code)

    def _define(self, ask: Ask) -> None:
        specs = [spec.as_data() for spec in self.calls.specs]
        ask(Request(Task.TOOLS, [codec.encode(specs)]), "send_tools")

    def _check_placed_names(self, tools: Mapping[str, Any]) -> None:
        """Refuse a placement of a misspelt name: the tool would silently run on the host.

        An agent sends all its tools together. Elsewhere, a name unlike that of any tool may belong
        to one that is sent later.
        """
        self._names.update(tools)
        placement = self._options.placement
        for name in placement:
            close = difflib.get_close_matches(name, tools, 1, cutoff=0.8)
            is_similar = bool(close) and close[0] not in placement
            if name not in self._names and (is_similar or "final_answer" in tools):
                hint = (
                    f"did you mean {close[0]!r}?"
                    if is_similar
                    else f"there are {', '.join(sorted(tools))}"
                )
                raise ConfigurationError(f"tool_placement[{name!r}]: no tool has that name; {hint}")

    def _sent(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        placement = self._options.placement
        return {name: tool for name, tool in tools.items() if placement.get(name) == "sandbox"}

    # -- variables --

    def set_variables(self, ask: Ask, variables: Mapping[str, Any]) -> None:
        """Set variables in the guest by one request, all or none.

        A new guest gets those that were set: a value may be what has ended the last one.

        Raises:
            EncodeError: a value cannot be encoded; names the path to it. Nothing is set then.
        """
        encoded = {name: self._encode_variable(name, value) for name, value in variables.items()}
        kept = {
            name: (is_pickled, [bytes(part) for part in parts])
            for name, (is_pickled, parts) in encoded.items()
        }
        self._send(ask, kept)
        self._variables.update(kept)

    def remove_variables(self, ask: Ask, names: Sequence[str]) -> None:
        """Remove variables from the guest, and from what a new one gets."""
        for name in names:
            self._variables.pop(name, None)
        body = join_messages([[codec.encode(list(names))]])
        ask(Request(Task.VARIABLES, [body]), "remove_variables")

    def _encode_variable(self, name: str, value: Any) -> tuple[bool, Sequence[Part]]:
        attachments, path = Attachments(), f"vars[{name!r}]"
        limit = self._options.max_value_bytes
        try:
            text = codec.encode(
                value,
                path=path,
                max_bytes=limit,
                attachments=attachments,
                remedy=RAISE_VALUE_BYTES,
            )
        except EncodeError:
            if not self._options.allow_pickle:
                raise
            warnings.warn(_PICKLE_WARNING, FutureWarning, stacklevel=5)
            return True, [pickle.dumps({name: value})]
        return False, attachments.parts(b"{" + codec.encode(name) + b":" + text + b"}")

    def _send(self, ask: Ask, variables: Mapping[str, tuple[bool, Sequence[Part]]]) -> None:
        if not variables:
            return
        messages = [parts for is_pickled, parts in variables.values() if not is_pickled]
        pickled = [parts for is_pickled, parts in variables.values() if is_pickled]
        ask(Request(Task.VARIABLES, [join_messages(messages), *pickled]), "send_variables")

    def variables(self, ask: Ask) -> codec.Variables:
        """Return the variables of the code in the guest, as far as they can be encoded.

        Raises:
            DecodeError: the guest sent something else.
        """
        body = ask(Request(Task.READ_STATE), "variables")
        return codec.decode_variables(body, self._options.max_value_bytes)


def _define_source(ask: Ask, code: str) -> None:
    ask(Request(Task.CODE, code=code), "defining tools in the sandbox")


def _unpickling(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``final_answer`` so that its arguments may be pickled, as ``allow_pickle`` permits."""

    def unpickle(value: Any) -> Any:
        if isinstance(value, dict) and value.keys() == {PICKLE_KEY}:
            warnings.warn(_UNPICKLE_WARNING, FutureWarning, stacklevel=3)
            return pickle.loads(value[PICKLE_KEY])
        return value

    @functools.wraps(tool.forward if hasattr(tool, "forward") else tool)
    def final_answer(*args: Any, **kwargs: Any) -> Any:
        return tool(*map(unpickle, args), **{key: unpickle(value) for key, value in kwargs.items()})

    return final_answer
