"""Bindings of a kernel to the host: tools to call, variables, sources.

They are stored here, so that a new kernel gets the same ones.
"""

from __future__ import annotations

import difflib
import functools
import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from ... import codec
from ...bridge.dispatcher import CallRecord, Dispatcher
from ...codec.attachments import join_messages
from ...errors import ConfigurationError, EncodeError
from ...jupyter.kernel.agent import PICKLE_KEY
from ...jupyter.protocol import InputRequest, Sink
from ...options import accept
from ...options.option import option, same_as
from ...upstream import get_tools_definition_code
from ..call_options import CallOptions
from .session import KernelSession

__all__ = ["BridgeOptions", "HostBindings"]

# Upstream's warning about the same risk.
_PICKLE_WARNING = (
    "Falling back to insecure pickle serialization. This is a security risk and will be removed in "
    "a future version. Consider using only safe serializable types."
)
# Most digits of the number a kernel gives a call: it is sent back, so its size needs a limit.
_LONGEST_NUMBER = 20
_UNPICKLE_WARNING = "Deserializing pickle data. This is a security risk if the data is untrusted."


def _placement(name: str, value: Any) -> dict[str, str]:
    found = accept.mapping(name, value)
    for tool, place in found.items():
        accept.one_of("host", "sandbox")(f"{name}[{tool!r}]", place)
    return found


@dataclass(frozen=True)
class BridgeOptions(CallOptions):
    """Options of calls of a kernel; the first is upstream's."""

    allow_pickle: bool = option(
        False,
        "values that the codec refuses are pickled, with upstream's warning. **The sandbox can "
        "then run code on the host**",
        accept.flag,
    )
    _: KW_ONLY
    tool_placement: Mapping[str, Literal["host", "sandbox"]] | None = same_as(
        CallOptions,
        "tool_placement",
        says='`"sandbox"` sends a tool\'s source instead, as upstream does; the others run on the '
        "host. A misspelt name is an error",
        check=_placement,
        form='name to `"host"` or `"sandbox"`',
    )


