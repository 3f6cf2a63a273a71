"""Agent installed in the kernel at its start: values, calls of the bridge, limits on output.

This file is sent as text and runs inside the sandbox. It uses the standard library and IPython only
and does not import this package. It does not protect the host: the program in the kernel can undo
all of it. It serves programs that are not hostile.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import ast
import builtins
import codeop
import contextlib
import ctypes
import functools
import importlib.util
import inspect
import itertools
import json
import os
import sys
import threading
import warnings
import weakref

# Marks a pickled value for a host that allows pickle.
PICKLE_KEY = "__smolagents_fork_pickle__"
# Variable of the value of a program that does not end with an expression.
VALUE_KEY = "__smolagents_fork_value__"
# Names that the shell gives to people at a prompt, and which are the program's.
PROMPT_NAMES = (
    *("In", "Out", "_", "__", "___", "_ih", "_oh"),
    *("__builtin__", "exit", "get_ipython", "open", "quit"),
)
# Types of the messages on the control channel that ask for a file, and of the answers.
FILE_REQUEST, FILE_REPLY = "smolagents_fork_file_request", "smolagents_fork_file_reply"


class Stop(BaseException):
    """Raised to end the program after its final answer, which the host already has."""


class LastValueRule:
    """Lets a cell show the value of an assignment, or of a block, that it ends with."""

    def __init__(self, keep_last_value):
        self.keep_last_value = keep_last_value

    def visit(self, cell):
        """Change the tree of a cell before it runs; IPython calls this."""
        last = cell.body[-1] if cell.body else None
        if not isinstance(last, ast.Expr) and self.keep_last_value(cell.body, VALUE_KEY):
            # Only the expression has the value then, so that it ends in a frame of the program.
            shown = ast.parse("__smolagents_fork__.take_value()").body[0]
            for node in ast.walk(shown):
                ast.copy_location(node, last)
            cell.body.append(shown)
        return cell


class ImagesShown:
    """Finder that makes Pillow's ``Image.show`` a display, whatever viewers the machine has."""

    def find_spec(self, name, *_):
        """Find Pillow's module of viewers, which ``Image.show`` imports."""
        if name != "PIL.ImageShow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def load_with_display_first(module):
            load(module)
            module.register(module.IPythonViewer, 0)

        spec.loader.exec_module = load_with_display_first
        return spec


