"""Files into and out of executors."""

from __future__ import annotations

import os

import pytest
from contract_declarations import behaviour
from contract_kinds import FILES, PLAIN
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork.errors import (
    ConfigurationError,
    ExecutorError,
    FileTooLargeError,
    ProtocolError,
)
from smolagents_fork.results import FileInfo

#: Closes its files: in the host's process, an open one is a warning of Python.
HELPERS = """
def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()

def write(path, content, mode="w"):
    with open(path, mode) as file:
        file.write(content)
"""


@pytest.fixture
def executor(contract):
    """One with files, whose code has the helpers."""
    made = contract.with_files
    made(HELPERS)
    return made


@behaviour(
    "Files",
    "The code's `open()` opens the `files=`: bytes, files, folders, any names; `put_file` writes "
    "more, from bytes or a path of yours.",
)
def test_files_are_put(contract, executor, tmp_path):
    assert executor("read('data.csv')").output == "a,b\n1,2\n"
    assert executor("[*read('in put/ä b.bin', 'rb')]").output == list(range(256))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "two words.txt").write_text("of a folder", "utf-8")
    executor.put_file(b"of bytes", "put/bytes.txt")
    executor.put_file(tmp_path, "put/folder")
    assert executor("read('put/bytes.txt')").output == "of bytes"
    assert executor("read('put/folder/sub/two words.txt')").output == "of a folder"
    executor.put_file(tmp_path / "sub" / "two words.txt", "put/bytes.txt")
    assert executor("read('put/bytes.txt')").output == "of a folder"


@behaviour(
    "Files", "A folder arrives complete: links are followed, and empty folders are included."
)
def test_folders_are_put_whole(contract, executor, tmp_path):
    given, elsewhere = tmp_path / "given", tmp_path / "elsewhere"
    (given / "empty" / "inner").mkdir(parents=True)
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "deep" / "f").write_text("by a link", "utf-8")
    (given / "followed").symlink_to(elsewhere)
    (given / "file").symlink_to(elsewhere / "deep" / "f")
    executor.put_file(given, "whole")
    assert executor("read('whole/followed/deep/f') + read('whole/file')").output == "by a link" * 2
    executor.put_file(given / "empty", "whole/again/empty")
    # Where there is a folder, one can write without making it.
    executor("write('whole/empty/inner/a', '1'); write('whole/again/empty/inner/b', '22')")
    assert executor("read('whole/empty/inner/a') + read('whole/again/empty/inner/b')").output == (
        "122"
    )


@behaviour("Files", "What cannot be copied is an error that names it, before anything is written.")
def test_folders_that_cannot_be_put(contract, executor, tmp_path):
    def nowhere(folder):
        (folder / "nowhere").symlink_to(tmp_path / "none")

    def circle(folder):
        (folder / "circle").symlink_to(folder)

    def pipe(folder):
        os.mkfifo(folder / "pipe")

    for number, make in enumerate((nowhere, circle, pipe)):
        folder = tmp_path / str(number) / "sub"
        folder.mkdir(parents=True)
        (folder / "a").write_text("1", "utf-8")
        make(folder)
        with pytest.raises(OSError, match=f"'.*/sub/(circle/sub/)?{make.__name__}'"):
            executor.put_file(folder.parent, f"refused-{number}")
    with pytest.raises(ExecutorError):
        executor.list_files("refused-0")


@behaviour("Files", "A write replaces a file only when it is complete, and changes no other file.")
def test_files_beside_the_target_stay(contract, executor):
    executor.put_file(b"mine", "beside/data.csv.part")
    executor.put_file(b"older", "beside/data.csv")
    executor.put_file(b"newer", "beside/data.csv")
    found = {one.path: executor.get_file(one.path) for one in executor.list_files("beside")}
    assert found == {"beside/data.csv": b"newer", "beside/data.csv.part": b"mine"}


@behaviour(
    "Files",
    "`get_file` returns what the code's `open()` wrote, in any size up to a limit, by its relative "
    "path or the absolute one that the code sees.",
)
def test_files_are_got(contract, executor):
    executor("write('out.csv', 'x,y\\n3,4\\n')")
    assert executor.get_file("out.csv") == b"x,y\n3,4\n"
    data = os.urandom(2_500_000)
    executor.put_file(data, "large")
    executor("write('copy', read('large', 'rb'), 'wb')")
    assert executor.get_file("copy") == executor.get_file("copy", max_bytes=len(data)) == data
    local = contract.kind.name == "local"  # whose current folder is the host's
    folder = executor.folder if local else executor("import os\nos.getcwd()").output
    assert executor.get_file(f"{folder}/out.csv") == b"x,y\n3,4\n"
    if contract.kind.name in ("docker", "wasm"):
        executor("write('/tmp/beside', 'the work folder')")
        assert executor.get_file("/tmp/beside") == b"the work folder"
    else:
        with pytest.raises(ExecutorError, match="get_file"):
            executor.get_file("/etc/passwd")