class HostBindings:
    """Tools, variables and sources of one executor.

    Args:
        options: of the bridge.
        on_call: called with a record of every call of a tool.
    """

    def __init__(self, options: BridgeOptions, on_call: Callable[[CallRecord], None]) -> None:
        self._options = options
        self.calls = Dispatcher(
            max_request_bytes=options.max_value_bytes,
            max_reply_bytes=options.max_value_bytes,
            max_calls=options.max_tool_calls,
            tool_timeout_seconds=options.tool_timeout_seconds,
            calling_thread=options.tools_in_calling_thread,
            binary=True,
            on_call=on_call,
        )
        self._functions = dict(options.additional_functions or {})
        self.calls.register(self._functions)
        self._names: set[str] = set(self._functions)
        self._sources: list[str] = []
        #: Name -> whether it is pickled, and its encoding.
        self._variables: dict[str, tuple[bool, bytes]] = {}

    def answer(self, question: InputRequest) -> tuple[str, Sequence[bytes]]:
        """Answer a call of the bridge; any other question gets an empty line.

        Raises:
            ProtocolError: the kernel has sent too many questions that are not calls.
        """
        number = question.prompt.rpartition(" ")[2]
        # Without a number no code waits for the answer; it counts as a malformed call.
        request = question.data if len(number) <= _LONGEST_NUMBER else None
        reply = self.calls.handle(b"" if request is None else request, pause=question.pause)
        return ("", ()) if request is None else (number, [reply])

    # -- tools --

    def register(self, tools: Mapping[str, Any]) -> list[str]:
        """Register ``tools``; return the requirements of those sent as source.

        Raises:
            ConfigurationError: a placement cannot work or names a misspelt tool, or no program can
                call a tool of that name.
        """
        tools = accept.mapping("tools", tools)
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

    def define(self, session: KernelSession, tools: Mapping[str, Any]) -> None:
        """Make registered ``tools`` callable in the kernel."""
        sent = self._sent(tools)
        names = {*self._functions, *tools} - sent.keys()
        self._define(session, [spec for spec in self.calls.specs if spec.name in names])
        if sent:
            code = get_tools_definition_code(dict(sent))
            session.request(code, (), "defining tools in the sandbox")
            self._sources.append(code)

    def _check_placed_names(self, tools: Mapping[str, Any]) -> None:
        """Refuse a placement of a misspelt name: the tool would silently run on the host.

        A name unlike that of any tool may belong to one that is sent later.
        """
        self._names.update(tools)
        placement = self._options.placement
        for name in placement:
            close = difflib.get_close_matches(name, tools, 1, cutoff=0.8)
            if name not in self._names and close and close[0] not in placement:
                raise ConfigurationError(
                    f"tool_placement[{name!r}]: no tool has that name; did you mean {close[0]!r}?"
                )

    def _sent(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        placement = self._options.placement
        return {name: tool for name, tool in tools.items() if placement.get(name) == "sandbox"}

    def _define(self, session: KernelSession, specs: Sequence[Any]) -> None:
        if specs:
            data = codec.encode([spec.as_data() for spec in specs])
            session.request("__smolagents_fork__.define()", [data], "send_tools")

    # -- variables --

    def set_variables(self, session: KernelSession, variables: Mapping[str, Any]) -> None:
        """Set variables in the kernel by one request, all or none.

        Raises:
            EncodeError: a value cannot be encoded; names the path to it. Nothing is set then.
        """
        variables = accept.mapping("variables", variables)
        encoded = {name: self._encoded(name, value) for name, value in variables.items()}
        self._set(session, encoded)
        self._variables.update(encoded)

    def _encoded(self, name: str, value: Any) -> tuple[bool, bytes]:
        limit = self._options.max_value_bytes
        try:
            return False, codec.encode_message({name: value}, path="vars", max_bytes=limit)
        except EncodeError:
            if not self._options.allow_pickle:
                raise
            warnings.warn(_PICKLE_WARNING, FutureWarning, stacklevel=5)
            return True, pickle.dumps({name: value})

    def _set(self, session: KernelSession, encoded: Mapping[str, tuple[bool, bytes]]) -> None:
        if not encoded:
            return
        messages = [[data] for is_pickled, data in encoded.values() if not is_pickled]
        pickled = [data for is_pickled, data in encoded.values() if is_pickled]
        body = b"".join(join_messages(messages))
        session.request("__smolagents_fork__.receive()", [body, *pickled], "send_variables")

    def variables(self, session: KernelSession) -> codec.Variables:
        """Return the variables of the code in the kernel, as far as they can be encoded.

        Raises:
            DecodeError: the kernel sent something else.
        """
        limit = self._options.max_value_bytes
        found: list[bytes] = []

        def receive(content: dict[str, Any], buffers: Sequence[bytes | memoryview]) -> None:
            if content.get("kind") == "variables" and buffers:
                found[:] = [bytes(buffers[0])]

        session.request("__smolagents_fork__.variables()", (), "variables", sink=Sink(data=receive))
        return codec.decode_variables(found[0] if found else b"", limit)

    # -- a new kernel --

    def prepare(self, session: KernelSession) -> None:
        """Give a new kernel the tools, sources and variables of the last one."""
        self.calls.connected()
        self._define(session, self.calls.specs)
        for code in self._sources:
            session.request(code, (), "defining tools in the sandbox")
        self._set(session, self._variables)


def _unpickling(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``final_answer`` so that its arguments may be pickled, as ``allow_pickle`` permits."""

    def unpickled(value: Any) -> Any:
        if isinstance(value, dict) and value.keys() == {PICKLE_KEY}:
            warnings.warn(_UNPICKLE_WARNING, FutureWarning, stacklevel=3)
            return pickle.loads(value[PICKLE_KEY])
        return value

    @functools.wraps(tool.forward if hasattr(tool, "forward") else tool)
    def final_answer(*args: Any, **kwargs: Any) -> Any:
        return tool(
            *map(unpickled, args), **{key: unpickled(value) for key, value in kwargs.items()}
        )

    return final_answer
