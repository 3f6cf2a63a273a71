"""The connection to Docker's engine, and its errors as messages that say what to do."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...errors import ConfigurationError, EngineUnavailableError, ExecutorStartError
from ...system.shortages import is_shortage, shortage_text
from ...text.redaction import without_passwords
from .credential_helpers import configuration_path, find_missing_helpers, leave_out
from .engine_address import EngineAddress

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.api.client import APIClient

__all__ = [
    "API_TIMEOUT_SECONDS",
    "PING_SECONDS",
    "check_answers",
    "client_copy",
    "connect",
    "disconnect",
    "engine_time",
    "image_id",
    "inspect_image",
    "is_loopback",
    "mapped_errors",
    "one_call_client",
    "remote_host",
]

# Seconds one API call may take. Starting a container on a busy machine takes a few. A build streams
# its progress, so this bounds the pause between two lines.
API_TIMEOUT_SECONDS = 60
# An engine answers a ping without other work: one that takes longer does not answer at all.
PING_SECONDS = 3.0
# For a client that has not asked the engine yet; the path of the ping has no version in it.
_ANY_VERSION = "1.41"
# Not every message about a runtime: "OCI runtime create failed" begins those of other causes.
_NO_RUNTIME = re.compile(r"(unknown|invalid)( or invalid)? runtime|runtime \S+ (is )?not found")


def connect(
    address: EngineAddress | None = None, timeout: int = API_TIMEOUT_SECONDS
) -> DockerClient:
    """Connect to an engine.

    Args:
        address: Address of the engine; ``None``: the one that the environment names.
        timeout: seconds one API call may take. The first ping has three seconds in any case.

    Raises:
        EngineUnavailableError: the engine does not answer, or the user may not use it.
        ConfigurationError: the address or the Docker configuration is not one.
    """
    import docker
    import requests

    address = EngineAddress.of() if address is None else address
    _check_url(address)
    client = _make_client(address, _ANY_VERSION, timeout)
    try:
        # The ping names the newest version of the API. The engine's own call for versions is slow:
        # it runs each of the engine's parts to ask for theirs.
        newest = _ping(client.api, PING_SECONDS).headers.get("Api-Version", _ANY_VERSION)
    except (OSError, docker.errors.DockerException, requests.RequestException) as error:
        raise EngineUnavailableError(_unavailable(address, error)) from None
    finally:
        disconnect(client)
    return _make_client(address, newest, timeout)


def _make_client(address: EngineAddress, version: str, timeout: int) -> DockerClient:
    import docker

    try:
        client = docker.from_env(version=version, timeout=timeout, environment=address.variables)
    except (docker.errors.InvalidConfigFile, AttributeError, TypeError, ValueError) as error:
        # docker-py's errors for a configuration whose entries have other types.
        raise ConfigurationError(
            f"docker-py cannot use the Docker configuration {configuration_path()}: {error}; "
            "correct the file, or set DOCKER_CONFIG to a folder with another"
        ) from None
    except (OSError, docker.errors.DockerException) as error:
        raise EngineUnavailableError(_unavailable(address, error)) from None
    missing = find_missing_helpers()
    if missing is not None:
        leave_out(client.api, missing)
    _close_failed_connections(client.api)
    _keep_authority(client.api)
    return client


def _check_url(address: EngineAddress) -> None:
    try:
        _ = urlsplit(address.url).port
    except ValueError as error:
        raise ConfigurationError(f"{address.setting}={str(address)!r}: {error}") from None


def _close_failed_connections(api: APIClient) -> None:
    """Have a connection to a local socket closed where it fails."""
    if str(api.base_url) == "http+docker://localhost":
        from .local_adapter import LocalAdapter

        adapter: Any = api.get_adapter(str(api.base_url))
        own = LocalAdapter(f"http+unix://{adapter.socket_path}", adapter.timeout)
        api.mount("http+docker://", own)


def _keep_authority(api: APIClient) -> None:
    """Have the engine's own certificate authority count, whatever the environment names.

    requests prefers ``REQUESTS_CA_BUNDLE`` and ``CURL_CA_BUNDLE`` to the authority of a session,
    and those are for services on the internet.
    """
    authority = api.verify
    if not isinstance(authority, str):
        return

    def merge(url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        verify = authority if verify is None else verify
        return type(api).merge_environment_settings(api, url, proxies, stream, verify, cert)

    vars(api)["merge_environment_settings"] = merge


def disconnect(client: DockerClient) -> None:
    """Close a client and every connection that it keeps; idempotent.

    The client's own ``close`` is not enough. The HTTP client closes a pool of connections when the
    last reference to it is gone, and an attached stream refers to it in a cycle.
    """
    for adapter in list(client.api.adapters.values()):
        pools: Any = getattr(getattr(adapter, "poolmanager", None), "pools", None)
        for key in [] if pools is None else pools.keys():
            with contextlib.suppress(KeyError):
                pools[key].close()
    client.close()


def _ping(api: APIClient, seconds: float) -> Any:
    response = api.get(f"{api.base_url}/_ping", timeout=seconds)
    response.raise_for_status()
    return response


def engine_time(client: DockerClient) -> float:
    """Return the seconds of the epoch by the engine's clock."""
    date = _ping(client.api, PING_SECONDS).headers.get("Date")
    return parsedate_to_datetime(date).timestamp() if date else time.time()