@behaviour("Files", "Another thread exchanges files with code that runs.")
def test_files_are_exchanged_while_code_runs(contract):
    executor = contract.make(PLAIN, files={})
    code = (
        "import time\nbegin()\nfound = ''\nend = time.monotonic() + {}\n"
        "while not found and time.monotonic() < end:\n    time.sleep(0.05)\n    try:\n"
        "        with open('put') as file: found = file.read()\n"
        "    except FileNotFoundError: pass\nfound"
    )
    seconds, expected = (2, "") if contract.differs else (60, "meanwhile")
    with contract.once_begun(executor, lambda: executor.put_file(b"meanwhile", "put")):
        assert executor(code.format(seconds)).output == expected
    assert executor.get_file("put") == b"meanwhile"


@behaviour("Files", "A library opens them by name: `pandas.read_csv('data.csv')`.")
def test_libraries_open_files_of_the_work_folder(contract, executor):
    if contract.kind.name == "wasm":
        assert contract.without_wheels("pandas", "pandas")
        return
    if contract.differs:
        with pytest.raises(Exception, match=r"No such file or directory: 'data\.csv'"):
            executor("import pandas\npandas.read_csv('data.csv')")
        executor("with open('data.csv') as file:\n    found = pandas.read_csv(file).b.sum()")
        assert executor("found").output == 2
        return
    executor("import pandas\npandas.read_csv('data.csv').to_csv('again.csv', index=False)")
    assert executor.get_file("again.csv") == FILES["data.csv"]


@behaviour("Files", "`list_files` gives path and size of each, without links and hidden names.")
def test_files_are_listed(contract, executor):
    executor.put_file(b"12345", "listed/b/two words")
    executor.put_file(b"", "listed/a")
    executor.put_file(b"1", "listed/.hidden/x")
    found = [(one.path, one.size) for one in executor.list_files("listed")]
    assert found == [("listed/a", 0), ("listed/b/two words", 5)]
    assert {"data.csv", "listed/a", "in put/ä b.bin"} <= {one.path for one in executor.list_files()}
    assert [one.path for one in executor.list_files("listed/a")] == ["listed/a"]


@behaviour("Files", "No path or size that code forges comes out of `list_files` or `get_file`.")
def test_forged_answers_about_files(contract, executor, monkeypatch):
    with executor._file_store("list_files") as store:
        stores = type(store)
    for path, size in (("/etc/passwd", 1), ("../../etc/cron.d/x", 1), ("a\nb", 1), ("a", -1)):
        forged = [FileInfo("data.csv", 8), FileInfo(path, size)]
        monkeypatch.setattr(stores, "list_files", lambda _self, _path, forged=forged: forged)
        with pytest.raises(ProtocolError, match=r"list_files: .* the sandbox sent a list with"):
            executor.list_files()
    monkeypatch.setattr(stores, "read_file", lambda _self, _path, _most: b"12345")
    with pytest.raises(ProtocolError, match=r"get_file: .* the sandbox sent 5 bytes, but 4 were"):
        executor.get_file("data.csv", max_bytes=4)


@behaviour(
    "Files",
    "A missing file, a folder, a file over the limit and text passed instead of a path are errors "
    "that say so.",
)
def test_errors_of_files(contract, executor):
    executor.put_file(b"123456", "errors/six")
    for use, message in (
        (lambda: executor.get_file("errors/none"), "get_file: .*errors/none.*No such file"),
        (lambda: executor.list_files("none"), "list_files: .*none.*No such file"),
        (lambda: executor.get_file("errors"), "get_file: .*(not a regular file|Is a directory)"),
        (lambda: executor.put_file(b"", "errors"), "put_file: 0 bytes .*(folder|directory)"),
    ):
        with pytest.raises(ExecutorError, match=message):
            use()
    with pytest.raises(FileTooLargeError, match="more than 5 bytes; raise max_bytes"):
        executor.get_file("errors/six", max_bytes=5)
    with pytest.raises(FileNotFoundError) as raised:
        executor.put_file("a,b\n1,2\n", "errors/six")
    assert str(raised.value) == (
        "put_file: 'a,b\\n1,2\\n': there is no such file or folder on this machine; a text is a "
        "path. Pass the content as bytes: text.encode()"
    )
    assert executor.get_file("errors/six") == b"123456"


