"""Images by content: built once, in time, failing in pip's words, in peace with one another."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import random
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import certifi
import docker
import pytest
from background import eventually
from smolagents import CodeAgent, Model
from whole_contract import WHOLE, every

from smolagents_fork.errors import (
    ConfigurationError,
    EngineUnavailableError,
    ImageBuildError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes import pip_settings
from smolagents_fork.sandboxes.docker.engine import connect, image_id
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from smolagents_fork.sandboxes.docker.images import image_plans
from smolagents_fork.sandboxes.docker.images.build_record import remove_unfinished
from smolagents_fork.sandboxes.docker.lifetime.labels import LABEL

pytestmark = pytest.mark.images


def test_second_setup_and_second_start_build_nothing(image, make, engine, proxy):
    lines: list[str] = []
    before = engine.api.inspect_image(image)["Id"]
    for _ in range(2):
        assert DockerExecutor.setup(progress=lines.append) == image
    assert make()("1").output == 1
    assert lines == []
    assert engine.api.inspect_image(image)["Id"] == before
    assert proxy.asked(f"^GET .*/images/{image}/json")
    assert proxy.asked("^POST .*/containers/create")
    assert proxy.asked("/build|/tag|/images/create") == []


def test_standard_library_names_need_no_image_of_their_own(image):
    names = ["json", "os.path", "collections.*", "*", "xml.etree"]
    lines: list[str] = []
    assert DockerExecutor.setup(names, progress=lines.append) == image
    assert lines == []


def test_import_names_become_distributions_and_work_without_a_network(make):
    executor = make(["yaml", "six"])
    assert executor("import yaml; yaml.safe_load('a: [1, 2]')").output == {"a": [1, 2]}
    assert executor.container.attrs["HostConfig"]["NetworkMode"] == "none"


def test_failed_install_raises_with_pips_own_words(image):
    with pytest.raises(ImageBuildError) as caught:
        DockerExecutor(requirements=["six==99.99.99"])
    assert "No matching distribution found for six==99.99.99" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    # They come first: before the step's command, which is long, and with none of the builder's own.
    told = str(caught.value)
    assert told.index("No matching distribution") < told.index("(exit code 1 of: ")
    assert [word for word in (" ---> ", "Step ") if word in told] == []


def test_base_image_that_cannot_be_had_says_which_and_what_to_do():
    with pytest.raises((ImageBuildError, EngineUnavailableError)) as caught:
        DockerExecutor.setup(base_image="127.0.0.1:9/no-such:image", progress=lambda _line: None)
    assert "base image '127.0.0.1:9/no-such:image' cannot be pulled" in str(caught.value)
    assert f"pass base_image= or set {image_plans.BASE_IMAGE_VARIABLE}" in str(caught.value)


# Containers of tests beside this one may have labels that nobody can read, which the log tells.
SETUP = (
    "import logging, sys\n"
    "logging.getLogger('smolagents_fork.sandboxes.containers.listed_entries').disabled = True\n"
    "from smolagents_fork.executors.docker import DockerExecutor\n"
    "print(DockerExecutor.setup(**eval(sys.argv[1])))"
)


def set_up(keywords, **how):
    """A process that calls ``setup`` with the default display."""
    command = [sys.executable, "-c", SETUP, repr(keywords)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, **{"stderr": subprocess.PIPE, **how})


def told_by(builders):
    """Wait for the processes and return the output of each; none is left behind."""
    try:
        return [builder.communicate(timeout=400) for builder in builders]
    finally:
        for builder in builders:
            builder.kill()
            builder.communicate()


def test_two_processes_build_the_same_new_image_at_once_with_plain_lines(
    image, engine, throw_away, make, tmp_path
):
    # Content nobody has built before. The environment says nothing of certificates: behind a proxy
    # that signs anew, only ca_bundle= lets pip reach its index.
    requirement = f"iniconfig!=0.{random.randrange(10**9)},>=2.0"
    ca_bundle = tmp_path / "ca.pem"
    trusted = pip_settings.ca_bytes(None) or Path(certifi.where()).read_bytes()
    ca_bundle.write_bytes(b"# a mark of the certificates\n" + trusted)
    keywords = {"requirements": [requirement], "ca_bundle": str(ca_bundle)}
    variables = {k: v for k, v in os.environ.items() if k not in pip_settings.CA_VARIABLES}
    variables["PIP_TRUSTED_HOST"] = "mark-of-the-index.invalid"
    builders = [set_up(keywords, env=variables) for _ in range(2)]
    told = told_by(builders)
    assert [builder.returncode for builder in builders] == [0, 0], told
    (name,) = {out.decode().strip() for out, _ in told}
    throw_away(name)
    assert name.startswith("smolagents-fork-jupyter:")
    waited, built = sorted((err.decode() for _, err in told), key=len)
    assert re.fullmatch(
        rf"(\[  0\.0 s\] waiting for another process that builds {name}\n)?", waited
    )
    # One line a step, with the seconds since the first; nothing of pip's own lines.
    lines = built.splitlines()
    assert [re.sub(r"^\[ *[\d.]+ s\] ", "", line) for line in lines[:-1]] == [
        f"building {name}",
        f"installing {requirement}",
        "compiling",
        "saving the image",
    ]
    assert re.search(r"built \S+ in \d+\.\d s, \d+ MB, of which \d+ MB are new$", lines[-1])
    assert "\x1b" not in built
    assert "\r" not in built
    executor = make(**keywords)
    assert executor.container.attrs["Config"]["Image"] == name
    code = "import importlib.metadata as m, iniconfig; m.version('iniconfig')"
    assert executor(code).output >= "2.0"
    # What only helped to build it is in no layer.
    assert "mark-of-the-index" not in str(engine.api.history(name))
    assert "mark-of-the-index" not in str(engine.api.inspect_image(name))
    look = "import os\n[f for top, _, names in os.walk('/') for f in names if f == 'ca.pem']"
    assert executor(look).output == []
    assert executor("os.path.exists('/build')").output is False


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_builders_that_cannot_see_one_another_do_not_collide(image, throw_away, make, tmp_path):
    # As of two users, or on two machines with one engine: each has a lock of its own.
    content = f"FROM {image}\n# {random.random()}\nRUN sleep 1.5\n"
    builders = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        env = {**os.environ, "TMPDIR": str(tmp_path / name)}
        builders.append(set_up({"dockerfile_content": content}, env=env))
    told = told_by(builders)
    assert [builder.returncode for builder in builders] == [0, 0], told
    (name,) = {out.decode().strip() for out, _ in told}
    throw_away(name)
    assert make(dockerfile_content=content)("1+1").output == 2


def inspected(engine, **filters):
    """Yield the description of each image, without images that other tests remove meanwhile."""
    for listed in engine.api.images(**filters):
        with contextlib.suppress(docker.errors.ImageNotFound):
            yield engine.api.inspect_image(listed["Id"])


def untagged(engine, name):
    """Images without a name that were made for the image ``name``."""
    images = inspected(engine, filters={"dangling": True})
    return [one["Id"] for one in images if one["Comment"].endswith(name)]


def test_one_more_package_is_added_to_image_with_the_others(image, engine, throw_away, make):
    mark = f"!=0.{random.randrange(10**9)}"
    fewer, more = [f"six>=1.0,{mark}"], ["iniconfig>=2.0"]
    first = DockerExecutor.setup(requirements=fewer, progress=lambda _line: None)
    throw_away(first)
    lines: list[str] = []
    second = DockerExecutor.setup(requirements=[*fewer, *more], progress=lines.append)
    throw_away(second)
    layers = [engine.api.inspect_image(name)["RootFS"]["Layers"] for name in (image, first, second)]
    assert layers[1][:-1] == layers[0]
    assert layers[2][:-1] == layers[1]
    assert any(line.startswith("Requirement already satisfied: six") for line in lines)
    assert not any(line.startswith("Collecting six") for line in lines)
    assert untagged(engine, first) == untagged(engine, second) == []
    # Without what the build was run with: its volume, its command, the label of its owner.
    config, core = (engine.api.inspect_image(name)["Config"] for name in (second, image))
    for key in ("Cmd", "Entrypoint", "Env", "User", "Volumes", "WorkingDir"):
        assert config.get(key) == core.get(key), key
    assert make(image=second)("import six, iniconfig; 1").output == 1


@pytest.mark.parametrize(
    "end", every(2, [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]), ids=lambda s: s.name
)
def test_interrupted_build_leaves_no_container_and_no_image(image, engine, end, throw_away):
    for _ in range(10):
        requirement = f"iniconfig>=2.0,!=0.{random.randrange(10**9)}"
        name = image_plans.plan(requirements=[requirement]).tag
        builder = interrupted(engine, requirement, end)
        if builder.returncode != 0:
            break
        throw_away(name)  # on a busy machine the build may have ended before the signal
    assert builder.returncode != 0
    assert eventually(lambda: not builds_of(engine, builder.pid))
    assert image_id(engine, name) is None
    assert untagged(engine, name) == []


@contextlib.contextmanager
def building(keywords, words):
    """Give a process that builds, once it has shown the words; kill it with the block."""
    builder = set_up(keywords)
    try:
        while words not in (line := builder.stderr.readline()):
            assert line
        yield builder
    finally:
        builder.kill()
        builder.communicate()


def interrupted(engine, requirement, end):
    """A process that built an image with a package when it was sent a signal."""
    with building({"requirements": [requirement]}, b"installing") as builder:
        # One that was killed ends a container that runs; one that never ran is left to `reap`.
        states = ["running"] if end == signal.SIGKILL else ["created", "running"]
        eventually(lambda: builds_of(engine, builder.pid, states) or builder.poll() is not None)
        builder.send_signal(end)
        builder.communicate(timeout=120)
    return builder


def builds_of(engine, pid, states=()):
    """Containers in which the process builds, in one of the states (all when empty)."""
    filters = {"name": "smolagents-fork-build-", **({"status": states} if states else {})}
    found = engine.api.containers(all=True, filters=filters)
    return [one for one in found if f":{pid}:" in one["Labels"][LABEL]]


def test_stages_of_dockerfile_are_removed_and_images_with_names_stay(image, engine, throw_away):
    mark = random.random()
    content = (
        f"FROM {image} AS unchanged\nFROM {image} AS made\nUSER root\n"
        f"RUN echo {mark} > /made\nFROM {image}\nCOPY --from=made /made /tmp/made\n"
    )
    lines: list[str] = []
    name = DockerExecutor.setup(dockerfile_content=content, progress=lines.append)
    throw_away(name)
    copied = next(number for number, line in enumerate(lines) if "Step 5/" in line)
    stage = next(line for line in reversed(lines[:copied]) if line.startswith(" ---> "))
    assert image_id(engine, stage.split()[-1]) is None
    assert image_id(engine, name)
    assert image_id(engine, image)


def test_agent_without_a_terminal_prints_a_line_for_each_step_of_a_build(image, throw_away, capsys):
    requirement = f"iniconfig>=2.0,!=0.{random.randrange(10**9)}"
    throw_away(image_plans.plan(requirements=[requirement]).tag)
    agent = CodeAgent(
        tools=[],
        model=Model(),
        executor_type="docker",
        executor_kwargs={"requirements": [requirement]},
    )
    agent.cleanup()
    printed = capsys.readouterr()
    steps = re.findall(r"^\[ *[\d.]+ s\] (\w+)", printed.out, re.MULTILINE)
    assert steps == ["building", "installing", "compiling", "saving", "built"]


def test_progress_on_a_terminal_is_one_moving_line(image, throw_away):
    content = f"FROM {image}\n# {random.random()}\nRUN echo first; sleep 0.5; echo second\n"
    near, far = pty.openpty()
    process = set_up(
        {"dockerfile_content": content}, stderr=far, env={**os.environ, "TERM": "xterm"}
    )
    os.close(far)
    shown = b""
    with contextlib.suppress(OSError):  # EIO at the end
        while piece := os.read(near, 4096):
            shown += piece
    ((out, _),) = told_by([process])
    name = out.decode().strip()
    os.close(near)
    throw_away(name)
    assert process.returncode == 0
    text = shown.decode()
    assert "Step 2/2" in text or "first" in text
    assert re.search(r"0:00:0\d", text)  # the time
    assert re.search(rf"built {name} in \d+\.\d s, \d+ MB", text)  # stays
    assert "\x1b[?25l" in text  # rich hides the cursor while its line moves
    assert "\x1b[2K" in text  # and clears that line each time
    assert text.count("\r\n") <= 2


def test_dockerfile_of_the_users_own(make, packaged_image):
    # In upstream's form: a gateway started by its own command, listening on port 8888.
    content = (
        f"FROM {packaged_image}\n"
        'CMD ["python", "-m", "kernel_gateway", "--KernelGatewayApp.port=8888", '
        # The default of images that are not made from the fork's.
        '"--ZMQChannelsWebsocketConnection.limit_rate=True"]\n'
    )
    executor = make(dockerfile_content=content, max_print_outputs_length=20_000_000)
    assert executor("1+1").output == 2
    # Its gateway drops what is printed fast, and does not know how its kernel ended.
    logs = executor("print('x' * 10_000_000)").logs
    assert "IOPub data rate exceeded" in logs
    assert len(logs) < 10_000_000
    with pytest.raises(Exception, match="ended") as caught:
        executor("import os; os._exit(1)")
    assert "exit code" not in str(caught.value)
    assert executor("2+2").output == 4


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_stock_jupyter_server(make, packaged_image):
    content = (
        f"FROM {packaged_image}\n"
        'CMD ["sh", "-c", "exec python -m jupyter_server --ip=127.0.0.1 --port=8888 --no-browser '
        '--IdentityProvider.token=$KG_AUTH_TOKEN"]\n'
    )
    executor = make(dockerfile_content=content, timeout_seconds=5, interrupt_grace_seconds=60)
    executor.send_tools({"double": lambda number: 2 * number})
    assert executor("double(21)").output == 42
    # Its first process would interrupt the server, and so the kernel is asked to do it.
    with pytest.raises(SandboxTimeoutError, match="its state kept"):
        executor("kept = 5\nimport time\ntime.sleep(600)")
    assert executor("kept").output == 5
    with pytest.raises(SandboxDiedError, match=r"the kernel in sandbox .* ended"):
        executor("import os; os._exit(1)")
    assert executor("double(2)").output == 4


@pytest.mark.parametrize("options", [{}, {"build_new_image": False}], ids=["image", "image_name"])
def test_named_image_is_used_as_it_is(make, image, engine, throw_away, options):
    # Others may run the same test on the same engine, with other images.
    name = f"smolagents-fork-test-as-is-{os.getpid()}:latest"
    throw_away(name)
    engine.api.tag(image, *name.split(":"))
    executor = make(**{"image_name" if options else "image": name}, **options)
    assert executor("1+1").output == 2
    assert executor.container.attrs["Config"]["Image"] == name
    assert executor.installed_packages == []
    executor.delete()


def test_name_that_is_a_digest_is_refused_before_the_build(make):
    name = "localhost:5000/a@sha256:" + "0" * 64
    with pytest.raises(ConfigurationError) as caught:
        make(image_name=name)
    assert str(caught.value).startswith(f"image_name='{name}': pass a name and a tag; ")


STEPS = "FROM {}\nENV MARK={}\nLABEL mark=two\nRUN echo {}; {}\n"


def marked(engine, mark):
    """Images whose environment has the mark."""
    images = inspected(engine, all=True)
    return [one["Id"] for one in images if f"MARK={mark}" in (one["Config"]["Env"] or ())]


def test_build_that_fails_leaves_no_image(image, engine):
    mark = secrets.token_hex(8)
    # What a step prints is not the id of an image that this build has made.
    bystander = engine.images.build(
        fileobj=io.BytesIO(f"FROM scratch\nENV MARK={mark}-other\n".encode()), rm=True
    )[0].id
    time.sleep(1.1)  # it is older than the build, by the engine's seconds
    try:
        printed = f"---> {bystander.removeprefix('sha256:')[:12]}"
        content = STEPS.format(image, mark, f"' {printed}'", "exit 3")
        lines: list[str] = []
        with pytest.raises(ImageBuildError, match="exit code 3"):
            DockerExecutor.setup(dockerfile_content=content, progress=lines.append)
        assert f" {printed}" in lines
        assert marked(engine, mark) == []
        assert marked(engine, f"{mark}-other") == [bystander]
    finally:
        engine.api.remove_image(bystander)


def test_build_whose_process_is_killed_leaves_no_image(image, engine):
    mark = secrets.token_hex(8)
    content = STEPS.format(image, mark, "begun", "sleep 300")
    with building({"dockerfile_content": content}, b"RUN echo begun"):
        assert eventually(lambda: len(marked(engine, mark)) == 2)

    # The engine ends the step, and then the next process that starts an executor looks.
    def removed():
        remove_unfinished(engine, EngineAddress.of())
        return marked(engine, mark) == []

    assert eventually(removed)


def test_steps_that_a_named_image_needs_stay(image, engine, throw_away):
    mark = secrets.token_hex(8)
    content = STEPS.format(image, mark, "begun", "true")
    throw_away(DockerExecutor.setup(dockerfile_content=content, progress=lambda _line: None))
    assert len(marked(engine, mark)) == 3


def test_image_removed_before_a_start_is_built_again(throw_away, make, image, engine):
    """As ``smolagents-fork gc`` may do while an application starts."""
    executor = make(dockerfile_content=f"FROM {image}\nLABEL test=removed-{os.getpid()}\n")
    tag = executor.container.attrs["Config"]["Image"]
    executor.container.remove(force=True)
    with pytest.raises(SandboxDiedError):
        executor("1 + 1")  # the next call starts another container

    def removed() -> bool:
        try:
            engine.api.remove_image(tag, noprune=True)
        except docker.errors.APIError:  # the container that used it is being removed
            return False
        return True

    try:
        assert eventually(removed)
        with pytest.warns(UserWarning, match="was removed after it was prepared, and is prepared"):
            assert executor("1 + 1").output == 2
        executor.cleanup()
        assert executor.closed
    finally:
        throw_away(tag)


def test_install_packages_before_code_has_run(make):
    executor = make()
    executor.send_variables({"kept": 3})
    assert executor.install_packages(["yaml", "six"]) == ["yaml", "six"]
    assert executor("import yaml; yaml.safe_load('1') + kept").output == 4
    with pytest.raises(Exception, match="additional_authorized_imports"):
        executor.install_packages(["attr2"])


def test_contradictions():
    with pytest.raises(ConfigurationError, match="are mutually exclusive"):
        DockerExecutor(image="a", dockerfile_content="FROM b")
    with pytest.raises(ConfigurationError, match="is not a requirement"):
        DockerExecutor(requirements=["--index-url=http://example.com"])
    with pytest.raises(ConfigurationError, match=r"ca_bundle='/no/such/file'"):
        DockerExecutor(ca_bundle="/no/such/file")


def test_rebuild_builds_again_without_the_engines_cache(image, engine, throw_away):
    content = f"FROM {image}\nUSER root\nRUN cat /proc/sys/kernel/random/uuid > /made\nUSER 1000\n"

    def made(**keywords):
        name = DockerExecutor.setup(
            dockerfile_content=content, progress=lambda _line: None, **keywords
        )
        throw_away(name)
        return engine.api.inspect_image(name)["Id"]

    first = made()
    assert made() == first
    assert made(rebuild=True) != first
    assert image_id(engine, first) is None  # the replaced image does not stay


# Deadlines to try one after the other: a busy engine may not have begun before the first.
LONGER = (4, 15, 60)


def test_build_past_its_deadline(image, engine):
    mark = uuid.uuid4().hex
    content = f"FROM {image}\nRUN echo about to sleep && sleep 300 && echo {mark}\n"
    for seconds in LONGER:
        with pytest.raises(ImageBuildError) as caught:
            DockerExecutor.setup(
                dockerfile_content=content,
                build_timeout_seconds=seconds,
                progress=lambda _line: None,
            )
        assert f"was not built in build_timeout_seconds={seconds}" in str(caught.value)
        if "about to sleep" in str(caught.value):
            break
    assert "about to sleep" in str(caught.value)
    assert eventually(
        lambda: not any(mark in str(s["Command"]) for s in engine.api.containers(all=True))
    )


def test_step_without_output_for_long_does_not_fail(image, monkeypatch):
    # docker-py gives up after a minute without output; a step may take longer.
    monkeypatch.setattr(connect, "__defaults__", (None, 3))
    content = f"FROM {image}\nRUN sleep 5 # {uuid.uuid4().hex}\n"
    assert DockerExecutor.setup(dockerfile_content=content, progress=lambda _line: None)


def test_waiting_for_another_builder_has_the_same_deadline(image):
    content = f"FROM {image}\nRUN sleep 120 # {uuid.uuid4().hex}\n"
    with (
        building({"dockerfile_content": content}, b"building"),
        pytest.raises(ImageBuildError, match="built by another process") as caught,
    ):
        DockerExecutor.setup(
            dockerfile_content=content, build_timeout_seconds=1, progress=lambda _line: None
        )
    assert "build_timeout_seconds=1" in str(caught.value)


def test_pull_from_a_registry_that_says_nothing_has_the_same_deadline(base_image):
    lines: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as registry:
        name = f"127.0.0.1:{registry.getsockname()[1]}/sleeping:image"
        with pytest.raises(ImageBuildError) as caught:
            DockerExecutor.setup(image=name, build_timeout_seconds=2, progress=lines.append)
    assert f"image {name} was not pulled in build_timeout_seconds=2" in str(caught.value)
    assert lines == [f"==> pulling {name}"]