def check_answers(client: DockerClient) -> None:
    """Ping the engine before a call with a longer limit.

    Raises:
        EngineUnavailableError: no answer in three seconds.
    """
    with mapped_errors("asking the engine whether it is there"):
        _ping(client.api, PING_SECONDS)


def remote_host(client: DockerClient, address: EngineAddress) -> str | None:
    """Return the name or address of the engine's machine; ``None`` when that is this one."""
    base = urlsplit(str(client.api.base_url))
    if base.scheme == "http+docker":
        if base.hostname != "ssh":
            return None
        host = urlsplit(address.url).hostname
    else:
        host = base.hostname
    return None if host is None or is_loopback(host) else host


def is_loopback(host: str) -> bool:
    """Tell whether a name or an address is that of this machine's loopback."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unavailable(address: EngineAddress, error: Exception) -> str:
    text, setting = str(error), address.setting
    cause = _root_cause(error)
    if _is_shortage_here(cause):
        return f"the container engine at {address} cannot be asked: {shortage_text(cause)}"
    if isinstance(error, PermissionError) or "Permission denied" in text:
        todo = (
            "this user may not use the engine: add it to the group that owns the socket (usually "
            f"'docker'), use a rootless engine, or set {setting}"
        )
    elif address.url.startswith("ssh://") and isinstance(error.__context__, NameError):
        # docker-py uses a name that it imports from its optional requirement only.
        todo = f"{setting} with ssh:// needs another Python package: pip install 'docker[ssh]'"
    elif "TLS" in text or "certificate" in text.lower():
        todo = "check tls= of DockerEngine, or DOCKER_TLS_VERIFY and DOCKER_CERT_PATH"
    elif "timed out" in text.lower():
        todo = (
            f"a process accepts connections there and does not answer in {PING_SECONDS:g} s: "
            f"check whether the engine hangs (docker info), restart it, or set {setting} to one "
            "that runs"
        )
    else:
        todo = f"start Docker (or a compatible engine), or set {setting} to one that runs"
    return f"no container engine answers at {address}: {todo} ({_describe_cause(cause)})"


def _root_cause(error: BaseException) -> BaseException:
    while error.__context__ is not None:
        error = error.__context__
    return error


def _is_shortage_here(error: BaseException) -> bool:
    # EAGAIN of a socket: the engine has not accepted earlier connections yet.
    return is_shortage(error) and not isinstance(error, BlockingIOError)


def _describe_cause(error: BaseException) -> str:
    return without_passwords(f"{type(error).__name__}: {error}")


def client_copy(api: APIClient, seconds: float) -> APIClient:
    """Return a low-level client with a limit and response hooks of its own.

    The client of all threads must not be changed for one call.

    Args:
        api: docker-py's low-level client, whose connections are shared.
        seconds: limit of a wait for the engine.
    """
    # Not copy.copy(): docker-py's client drops attributes when it is copied or pickled.
    own = object.__new__(type(api))
    vars(own).update(vars(api), timeout=seconds, hooks={"response": []})
    return own


def one_call_client(api: APIClient, seconds: float) -> APIClient:
    """Return a copy of a low-level client for one call to which docker-py sets no limit.

    Args:
        seconds: until the answer has to begin.
    """
    own = client_copy(api, seconds)

    def post(*args: Any, **keywords: Any) -> Any:
        return type(api).post(own, *args, **{**keywords, "timeout": seconds})

    vars(own)["post"] = post
    return own


@contextlib.contextmanager
def mapped_errors(action: str, **facts: Any) -> Iterator[None]:
    """Turn docker-py's and requests' errors inside the block into the fork's.

    Args:
        action: what was tried, as in "starting the container".
        facts: figures the message repeats, such as ``runtime="runsc"``.
    """
    import docker
    import requests
    from docker.credentials.errors import StoreError

    figures = "".join(f" {name}={value!r}" for name, value in facts.items() if value is not None)
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise ExecutorStartError(
            f"{action}:{figures} the engine does not have the image: build it "
            f"(DockerExecutor.setup()) or pull it ({error.explanation or error})"
        ) from None
    except StoreError as error:
        raise _make_helper_error(action, figures, error) from None
    except docker.errors.NullResource:
        raise ConfigurationError(f"{action}:{figures} a name is empty") from None
    except docker.errors.APIError as error:
        text = without_passwords(str(error.explanation or error))
        raise _api_error(f"{action}:{figures} the engine says: {text}", text) from None
    except (docker.errors.DockerException, requests.RequestException) as error:
        if isinstance(error.__cause__, StoreError):
            raise _make_helper_error(action, figures, error.__cause__) from None
        cause = _root_cause(error)
        if _is_shortage_here(cause):
            why = f"the engine cannot be asked: {shortage_text(cause)}"
        else:
            why = f"the engine does not answer; is it still running? ({_describe_cause(cause)})"
        raise EngineUnavailableError(f"{action}:{figures} {why}") from None


def _make_helper_error(action: str, figures: str, error: Exception) -> ExecutorStartError:
    return ExecutorStartError(
        f"{action}:{figures} a credential helper of the Docker configuration "
        f"{configuration_path()} failed: {error}; mend it, or set DOCKER_CONFIG to a folder with "
        "another configuration"
    )


def inspect_image(client: DockerClient, image: str) -> Mapping[str, Any] | None:
    """Return the engine's description of an image; ``None`` if the engine does not have it."""
    import docker

    with mapped_errors("looking for the image", image=image):
        try:
            # Its stub has no types.
            answer: Any = client.api.inspect_image(image)  # type: ignore[no-untyped-call]
        except docker.errors.ImageNotFound:
            return None
    description: Mapping[str, Any] = answer
    return description