@behaviour(
    "Files",
    "An argument of the wrong type is named, and so is a path that leaves the work folder by `..`; "
    "content may be any bytes.",
)
def test_arguments_about_files(contract):
    executor = contract.with_files
    outside = "is outside the code's work folder"
    for call, words in (
        (
            lambda: executor.put_file(5, "x"),
            "^put_file: source is int: pass a path of this machine",
        ),
        (
            lambda: executor.put_file(b"x", 5),
            "^put_file: 5 is not a path in the sandbox: pass text",
        ),
        (lambda: executor.get_file(5), "^get_file: 5 is not a path in the sandbox: pass text"),
        (lambda: executor.get_file("x", max_bytes="5"), "^max_bytes='5': pass a whole number"),
        (lambda: executor.put_file(b"", "../x"), outside),
        (lambda: executor.get_file("a/../../x"), outside),
        (lambda: executor.list_files(".."), outside),
        (lambda: contract.kind.cls([], files={"../x": b""}), outside),
    ):
        with pytest.raises(ConfigurationError, match=words):
            call()
    executor.put_file(bytearray(b"of any type"), "bytes.txt")
    assert executor.get_file("bytes.txt") == b"of any type"


@behaviour(
    "Files",
    "The code's own `open()` opens no file of the host, and a link that the code made lets "
    "`get_file` read none.",
)
def test_files_of_the_host(contract, executor, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of the host", "utf-8")
    # In the host's process, the code's own folder is not the current one.
    folder = f"{executor.folder}/" if contract.kind.name == "local" else ""
    executor(
        f"import os\nos.symlink({str(secret)!r}, {folder + 'link'!r})\n"
        f"os.symlink({str(tmp_path)!r}, {folder + 'linked'!r})"
    )
    if contract.differs:
        assert executor.get_file("linked/secret") == b"of the host"
        assert executor(f"open({str(secret)!r}).read()").output == "of the host"
        return
    with pytest.raises(Exception, match=r"PermissionError|FileNotFoundError"):
        executor(f"open({str(secret)!r}).read()")
    for path in ("link", "linked/secret"):
        with pytest.raises(ExecutorError, match="get_file"):
            executor.get_file(path)
    assert not [one for one in executor.list_files() if "link" in one.path]
    executor.put_file(b"of the code", "link")
    assert secret.read_text("utf-8") == "of the host"


@behaviour("Files", "After `restart()`, the original `files=` are available again.")
def test_files_given_are_there_after_a_restart(contract):
    executor = contract.make([*PLAIN, "os"], files=FILES)
    executor(HELPERS)
    executor("write('data.csv', 'changed'); write('made', '1')")
    executor.put_file(b"1", "put")
    if contract.differs:
        executor.cleanup()
    else:
        executor.restart()
    assert executor.get_file("data.csv") == FILES["data.csv"]
    others = {one.path for one in executor.list_files()} - {*FILES}
    assert others == ({"made", "put"} if contract.kind.name == "process" else set())
    executor(HELPERS)
    assert executor("read('data.csv')").output == "a,b\n1,2\n"


@behaviour("Files", "A tool exchanges files with the code that calls it.")
def test_tools_exchange_files_with_the_code_that_calls_them(contract, executor):

    def download(name):
        executor.put_file(b"of the tool", name)
        return executor.get_file(name).decode()

    executor.send_tools({"download": download})
    if contract.differs:
        with pytest.raises(Exception, match="while the code that called it waits"):
            executor("download('tool.txt')")
        return
    assert executor("download('tool.txt') + read('tool.txt')").output == "of the tool" * 2


@behaviour("Files", "An agent's `executor_kwargs` take files; its `python_executor` returns them.")
def test_files_of_agents(contract):
    options = contract.agent_options(files=FILES)
    model = Script(
        "with open('data.csv') as file:\n    rows = file.read()\n"
        "with open('out.txt', 'w') as file:\n    file.write(rows.upper())\nfinal_answer(rows)"
    )
    agent = contract.keep(CodeAgent(tools=[], model=model, verbosity_level=0, **options))
    assert agent.run("What is in data.csv?") == "a,b\n1,2\n"
    assert agent.python_executor.get_file("out.txt") == b"A,B\n1,2\n"
