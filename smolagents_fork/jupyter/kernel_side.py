"""Installed in the kernel at its start: values out, the bridge's calls, bounds on output.

This file is sent as text and runs inside the sandbox, where nothing of the host exists: standard
library and IPython only, no import of this package. Nothing here protects the host; the program in
the kernel can undo all of it. It serves programs that do not attack.
"""

import builtins
import inspect
import io
import json
import sys
import threading


class Stop(BaseException):
    """Ends the program after its final answer; the host has the answer already."""


class Sandbox:
    def __init__(self, shell, codec, settings):
        self.shell = shell
        self.kernel = shell.kernel
        self.codec = codec
        self.comm_id = settings["comm_id"]
        self.max_output_bytes = settings["max_output_bytes"]
        self.max_value_bytes = settings["max_value_bytes"]
        self.max_error_chars = settings["max_error_chars"]
        self.left = self.max_output_bytes
        self.cut = 0
        self.formatting = False
        self.stopped = False
        self.stdin_lock = threading.Lock()
        self.calls = 0
        self.codec_errors = (codec.EncodeError,)

    # -- to the host --

    def publish(self, data, buffers=()):
        hook = self.shell.displayhook
        hook.session.send(
            hook.pub_socket,
            "comm_msg",
            {"comm_id": self.comm_id, "data": data},
            parent=hook.parent_header,
            buffers=list(buffers),
        )

    def ask(self, header, payload):
        """Send a frame over the stdin channel and return the reply's header and payload."""
        import zmq

        kernel = self.kernel
        with self.stdin_lock:
            if self.stopped:
                raise Stop
            self.calls += 1
            header = dict(header, id=self.calls)
            socket = kernel.stdin_socket
            while socket.poll(0):  # replies nobody waited for any more
                socket.recv_multipart(zmq.NOBLOCK)
            sys.stdout.flush()
            sys.stderr.flush()
            kernel.session.send(
                socket,
                "input_request",
                {"prompt": self.comm_id + json.dumps(header), "password": False},
                kernel.get_parent("shell"),
                ident=_parent_ident(kernel),
                buffers=[payload],
            )
            while True:
                if not socket.poll(1000):
                    continue
                _, reply = kernel.session.recv(socket)
                if reply is None:
                    continue
                answer = json.loads(reply["content"]["value"] or "{}")
                if answer.get("id") == self.calls:
                    break
            if answer.get("kind") == "stop":
                self.stopped = True
        buffers = reply.get("buffers") or [b""]
        return answer, bytes(buffers[0])

    def call(self, name, args, kwargs):
        """Call a function of the host."""
        __tracebackhide__ = True
        path = name + "()"
        payload = self.codec.encode(
            {"args": list(args), "kwargs": kwargs}, path=path, max_bytes=self.max_value_bytes
        )
        answer, data = self.ask({"kind": "call", "name": name}, payload)
        kind = answer.get("kind")
        if kind == "value":
            return self.codec.decode(data, max_bytes=self.max_value_bytes)
        if kind == "stop":
            raise Stop
        raise _exception(answer.get("type"), answer.get("message", "the host gave no answer"))

    # -- what the program prints --

    def limit(self, stream):
        write = stream.write

        def bounded_write(text):
            if self.left <= 0:
                self.cut += len(text)
                return len(text)
            size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
            if size <= self.left:
                self.left -= size
                return write(text)
            kept = text[: self.left]
            self.left = 0
            self.cut += len(text) - len(kept)
            write(kept)
            return len(text)

        stream.write = bounded_write

    def before(self, *_):
        self.left = self.max_output_bytes
        self.cut = 0
        self.stopped = False

    def after(self, *_):
        if self.cut:
            self.publish({"kind": "cut", "count": self.cut})

    # -- what the last expression gives --

    def show(self, value):
        """The display hook: the value itself where the codec takes it, else its best forms."""
        if value is None:
            return
        self.shell.user_ns["_"] = value
        figure = _figure_png(value)
        if figure is not None:
            self.publish({"kind": "figure"}, [figure])
            return
        try:
            data = self.codec.encode(value, path="result", max_bytes=self.max_value_bytes)
        except self.codec_errors:
            pass
        except Exception:  # a hostile __class__, a property that raises
            pass
        else:
            self.publish({"kind": "value"}, [data])
            return
        self.publish({"kind": "forms", "forms": self.forms(value)})

    def forms(self, value):
        """A MIME bundle that is never empty and never raises."""
        self.formatting = True
        forms = {}
        try:
            from IPython.core.displayhook import DisplayHook  # noqa: F401 - is this IPython at all
            from ipykernel.jsonutil import encode_images, json_clean

            data, _ = self.shell.display_formatter.format(value)
            forms = json_clean(encode_images(data))
        except Exception:
            forms = {}
        finally:
            self.formatting = False
        if "text/plain" not in forms:
            forms["text/plain"] = _safe_repr(value)
        limit = self.max_output_bytes
        for kind, text in list(forms.items()):
            if isinstance(text, str) and len(text) > limit:
                if kind.startswith("text/"):
                    cut = len(text) - limit
                    forms[kind] = text[:limit] + "... [%d characters cut]" % cut
                elif len(text) > self.max_value_bytes:
                    del forms[kind]
        return forms

    # -- what goes wrong --

    def show_traceback(self, etype, evalue, lines):
        """In place of the shell's own, which puts no bound on a message."""
        if self.formatting:
            return
        if isinstance(etype, type) and issubclass(etype, Stop):
            self.shell._last_traceback = []
            return
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            text = str(evalue)
        except BaseException as error:
            text = "<its str() raised %s>" % type(error).__name__
        limit = self.max_error_chars
        text = _middle_cut(text, limit // 4)
        trace = _middle_cut("\n".join(str(line) for line in lines), limit)
        hook = self.shell.displayhook
        hook.session.send(
            hook.pub_socket,
            "error",
            {"traceback": [trace], "ename": str(etype.__name__), "evalue": text},
            parent=hook.parent_header,
        )
        self.shell._last_traceback = [trace]

    # -- what the host asks for --

    def receive(self):
        """Set variables that came as a buffer of the request."""
        for data in self.kernel.get_parent("shell")["buffers"]:
            values = self.codec.decode(bytes(data), max_bytes=1 << 62)
            self.shell.user_ns.update(values)

    def define(self):
        """Make stubs for the host's functions that came as a buffer of the request."""
        for data in self.kernel.get_parent("shell")["buffers"]:
            for function in json.loads(bytes(data)):
                self.shell.user_ns[function["name"]] = self.stub(function)

    def stub(self, function):
        name = function["name"]
        signature = None
        if function.get("parameters") is not None:
            signature = inspect.Signature(
                [
                    inspect.Parameter(
                        p["name"],
                        getattr(inspect.Parameter, p["kind"]),
                        default=_Default(p["default"]) if "default" in p else inspect._empty,
                        annotation=_Annotation(p["type"]) if p.get("type") else inspect._empty,
                    )
                    for p in function["parameters"]
                ]
            )

        def stub(*args, **kwargs):
            if signature is not None:
                try:
                    signature.bind(*args, **kwargs)
                except TypeError as error:
                    raise TypeError("%s() %s" % (name, error)) from None
            return self.call(name, args, kwargs)

        stub.__name__ = stub.__qualname__ = name
        stub.__module__ = "tools"
        stub.__doc__ = function.get("doc") or None
        if signature is not None:
            stub.__signature__ = signature
        return stub


class _Default:
    """A default that lives on the host, shown in ``help()``."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


_Annotation = _Default


def _exception(kind, message):
    found = getattr(builtins, kind, None) if isinstance(kind, str) else None
    if isinstance(found, type) and issubclass(found, Exception):
        try:
            return found(message)
        except Exception:
            pass
    error = type(str(kind), (RuntimeError,), {}) if str(kind).isidentifier() else RuntimeError
    return error(message)


def _parent_ident(kernel):
    ident = getattr(kernel, "_shell_parent_ident", None)
    if ident is not None and hasattr(kernel, "_get_shell_context_var"):
        return kernel._get_shell_context_var(ident)
    return kernel._parent_ident["shell"]


def _figure_png(value):
    if not type(value).__module__.startswith("matplotlib."):
        return None
    figure = value if hasattr(value, "savefig") else None
    if figure is None:
        return None
    try:
        target = io.BytesIO()
        figure.savefig(target, format="png", bbox_inches="tight")
    except Exception:
        return None
    return target.getvalue()


def _safe_repr(value):
    try:
        return repr(value)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return "<%s object; its repr raised %s>" % (type(value).__name__, type(error).__name__)


def _middle_cut(text, limit):
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return "%s\n... [%d characters cut] ...\n%s" % (text[:head], len(text) - limit, text[-tail:])


def _no_input(prompt=""):
    raise EOFError(
        "input() has nobody to ask: the code runs in a sandbox without a terminal. "
        "Use a tool of the agent instead."
    )


def _leave(code=None):
    raise SystemExit(code)


def install(shell, codec, settings):
    """Called once by the loader."""
    sandbox = Sandbox(shell, codec, json.loads(settings))
    for stream in (sys.stdout, sys.stderr):
        sandbox.limit(stream)
    shell.events.register("pre_run_cell", sandbox.before)
    shell.events.register("post_run_cell", sandbox.after)
    shell.display_trap.hook = sandbox.show
    shell._showtraceback = sandbox.show_traceback
    shell.kernel.raw_input = _no_input
    shell.kernel.getpass = _no_input
    builtins.input = _no_input
    for name in ("exit", "quit"):
        shell.user_ns[name] = _leave
    try:
        # Colours are noise to a model; frames with a line each are what it needs.
        shell.InteractiveTB.set_mode(mode="Plain")
        shell.colors = "nocolor"
    except Exception:
        try:
            shell.colors = "NoColor"
        except Exception:
            pass
    builtins.__dict__["__smolagents_fork__"] = sandbox