def image_id(client: DockerClient, image: str) -> str | None:
    """Return the id of an image; ``None`` if the engine does not have it."""
    description = inspect_image(client, image)
    return None if description is None else str(description["Id"])


def _api_error(message: str, text: str) -> Exception:
    low = text.lower()
    if '"python3"' in low and "not found" in low:
        return ExecutorStartError(
            f"{message}; the image has no python3 on its PATH: an image of your own needs one, "
            "and a Jupyter kernel gateway on port 8888"
        )
    if "port is already allocated" in low or "address already in use" in low:
        return ExecutorStartError(
            f"{message}; another process has that port: pass port=None to use a free one"
        )
    if _NO_RUNTIME.search(low):
        return ConfigurationError(
            f"{message}; runtime= must be one the engine lists under 'docker info', Runtimes"
        )
    if "unable to find user" in low or "unable to find group" in low:
        return ConfigurationError(
            f"{message}; user= takes numbers such as '1000:1000', or names of the image's own"
        )
    if "network" in low and "not found" in low:
        return ConfigurationError(f"{message}; make the network first (docker network create)")
    if "bind source path does not exist" in low:
        return ConfigurationError(
            f"{message}; volumes= takes paths of the engine's machine, and this one is not there"
        )
    if "cpus" in low or "memory" in low or "tmpfs" in low or "mount" in low:
        return ConfigurationError(message)
    return ExecutorStartError(message)
