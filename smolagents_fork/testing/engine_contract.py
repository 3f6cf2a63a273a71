"""Promises of an engine, its provisioner and its sandboxes, each a test on real kernels."""

from __future__ import annotations

import contextlib
import copy
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..errors import ExecutorError, ProtocolError
from ..executors.docker.options import DockerOptions
from ..jupyter.websocket import address_with, create_kernel
from ..network.network_list import NetworkList
from ..options.option import about
from ..sandboxes.container_options import ContainerOptions
from ..sandboxes.engine_protocol import check_engine
from ..sandboxes.provisioner import Sandbox
from ..sandboxes.resource_limits import parse_size
from ..stream.timed_socket import TimedSocket
from .engine_under_test import EngineUnderTest

__all__ = ["EngineContract"]

# Only detects hangs, even on a busy machine.
_PATIENCE_SECONDS = 240.0


class EngineContract:
    """Tests of an engine, for a class of pytest's that derives from this one.

    Each test takes the fixture ``place``, an :class:`EngineUnderTest` inside its block; of a module
    or of a class, since each start takes time. docs/guides/own-engine.md has an example in full.
    """

    # -- the engine --

    def test_engine_is_data(self, place: EngineUnderTest) -> None:
        engine = place.engine
        assert check_engine(engine) is engine
        same = copy.deepcopy(engine)
        assert (same, hash(same), repr(same)) == (engine, hash(engine), repr(engine))
        assert engine != object()
        assert engine.name == engine.name.lower()

    def test_refused_options_are_options_with_a_reason(self, place: EngineUnderTest) -> None:
        refused = place.engine.refused_options
        assert set(refused) <= {*about(DockerOptions), *about(NetworkList)}
        assert all(len(reason) > 10 for reason in refused.values())

    def test_missing_network_has_a_remedy(self, place: EngineUnderTest) -> None:
        remedy = place.engine.network_remedy(ContainerOptions(), "pool")
        assert remedy == "" or remedy.startswith("give ")
        connected = place.engine.network_remedy(ContainerOptions(network="bridge"), "pool")
        assert connected in ("", remedy)

    def test_connections_are_made_at_once_and_independent(self, place: EngineUnderTest) -> None:
        engines = _at_once(6, lambda: place.engine.connect(ContainerOptions()))
        assert len({id(engine) for engine in engines}) == 6
        for engine in engines[1:]:
            engine.close()
        assert engines[0].prepare_image(place.image, report=lambda _line: None) == place.spec.image
        engines[0].close()

    # -- images and starts --

    def test_prepared_image_has_a_name_that_stays(self, place: EngineUnderTest) -> None:
        lines: list[str] = []
        assert place.provisioner.prepare_image(place.image, report=lines.append) == place.spec.image
        assert lines == []

    def test_image_that_does_not_exist_is_an_error(self, place: EngineUnderTest) -> None:
        missing = replace(place.image, image="no-such-image:1", build_timeout_seconds=60.0)
        with _raises(ExecutorError, match="no-such-image"):
            place.provisioner.prepare_image(missing, report=lambda _line: None)

    def test_concurrent_starts_each_give_a_sandbox(self, place: EngineUnderTest) -> None:
        with place.starting() as start:
            sandboxes = _at_once(4, start)
            assert len({sandbox.id for sandbox in sandboxes}) == 4
            for sandbox in sandboxes:
                _kernel_of(place, sandbox)

    def test_failed_start_is_an_error_and_leaves_nothing(self, place: EngineUnderTest) -> None:
        before = place.provisioner.ours()
        with place.starting() as start, _raises(ExecutorError, match="no-such-image"):
            start(image="no-such-image")
        # Nothing new: a sandbox that had checked the image may have been there before.
        assert set(place.provisioner.ours()) <= set(before)

    # -- streams --

    def test_each_stream_reaches_the_one_kernel(self, place: EngineUnderTest) -> None:
        assert _kernel_of(place, place.shared) == _kernel_of(place, place.shared)

    def test_gateway_asks_for_the_token_of_its_sandbox(self, place: EngineUnderTest) -> None:
        with place.starting() as start:
            sandbox, other = place.shared, start()
            _kernel_of(place, sandbox)
            assert sandbox.gateway_token != other.gateway_token
            with _raises(ProtocolError, match="answered 40"):
                _kernel_of(place, sandbox, token=other.gateway_token)

    def test_streams_are_independent(self, place: EngineUnderTest) -> None:
        stream, other = (place.shared.open_stream(timeout=place.start_seconds) for _ in range(2))
        stream.close()
        with contextlib.closing(TimedSocket(other)) as sock:
            token = place.shared.gateway_token
            assert create_kernel(sock, address_with(token), timeout=place.start_seconds)

    def test_stream_ends_when_the_sandbox_is_removed(self, place: EngineUnderTest) -> None:
        with place.starting() as start:
            sandbox = start()
            stream = sandbox.open_stream(timeout=place.start_seconds)
            with contextlib.closing(TimedSocket(stream)) as sock:
                token = sandbox.gateway_token
                assert create_kernel(sock, address_with(token), timeout=place.start_seconds)
                sandbox.remove()
                sock.settimeout(_PATIENCE_SECONDS)
                with contextlib.suppress(ConnectionError):
                    while sock.recv(1000):
                        pass

    # -- status and removal --

    def test_status_of_a_running_sandbox(self, place: EngineUnderTest) -> None:
        _kernel_of(place, place.shared)
        status = place.shared.status()
        assert (status.running, status.exit_code, status.out_of_memory) == (True, None, False)

    def test_stats_are_of_gateway_and_kernel(self, place: EngineUnderTest) -> None:
        sandbox = place.shared
        _kernel_of(place, sandbox)
        # A gateway may return the kernel while it starts.
        assert _eventually(lambda: (sandbox.stats().pids or 0) > 4)
        stats = sandbox.stats()
        assert (stats.memory_bytes or 0) > 20 << 20
        assert stats.memory_limit_bytes == parse_size(place.spec.limits.memory)
        assert (stats.cpu_seconds or 0) > 0

    def test_ours_lists_existing_sandboxes(self, place: EngineUnderTest) -> None:
        with place.starting() as start:
            before = set(place.provisioner.ours())
            sandbox, other = start(), start()
            assert set(place.provisioner.ours()) - before == {sandbox.id, other.id}
            sandbox.remove()
            assert place.provisioner.wait_until_removed(_PATIENCE_SECONDS)
            assert set(place.provisioner.ours()) - before == {other.id}

    def test_removed_sandbox_is_gone_and_says_so(self, place: EngineUnderTest) -> None:
        with place.starting() as start:
            sandbox = start()
            _kernel_of(place, sandbox)
            _at_once(3, sandbox.remove)
            assert place.provisioner.wait_until_removed(_PATIENCE_SECONDS)
            sandbox.remove()
            assert not sandbox.status().running
            uses: list[Callable[[], object]] = [
                lambda: sandbox.open_stream(timeout=1),
                sandbox.stats,
            ]
            for use in uses:
                with _raises(ExecutorError, OSError):
                    use()

    def test_closing_leaves_sandboxes_and_may_be_repeated(self, place: EngineUnderTest) -> None:
        other = place.engine.connect(ContainerOptions())
        sandbox = other.start(place.spec)
        try:
            _kernel_of(place, sandbox)
            other.close()
            other.close()
            assert place.provisioner.ours() or sandbox.status().running
        finally:
            sandbox.remove()
            assert other.wait_until_removed(_PATIENCE_SECONDS)


def _kernel_of(place: EngineUnderTest, sandbox: Sandbox, token: str | None = None) -> str:
    """Return the id of a sandbox's kernel."""
    with contextlib.closing(TimedSocket(sandbox.open_stream(timeout=place.start_seconds))) as sock:
        requested_token = sandbox.gateway_token if token is None else token
        return create_kernel(sock, address_with(requested_token), timeout=place.start_seconds).id


@contextlib.contextmanager
def _raises(*kinds: type[BaseException], match: str = "") -> Iterator[None]:
    """Check that the block raises. Not pytest's, which is no requirement of the package."""
    message: str | None = None
    try:
        yield
    except kinds as error:
        message = str(error)
    assert message is not None, f"none of {[cls.__name__ for cls in kinds]} was raised"
    assert re.search(match, message), f"{message!r} does not match {match!r}"


def _eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _at_once(count: int, function: Callable[[], Any]) -> list[Any]:
    """Return the results of calls in several threads."""
    with ThreadPoolExecutor(count) as threads:
        return [future.result() for future in [threads.submit(function) for _ in range(count)]]
