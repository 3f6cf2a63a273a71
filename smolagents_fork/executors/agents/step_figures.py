"""Run of a step's code, and its figures: for the model, the notebook, the Gradio page, the console.

The hooks of the patch ``step-figures``.
"""

from __future__ import annotations

import sys
import weakref
from base64 import b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.text import Text

from smolagents_fork.control.proposals import AgentStep, stepping
from smolagents_fork.displays import notebook_forms
from smolagents_fork.results import Display
from smolagents_fork.text.short_texts import has_moderate_text
from smolagents_fork.upstream import LogLevel

if TYPE_CHECKING:
    from smolagents_fork.upstream import ChatMessage, CodeAgent, CodeOutput, MultiStepAgent

__all__ = ["figures_refused", "messages_for_model", "run_code"]

# Limits of what one step sends to the model. Services charge for pixels and refuse large images.
_MOST_FIGURES = 5
_LONGEST_SIDE = 1568
# Marks images of steps that come from here, and not from the user's own callbacks.
_MARK = "smolagents_fork"
# Models that failed on a request with figures.
_without_vision: weakref.WeakSet[Any] = weakref.WeakSet()


def run_code(agent: CodeAgent, step: Any, code: str) -> CodeOutput:
    """Run ``code`` in the agent's executor, and show its displays wherever people look.

    Args:
        step: upstream's ``ActionStep``; gets ``observations_images``, also if the code raises, and
            the code that ``before_run`` has put in place of the model's.
    """
    about = AgentStep(agent.name, step.step_number, step.model_output or "")
    executor = agent.python_executor
    before = getattr(executor, "displays", ())
    try:
        with stepping(about):
            output = executor(code)
    finally:
        if about.changed_code is not None:
            _record_change(agent, step, about.changed_code)
        displays = getattr(executor, "displays", ())
        # An executor that did not come to run the code still has those of the last call.
        if displays is not before:
            _show(agent, step, [display for display in displays if isinstance(display, Display)])
    _show_table(output)
    return output


def _record_change(agent: MultiStepAgent, step: Any, code: str) -> None:
    """Put the code that ran into the agent's memory, and show it to whoever reads the log."""
    step.code_action = code
    for call in step.tool_calls or ():
        call.arguments = code
    agent.logger.log_code(title="Changed by before_run:", content=code, level=LogLevel.INFO)


def _show(agent: MultiStepAgent, step: Any, displays: list[Display]) -> None:
    for display in displays:
        _show_in_notebook(display)
    figures = [display for display in displays if display.is_figure]
    if not figures:
        return
    failed = any(figure.save_error for figure in figures)
    level = LogLevel.ERROR if failed else LogLevel.INFO
    agent.logger.log(Text(_console_text(figures)), level=level)
    images = [_for_model(figure.value) for figure in figures[-_MOST_FIGURES:]]
    taken = [image for image in images if image is not None]
    step.observations_images = [*(step.observations_images or ()), *taken]


def _console_text(figures: list[Display]) -> str:
    sizes = ", ".join(f"{figure.value.width} x {figure.value.height}" for figure in figures)
    count = f"{len(figures)} figure{'s' * (len(figures) > 1)} ({sizes} pixels)"
    paths = [figure.path for figure in figures if figure.path is not None]
    errors = dict.fromkeys(figure.save_error for figure in figures if figure.save_error)
    saved = f", saved: {', '.join(paths)}" if paths else ""
    if errors:
        return f"{count}{saved}, not saved in figures_dir: {'; '.join(errors)}"
    hint = ", not saved: executor_kwargs={'figures_dir': 'figures'} saves them"
    return f"{count}{saved or hint}"


def _for_model(image: Any) -> Any:
    """Return a copy of moderate size, in a mode that every format has; ``None`` if none can be."""
    try:
        copy = image.convert("RGBA" if "A" in image.getbands() else "RGB")
        copy.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    except Exception:  # of a mode or a transparency that Pillow does not convert
        return None
    copy.info = {_MARK: True}
    return copy if copy.width and copy.height else None


# -- notebooks --


def _show_in_notebook(display: Display) -> None:
    if _notebook_shell() is not None:
        _publish(notebook_forms(display))


def _publish(forms: dict[str, Any]) -> None:
    _notebook_shell().display_pub.publish(data=_encode_images(forms), metadata={})


def _show_table(output: CodeOutput) -> None:
    """Show a DataFrame that is the last value, which the console shows as text only."""
    pandas = sys.modules.get("pandas")
    if pandas is None or output.is_final_answer or _notebook_shell() is None:
        return
    # Exactly these types: a method of a program's own class must not run here.
    table = output.output
    if type(table) is pandas.DataFrame and has_moderate_text(table):
        # pandas escapes what is in it, so it needs no frame of its own.
        page = table.to_html(max_rows=60, max_cols=20)
        _publish({"text/html": page, "text/plain": "a table"})


def _notebook_shell() -> Any:
    """Return IPython's shell if it runs in a kernel; ``None`` in consoles and scripts."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell if hasattr(shell, "kernel") else None


def _encode_images(forms: dict[str, Any]) -> dict[str, Any]:
    return {
        mime_type: b64encode(form).decode() if isinstance(form, bytes) else form
        for mime_type, form in forms.items()
    }


# -- models without vision --


def messages_for_model(agent: MultiStepAgent, messages: list[ChatMessage]) -> list[ChatMessage]:
    """Return the messages without figures, if the agent's model takes none."""
    model = agent.model
    if not getattr(model, "flatten_messages_as_text", False) and not _is_without_vision(model):
        return messages
    kept = []
    for message in messages:
        if _figures((message,)):
            message.content = [part for part in message.content if not _is_figure(part)]
            if not message.content:
                continue
        kept.append(message)
    return kept


def figures_refused(agent: MultiStepAgent, messages: list[ChatMessage]) -> bool:
    """Note that the model failed on messages, if the figures in them may be the reason.

    Figures that the model has taken in an earlier request are not the reason.

    Returns:
        whether the next request will have no figures.
    """
    steps = [step for step in agent.memory.steps if getattr(step, "model_output", None)]
    seen_figures = {
        id(part.get("image"))
        for step in steps
        for part in _figures(getattr(step, "model_input_messages", None) or ())
    }
    sent = _figures(messages)
    if not sent or any(id(part["image"]) in seen_figures for part in sent):
        return False
    try:
        _without_vision.add(agent.model)
    except TypeError:  # a model that cannot be referred to weakly
        return False
    return True


def _is_without_vision(model: Any) -> bool:
    try:
        return model in _without_vision
    except TypeError:
        return False


def _figures(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """Return the parts of messages that are figures from here."""
    contents = (message.content for message in messages)
    return [
        part
        for content in contents
        if isinstance(content, list)
        for part in content
        if _is_figure(part)
    ]


def _is_figure(part: Any) -> bool:
    if not isinstance(part, dict) or part.get("type") != "image":
        return False
    return bool(getattr(part.get("image"), "info", {}).get(_MARK))