class KernelSide:
    def __init__(self, shell, modules, settings):
        from IPython.core.error import UsageError

        self.shell = shell
        self.kernel = shell.kernel
        self.codec, self.texts, self.output = modules.codec, modules.texts, modules.output
        self.files, self.process = modules.files, modules.process
        self.tracebacks, self.packages = modules.traceback, modules.packages
        self.load_hints = modules.load_hints
        self.comm_id = settings["comm_id"]
        self.max_print_outputs_length = settings["max_print_outputs_length"]
        self.streamed_length = settings["streamed_length"]
        self.max_value_bytes = settings["max_value_bytes"]
        self.max_error_chars = settings["max_error_chars"]
        #: Has ``failures`` in a thread that formats a value: errors of its forms.
        self.formatting = threading.local()
        self.streams = (sys.stdout, sys.stderr)
        #: Those that the program has put in their place.
        self.program_streams = self.streams
        self.readers = self.process.output_of_processes()
        self.threads = modules.builtins.ProgramThreads()
        self.stdin = modules.stdin.StdinChannel(self.kernel, self.comm_id, self.process.unbroken)
        #: Number of the current run, and whether one is running.
        self.run = 0
        self.running = False
        #: Stream that was written to last.
        self.written = None
        #: Figures that have been displayed and may be changed in a later run.
        self.figures = weakref.WeakSet()
        self.allow_pickle = settings["allow_pickle"]
        #: Folder in which relative paths of files begin, wherever the program goes.
        self.workdir = os.getcwd()
        self.show_by_shell = shell.showtraceback
        #: Errors of text that is not Python, and of IPython's own commands.
        self.shell_errors = (SyntaxError, UsageError)
        self.groups = getattr(builtins, "BaseExceptionGroup", ())
        #: Whether the host refuses further calls of the current run.
        self.over = False
        #: The host's functions by name.
        self.stubs = {}
        self.calls = self.codec.HostCalls(
            self.exchange,
            self.finish,
            self.max_value_bytes,
            self.stop,
        )
        self.start_output()

    # -- messages to the host --

    def publish(self, data, buffers=()):
        hook = self.shell.displayhook
        hook.session.send(
            hook.pub_socket,
            "comm_msg",
            {"comm_id": self.comm_id, "data": data},
            parent=hook.parent_header,
            buffers=list(buffers),
        )

    def exchange(self, *request):
        """Send the pieces of a request over the stdin channel; block, and return the reply."""
        # A thread that outlives its run must not send: the host answers the current run only.
        run = self.run
        if not self.running:
            raise RuntimeError(self.codec.RUN_ENDED)
        # Text printed before a call must arrive before it.
        self.flush()
        number = self.stdin.send(*request)
        while True:
            # In slices, so that an interrupt and the end of the run are seen on every platform.
            if not self.stdin.wait(200):
                if run != self.run or not self.running:
                    raise RuntimeError(self.codec.RUN_ENDED)
                continue
            reply = self.stdin.receive(number)
            if reply is not None:
                return reply

    def finish(self):
        self.over = True
        # Python shows a traceback of a thread that ends by another error.
        raise Stop if threading.current_thread() is threading.main_thread() else SystemExit

    def stop(self):
        self.over = True
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt("the run has ended")

    # -- printed output --

    def start_output(self):
        """Begin the output of a run."""
        #: Characters that may still be sent as they are printed; what comes after, and its length.
        self.left = self.streamed_length
        self.late, self.late_length = self.output.PrintContainer(self.streamed_length // 2), 0

    def limit(self):
        """Bound what the kernel's streams send, by whatever name a program finds their methods."""
        stream_class = type(self.streams[0])
        write, flush = stream_class.write, stream_class.flush
        written, flushed = dict.fromkeys(self.streams, 1), dict.fromkeys(self.streams, 0)

        @functools.wraps(write)
        def write_within_limit(stream, text):
            self.keep_order(stream)
            if len(text) <= self.left:
                self.left -= len(text)
                write(stream, text)
            else:
                if self.left:
                    write(stream, text[: self.left])
                self.late.append(text[self.left :])
                self.late_length += len(text) - self.left
                self.left = 0
            # Last: a flush in another thread must not count text that it did not see.
            written[stream] += 1
            return len(text)

        @functools.wraps(flush)
        def flush_what_was_written(stream):
            # The stream's flush waits for another thread, four times per call, even when empty. One
            # that has begun counts when it has ended: what it sends must come before what follows.
            count = written[stream]
            if flushed[stream] < count:
                flush(stream)
                flushed[stream] = max(flushed[stream], count)

        stream_class.write, stream_class.flush = write_within_limit, flush_what_was_written

    def flush(self):
        """Send what is printed, also to streams of the program's own."""
        self.output.flush_streams()
        for stream in self.streams:
            stream.flush()

    def keep_order(self, stream):
        """Forward what precedes a write: output of C code, and text of the other stream."""
        for reader in self.readers:
            if not reader.forwarding and reader.unread():
                self.process.unbroken(reader.flush)
        if self.written is not stream:
            if self.written is not None:
                self.written.flush()
            self.written = stream

    def before(self, *_):
        for stream in self.streams:
            # The shell restores the method of before after the cell that has installed this.
            vars(stream).pop("write", None)
            stream.buffer = self.output.BytesWriter(stream)
            stream.reconfigure = self.output.ignore_settings
        self.start_output()
        # Without it, a program that has assigned to the name could never end its agent's run.
        if "final_answer" in self.stubs:
            self.shell.user_ns["final_answer"] = self.stubs["final_answer"]
        self.run += 1
        self.running, self.over = True, False
        # Not at a call: a task of an earlier run has the context of that run.
        self.stdin.begin(self.kernel.get_parent("shell"), _parent_ident(self.kernel))
        sys.stdout, sys.stderr = self.program_streams

    def after(self, result=None, *_):
        if self.running:  # and not an empty program
            # The kernel prepares its own for the next call, and flushes them.
            self.output.flush_streams()
            self.program_streams = (vars(sys).get("stdout"), vars(sys).get("stderr"))
            sys.stdout, sys.stderr = self.streams
        self.running = False
        # The next program's, by which its frames and those of earlier ones are told apart.
        self.shell.execution_count = self.run + 1
        self.take_value()
        # The kernel converts these to text for its reply, and the conversion must not raise.
        for name in ("error_in_exec", "error_before_exec"):
            error = getattr(result, name, None)
            if self.texts.is_successful_exit(error):
                setattr(result, name, None)
                continue
            if isinstance(error, Stop):
                _clear_frames(error.__traceback__)
            if error is not None:
                setattr(result, name, self.stand_in(error))
        self.calls.refuse_threads()
        if note := self.threads.note():
            print(note, end="")
        for reader in self.readers:
            self.process.unbroken(reader.flush)
        if self.late_length:
            self.send_tail()
        self.show_open_figures()

    def send_tail(self):
        """Send the last of the text that was not sent as it was printed."""
        self.flush()
        text = self.late.value[-(self.streamed_length // 2) :]
        self.publish(
            {"kind": "tail", "left_out": self.late_length - len(text)},
            [text.encode("utf-8", "backslashreplace")],
        )
        self.start_output()

    def show_open_figures(self):
        """Display open figures that are new or have changed; they stay open.

        IPython's own backend has displayed and closed its figures before. It forgets those of
        before a change of the backend, and other backends, such as ``agg``, display nothing.
        """
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is None or _inline_keeps_figures(self.shell):
            return
        for manager in helpers.Gcf.get_all_fig_managers():
            figure = manager.canvas.figure
            # A figure that was saved to a file is no longer stale, but has not been displayed.
            if figure in self.figures and not figure.stale:
                continue
            picture = self.codec.picture_of(figure)
            if picture is not figure:
                with contextlib.suppress(self.codec.EncodeError):
                    self.publish_display({"image/png": picture})
                self.figures.add(figure)
                figure.stale = False

    # -- displays --

    def with_pictures(self, publish):
        """Wrap the shell's method, so that a picture is opened here and sent as its pixels."""

        def publish_forms(data, *args, **kwargs):
            forms = self.codec.open_pictures(data)
            if forms is not data:
                with contextlib.suppress(self.codec.EncodeError):
                    self.publish_display(forms)
                    return
            publish(data, *args, **kwargs)

        return publish_forms

    def publish_display(self, forms):
        """Send a MIME bundle with a picture, after the text printed before it."""
        data = self.codec.encode_message(forms, path="display", max_bytes=self.max_value_bytes)
        self.flush()
        self.publish({"kind": "display"}, [data])

    # -- value of the last expression --

    def take_value(self):
        """Return the value of a program that does not end with an expression, and forget it."""
        return self.shell.user_ns.pop(VALUE_KEY, None)

    def show(self, value):
        """Display a value: the value itself if the codec can encode it, else its best forms."""
        if value is None:
            return
        try:
            picture = self.codec.draw_figure(value)
            data = self.codec.encode_message(picture, path="result", max_bytes=self.max_value_bytes)
        except self.codec.EncodeError:
            pass
        except Exception:  # a hostile __class__, a property that raises
            pass
        else:
            self.publish({"kind": "value"}, [data])
            if len(data) <= self.output.MOST_WITH_TEXT:
                self.publish_text(picture)
            return
        self.publish_text(value)
        forms = self.codec.open_pictures(self.forms(value))
        try:
            data = self.codec.encode_message(forms, path="result", max_bytes=self.max_value_bytes)
        except self.codec.EncodeError:
            data = self.codec.encode_message({"text/plain": forms["text/plain"]})
        self.publish({"kind": "forms"}, [data])

    def publish_text(self, value):
        """Send ``str()`` of a value, whose class or display options the host does not have."""
        text = self.texts.own_text(value)
        if text is not None:
            text = self.output.truncate(text, self.output.DEFAULT_PRINT_LENGTH)
            self.publish({"kind": "text"}, [text.encode()])

    def with_text(self, format_forms):
        """Wrap the shell's method: a form that fails is not an error, and its text is replaced."""

        @functools.wraps(format_forms)
        def format_safely(value, *args, **kwargs):
            outer = getattr(self.formatting, "failures", None)
            self.formatting.failures = failures = []
            try:
                forms, metadata = format_forms(value, *args, **kwargs)
            finally:
                self.formatting.failures = outer
            if failures and "text/plain" not in forms:
                forms["text/plain"] = _safe_repr(self.texts, value)
            return forms, metadata

        return format_safely

    def forms(self, value):
        """Return a MIME bundle, which is never empty; never raises."""
        try:
            from ipykernel.jsonutil import encode_images, json_clean

            data, _ = self.shell.display_formatter.format(value)
            forms = json_clean(encode_images(data))
        except (Exception, SystemExit, GeneratorExit):
            forms = {}
        if "text/plain" not in forms:
            forms["text/plain"] = _safe_repr(self.texts, value)
        limit = self.max_print_outputs_length
        for mime_type, text in list(forms.items()):
            if isinstance(text, str) and len(text) > limit:
                if mime_type.startswith("text/"):
                    forms[mime_type] = self.output.truncate(text, limit)
                elif len(text) > self.max_value_bytes:
                    del forms[mime_type]
        return forms

    # -- errors --

    def show_exception(
        self,
        exc_tuple=None,
        filename=None,
        tb_offset=None,  # noqa: ARG002 - of the shell's method
        exception_only=False,
        running_compiled_code=False,
    ):
        """Replace the shell's method, which runs code that an exception's class defines.

        The exception and those chained to it are replaced before anything formats them.
        """
        etype, value, tb = self.shell._get_exc_info(exc_tuple)
        if self.texts.is_successful_exit(value):
            self.shell._last_traceback = []
            return
        tb = self.tracebacks.trim(tb)
        if issubclass(etype, (Stop, *self.shell_errors)):
            with contextlib.suppress(Exception):
                self.show_by_shell(
                    (etype, value, tb), filename, 0, exception_only, running_compiled_code
                )
                return
        shown = self.texts.rebuild_chain(value, self.format_link, self.is_shown)
        try:
            if isinstance(value, self.groups):
                lines = self.tracebacks.group_lines(value)
            else:
                # The default offset is for the shell's own frame, which is trimmed.
                lines = self.tracebacks.limit_frames(
                    self.shell.InteractiveTB.structured_traceback(
                        type(shown), shown, tb, tb_offset=0
                    )
                )
        except Exception:
            lines = [f"{type(shown).__name__}: {shown}"]
        lines = [*lines, *self.texts.missing_cause(value).splitlines()[1:]]
        with contextlib.suppress(Exception):  # without a hint, the error is shown as well
            lines += filter(None, [self.tracebacks.hint_for(self.load_hints().hint, value, tb)])
        self.show_traceback(type(shown), shown, lines)

    def format_link(self, error):
        substitute = self.stand_in(error)
        return substitute.with_traceback(self.tracebacks.trim(substitute.__traceback__))

    def is_shown(self, cause):
        """Tell whether a cause is shown: one within a library means nothing to the program."""
        entry = self.texts.exception_field(cause, "__traceback__")
        return entry is None or self.tracebacks.trim(entry) is not None

    def message_of(self, error):
        """Return the text of an exception, which its class may take as long as it likes over."""
        try:
            if issubclass(type(error), SystemExit):
                return self.process.interruptible(self.texts.exit_failure)(error)
            return str.__str__(self.process.interruptible(str)(error))
        except BaseException as broken:
            return f"<exception str() failed: {self.texts.class_name(broken)}>"

    def stand_in(self, error):
        """Copy an exception's name, text and traceback to one whose class is not the program's."""
        text = self.message_of(error) + self.texts.read_notes(error)
        cls = type(self.texts.class_name(error), (Exception,), {"__str__": lambda _: text})
        cls.__module__ = "builtins"
        return cls().with_traceback(self.texts.exception_field(error, "__traceback__"))

    def show_traceback(self, etype, evalue, lines):
        """Replace the shell's method, which does not limit the length of a message."""
        failures = getattr(self.formatting, "failures", None)
        if failures is not None:
            failures.append(etype)
            return
        if isinstance(etype, type) and issubclass(etype, Stop):
            self.shell._last_traceback = []
            return
        self.flush()
        limit = self.max_error_chars
        text = self.output.truncate(self.message_of(evalue), limit // 4)
        trace = self.output.truncate("\n".join(str(line) for line in lines), limit)
        hook = self.shell.displayhook
        hook.session.send(
            hook.pub_socket,
            "error",
            {"traceback": [trace], "ename": str(etype.__name__), "evalue": text},
            parent=hook.parent_header,
        )
        self.shell._last_traceback = [trace]

    # -- requests of the host --

    def take_buffers(self):
        """Return the buffers of the request, which the kernel would keep until the next one."""
        request = self.kernel.get_parent("shell")
        buffers, request["buffers"] = request["buffers"], []
        return buffers

    def receive(self):
        """Set and remove variables by the buffers of the request, all or none.

        The first one has those of the codec, and the others are pickled by a host that trusts this
        kernel.
        """
        import pickle

        encoded, *pickled = self.take_buffers()
        values = {}
        for data in self.codec.split_messages(encoded):
            content = self.codec.decode(data, path="variables", max_bytes=len(data))
            if isinstance(content, list):
                for name in self.program_variables().keys() & set(content):
                    del self.shell.user_ns[name]
            else:
                values.update(content)
        for data in pickled:
            values.update(pickle.loads(bytes(data)))
        self.shell.user_ns.update(values)

    def define(self):
        """Create stubs for the host's functions, described in a buffer of the request."""
        for data in self.take_buffers():
            for function in self.codec.decode(bytes(data)):
                stub = self.calls.stub(**function)
                if self.allow_pickle and function["name"] == "final_answer":
                    stub = self.pickling(stub)
                self.shell.user_ns[function["name"]] = self.stubs[function["name"]] = stub

    def add_packages(self):
        """Install packages by the settings and the certificates in the buffers of the request."""
        settings, ca = self.take_buffers()
        self.packages.add_packages(self.codec.decode(bytes(settings)), bytes(ca))

    def answer_file(self, stream, ident, parent):
        """Carry out a request for a file; the control thread calls this, while code runs too."""
        content, buffers = {"status": "ok"}, []
        try:
            [body] = parent["buffers"]
            buffers = [self.files.answer(bytes(body), self.workdir)]
        except Exception as error:
            content = {"status": "error", "evalue": self.output.truncate(str(error), 10_000)}
        self.kernel.session.send(
            stream, FILE_REPLY, content, parent=parent, ident=ident, buffers=buffers
        )

    def program_variables(self):
        """Return the program's variables, without the shell's own and the host's functions."""
        absent = object()
        hidden = {**self.shell.user_ns_hidden, **self.stubs}
        return {
            name: value
            for name, value in self.shell.user_ns.items()
            if hidden.get(name, absent) is not value
        }

    def variables(self):
        """Publish the program's variables."""
        data = self.codec.encode_variables(self.program_variables(), self.max_value_bytes)
        self.publish({"kind": "answer"}, [data])

    def pickling(self, stub):
        """Wrap ``final_answer`` to pickle values that the codec refuses (allow_pickle=True)."""
        import pickle

        def pickle_refused(value):
            try:
                self.codec.encode(value, max_bytes=self.max_value_bytes)
            except self.codec.EncodeError:
                return {PICKLE_KEY: pickle.dumps(value)}
            return value

        @functools.wraps(stub)
        def final_answer(*args, **kwargs):
            return stub(
                *map(pickle_refused, args),
                **{key: pickle_refused(value) for key, value in kwargs.items()},
            )

        return final_answer


def _parent_ident(kernel):
    ident = getattr(kernel, "_shell_parent_ident", None)
    if ident is not None and hasattr(kernel, "_get_shell_context_var"):
        return kernel._get_shell_context_var(ident)
    return kernel._parent_ident["shell"]


def _inline_keeps_figures(shell):
    """Tell whether IPython's backend leaves the figures open that it displays at each end."""
    if "inline" not in str(sys.modules["matplotlib"].get_backend()):
        return False
    config = sys.modules.get("matplotlib_inline.config")
    return config is not None and not config.InlineBackend.instance(parent=shell).close_figures


def _safe_repr(texts, value):
    try:
        return repr(value)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"<{texts.class_name(value)} whose repr() raised {texts.class_name(error)}>"


def _clear_frames(trace):
    """Free what the frames of a traceback refer to, such as the final answer.

    The shell's frame refers to the exception and the exception to the frame, so that the answer
    would stay in memory until a garbage collection looks at old objects.
    """
    while trace is not None:
        with contextlib.suppress(RuntimeError):  # a frame that is still executed
            trace.tb_frame.clear()
        trace = trace.tb_next


@functools.lru_cache(maxsize=1)
def _flags_of_program(source):
    """Return the flags of a whole program's code; ``None`` if the text is not Python."""
    # One with too many brackets is a RecursionError or a MemoryError.
    with contextlib.suppress(SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        awaits = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        return compile(source, "<program >", "exec", awaits, dont_inherit=True).co_flags
    return None


def _compile_once(shell):
    """Let the shell take a program that is Python as it is, and compile it as a whole once."""
    manager, compiler = shell.input_transformer_manager, shell.compile
    transform, parse = manager.transform_cell, compiler.ast_parse
    # Of prompts, where an incomplete statement may go on in the next line.
    compiler.flags &= ~codeop.Compile().flags

    def transform_commands(cell):
        source = cell if cell.endswith("\n") else cell + "\n"
        return transform(cell) if _flags_of_program(source) is None else source

    def should_run_async(_cell, *, transformed_cell="", **_):
        return bool((_flags_of_program(transformed_cell) or 0) & inspect.CO_COROUTINE)

    def parse_program(source, filename="<unknown>", symbol="exec"):
        try:
            tree = parse(source, filename, symbol)
            # The shell compiles each statement when those before it have run.
            if _flags_of_program(source) is None:
                flags = compiler.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                compile(tree, filename, symbol, flags, dont_inherit=True)
        except RecursionError:  # without this, the code ends without an error message
            raise SyntaxError("the code is nested too deeply for Python's compiler") from None
        return tree

    manager.transform_cell, compiler.ast_parse = transform_commands, parse_program
    shell.should_run_async = should_run_async
    numbers = itertools.count(1)
    compiler.get_code_name = lambda *_: f"<program {next(numbers)}>"
    warnings.filterwarnings("ignore", module="<program ")


def _packer_of_text(pack, texts):
    """Wrap the session's ``pack``, which raises where a text has a lone surrogate."""
    from jupyter_client.jsonutil import json_default

    def pack_encodable(message):
        try:
            return pack(message)
        except UnicodeEncodeError:
            text = json.dumps(message, default=json_default, ensure_ascii=False)
            return pack(json.loads(texts.encodable(text)))

    return pack_encodable


def install(shell, modules, settings):
    """Install the agent; the loader calls this once.

    Args:
        modules: those that were sent with this one, by their short names.
        settings: JSON of the settings.
    """
    import zmq

    settings = json.loads(settings)
    if not settings["allow_root"] and os.getuid() == 0:
        raise PermissionError(
            "the kernel runs as root: its image, or the name given as user=, resolves to uid 0; "
            "pass user= as numbers, or pass allow_root=True"
        )
    process, sandbox = modules.process, KernelSide(shell, modules, settings)
    sandbox.limit()
    # The shell would keep all output of all calls in its history.
    shell._tee = lambda *_args, **_kwargs: contextlib.nullcontext()
    modules.loop.install(shell, modules.awaiting.ProgramLoop())
    shell.ast_transformers.append(LastValueRule(modules.value.keep_last_value))
    process.interrupt_only_the_program(shell.kernel, shell)
    shell.events.register("pre_run_cell", process.uninterruptible(sandbox.before))
    shell.events.register("post_run_cell", sandbox.after)
    shell.display_trap.hook = sandbox.show
    shell.display_pub.publish = sandbox.with_pictures(shell.display_pub.publish)
    shell.display_formatter.format = sandbox.with_text(shell.display_formatter.format)
    # The text of a value is its repr(), as in other executors, not IPython's form of its parts.
    shell.display_formatter.formatters["text/plain"].pprint = False
    shell.showtraceback = process.uninterruptible(sandbox.show_exception)
    shell._showtraceback = process.uninterruptible(sandbox.show_traceback)
    _compile_once(shell)
    # Neither a page that loads the library from an address nor one that has its megabytes.
    os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")
    # A kernel's own arguments would be a program's, for argparse.
    sys.argv[:] = ["ipykernel"]
    sys.meta_path.insert(0, ImagesShown())
    # "To exit: use 'exit'" is for people at a prompt.
    warnings.filterwarnings("ignore", message="To exit: use")
    shell.kernel.raw_input = modules.builtins.refuse_input
    shell.kernel.getpass = modules.builtins.refuse_input
    builtins.input = modules.builtins.refuse_input
    builtins.breakpoint = modules.builtins.refuse_debugger
    builtins.print = modules.output.program_print
    # Without this option, a message to a peer that is not connected yet is dropped silently.
    shell.kernel.stdin_socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
    # The shell would remove them from the builtins while a program runs.
    shell.builtin_trap.auto_builtins.update(dict.fromkeys(("exit", "quit"), modules.builtins.leave))
    for name in PROMPT_NAMES:
        shell.user_ns.pop(name, None)
    shell.user_module.__doc__ = None
    try:
        # Colours are useless to a model; it needs frames with one line each.
        shell.InteractiveTB.set_mode(mode="Plain")
        shell.colors = "nocolor"
    except Exception:
        with contextlib.suppress(Exception):
            shell.colors = "NoColor"
    process.exit_with_output_sent()
    shell.kernel.session.pack = _packer_of_text(shell.kernel.session.pack, modules.texts)
    # The kernel waits half a millisecond so that its output precedes its reply, which the host does
    # not need. It also broadcasts the code to all clients, and the host is the only one.
    shell.kernel._execute_sleep = 0
    shell.kernel._publish_execute_input = lambda *_args, **_kwargs: None
    builtins.__dict__["__smolagents_fork__"] = sandbox
    shell.kernel.control_handlers[FILE_REQUEST] = sandbox.answer_file
    # To compile these modules took megabytes, which glibc keeps.
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).malloc_trim(0)
