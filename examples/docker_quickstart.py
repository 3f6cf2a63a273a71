"""Code in a container: state, figures, files, limits.

Needs a Docker engine. Run it with ``make demo EXAMPLE=docker_quickstart``, or, if the fork is
installed, ``python -m examples docker_quickstart``, which prints an error in a line or two.
"""

from smolagents_fork import DockerExecutor
from smolagents_fork.errors import SandboxTimeoutError


def main() -> None:
    DockerExecutor.setup()  # builds the image once; later calls return at once

    with DockerExecutor(
        timeout_seconds=2, memory="512m", workdir_size="64m", tmp_size="32m"
    ) as box:
        box("import statistics\nvalues = [3, 1, 4, 1, 5]")
        print("mean:", box("statistics.mean(values)").output)

        box.send_variables({"question": "How many?"})
        box.send_tools({"lookup": lambda key: {"answer": 42}[key]})
        print("tool of the host:", box("f\"{question} {lookup('answer')}\"").output)

        box.put_file(b"one\ntwo\n", "lines.txt")
        print("lines:", box("len(open('lines.txt').readlines())").output)

        try:
            box("while True: pass")
        except SandboxTimeoutError as error:
            print("stopped:", error)
        print("still there:", box("values").output)
        print("memory:", box.stats().memory_bytes // 1_000_000, "MB")


if __name__ == "__main__":
    main()
