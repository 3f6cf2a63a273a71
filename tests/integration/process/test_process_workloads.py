"""Useful programs, with all of CPython in the confined child: the allow list suffices."""

from __future__ import annotations

import datetime
import sys

import pytest
from confined_attacks import raw_executor

from smolagents_fork.errors import ProgramFailedError
from smolagents_fork.process.confinement_report import Kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")

WORKLOADS = {
    "threads": """
import threading, queue
results = queue.Queue()
threads = [threading.Thread(target=results.put, args=(n,)) for n in range(8)]
for one in threads: one.start()
for one in threads: one.join()
sum(results.get() for _ in threads) == 28
""",
    "a pool of threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(lambda n: n * n, range(20)))
found[-1] == 361
""",
    "asyncio": """
import asyncio
async def work(n):
    await asyncio.sleep(0.001)
    return await asyncio.to_thread(lambda: n)
async def main():
    return await asyncio.gather(*(work(n) for n in range(5)))
asyncio.run(main()) == [0, 1, 2, 3, 4]
""",
    "asyncio, one loop after the other": """
import asyncio
sum(asyncio.run(asyncio.sleep(0, 1)) for _ in range(1000)) == 1000
""",
    "streams of asyncio": """
import asyncio, os, socket
async def copied():
    a, b = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=a)
    other_reader, other_writer = await asyncio.open_connection(sock=b)
    writer.writelines([b'x' * 300_000] * 6)  # sendmsg() from Python 3.12 on
    data, _ = await asyncio.gather(other_reader.readexactly(1_800_000), writer.drain())
    writer.close(); other_writer.close()
    return len(data)
async def piped():
    ends = os.pipe()
    reader = asyncio.StreamReader()
    make = lambda: asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(make, os.fdopen(ends[0], 'rb'))
    os.write(ends[1], b'x'); os.close(ends[1])
    return await reader.read()
(asyncio.run(copied()), asyncio.run(piped())) == (1_800_000, b'x')
""",
    "pipes": """
import os
for _ in range(300):
    kept = [os.pipe() for _ in range(20)]
    for reader, writer in kept:
        os.write(writer, b'x')
        done = os.read(reader, 1) == b'x'
        os.close(reader); os.close(writer)
done
""",
    "a pair of sockets and select": """
import select, socket
a, b = socket.socketpair()
a.sendall(b'x' * 1000)
bool(select.select([b], [], [], 5)[0]) and len(b.recv(2000)) == 1000
""",
    "sqlite in memory": """
import sqlite3
base = sqlite3.connect(':memory:')
base.execute('create table t (a)')
base.executemany('insert into t values (?)', [(n,) for n in range(100)])
base.execute('select sum(a) from t').fetchone() == (4950,)
""",
    "sqlite in a file": """
import sqlite3
for mode in ('delete', 'wal'):
    with sqlite3.connect('base-' + mode) as base:
        base.execute('pragma journal_mode=' + mode)
        base.execute('create table t (a)')
        base.execute('insert into t values (1)')
    base.close()
sqlite3.connect('base-wal').execute('select a from t').fetchone() == (1,)
""",
    "files of many kinds": """
import csv, gzip, json, os, pathlib, pickle, shutil, tarfile, tempfile, zipfile, bz2, lzma
pathlib.Path('sub/below').mkdir(parents=True)
with open('a.csv', 'w', newline='') as file: csv.writer(file).writerows([[1, 2], [3, 4]])
with open('a.json', 'w') as file: json.dump({'a': 1}, file)
with open('a.pkl', 'wb') as file: pickle.dump([1], file)
for module, name in ((gzip, 'a.gz'), (bz2, 'a.bz2'), (lzma, 'a.xz')):
    with module.open(name, 'wt') as file: file.write('text')
with zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED) as archive: archive.write('a.csv')
zipfile.ZipFile('a.zip').extractall('sub')
with tarfile.open('a.tar.gz', 'w:gz') as archive: archive.add('a.csv')
tarfile.open('a.tar.gz').extractall('sub/below')
shutil.copy('a.csv', 'b.csv'); shutil.copy2('a.csv', 'c.csv'); shutil.copyfile('a.csv', 'd.csv')
shutil.copytree('sub', 'copy'); shutil.move('d.csv', 'sub/e.csv'); shutil.rmtree('copy')
os.rename('b.csv', 'f.csv'); os.replace('f.csv', 'sub/f.csv'); os.link('a.csv', 'g.csv')
with tempfile.TemporaryDirectory() as folder: pathlib.Path(folder, 'x').write_text('x')
with tempfile.NamedTemporaryFile() as file: file.write(b'x')
with tempfile.TemporaryFile() as file: file.write(b'x'); file.truncate(0)
with open('a.csv', 'r+') as file: file.seek(3); file.truncate()
with open('a.csv', 'w') as file: file.write('new'); file.flush(); os.fsync(file.fileno())
pathlib.Path('touched').touch(); pathlib.Path('touched').touch()
sorted(p.name for p in pathlib.Path('sub').rglob('*.csv')) == ['a.csv', 'a.csv', 'e.csv', 'f.csv']
""",
    "mapped files": """
import mmap
with open('mapped', 'w+b') as file:
    file.write(bytes(8192)); file.flush()
    with mmap.mmap(file.fileno(), 0) as memory: memory[:2] = b'ab'; memory.flush()
open('mapped', 'rb').read(2) == b'ab'
""",
    "time, random and locale": """
import datetime, decimal, locale, os, random, secrets, time, uuid, zoneinfo, platform, signal
time.sleep(0.01)
zone = zoneinfo.ZoneInfo('Europe/Berlin') if os.path.isdir('/usr/share/zoneinfo/Europe') else None
fired = []
signal.signal(signal.SIGALRM, lambda *_: fired.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.1)
[len(secrets.token_hex()), len(str(uuid.uuid4())), bool(platform.platform()), fired,
 os.cpu_count() > 0, len(os.sched_getaffinity(0)) > 0] == [64, 36, True, [1], True, True]
""",
    "signals to oneself": """
import os, signal, threading
heard = []
signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
os.kill(os.getpid(), signal.SIGUSR1)
signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
heard == [1, 1, 1]
""",
    "ctypes": """
import ctypes
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1)
libc = ctypes.CDLL(None)
callback(41) == 42 and libc.abs(-3) == 3
""",
    "modules": """
import email, html, http.client, logging.handlers, sched, selectors, socketserver, ssl, statistics
import sysconfig, unittest, urllib.request, xml.etree.ElementTree as tree
logging.getLogger().addHandler(logging.FileHandler('log')); logging.warning('x')
tree.fromstring('<a><b/></a>')[0].tag == 'b' and open('log').read() == 'x\\n'
""",
}
LIBRARIES = {
    "numpy, on threads of its library": """
import numpy, threading
a = numpy.random.default_rng(0).random((400, 400))
numpy.save('a.npy', a); b = numpy.load('a.npy', mmap_mode='r')
numpy.allclose(a @ b, numpy.dot(a, a)) and numpy.linalg.inv(a).shape == (400, 400)
""",
    "numpy, in threads of the program": """
import numpy
from concurrent.futures import ThreadPoolExecutor
a = numpy.ones((300, 300))
with ThreadPoolExecutor(6) as pool:
    found = {float(r[0, 0]) for r in pool.map(lambda _: a @ a, range(24))}
found == {300.0}
""",
    "pandas": """
import pandas
table = pandas.DataFrame({'a': range(1000), 'b': ['x', 'y'] * 500})
table.to_csv('t.csv', index=False); table.to_pickle('t.pkl'); table.to_json('t.json')
back = pandas.read_csv('t.csv')
back.groupby('b')['a'].sum().tolist() == [249500, 250000] and pandas.read_json('t.json').size > 1
""",
    "polars": """
import polars
table = polars.DataFrame({'a': range(1000), 'b': ['x', 'y'] * 500})
table.write_parquet('t.parquet'); table.write_csv('u.csv'); table.lazy().sink_parquet('v.parquet')
table.write_ndjson('t.ndjson'); table.write_ipc('t.ipc')
read = [polars.read_parquet('t.parquet'), polars.scan_csv('u.csv').collect(),
        polars.scan_parquet('v.parquet').collect(), polars.read_ndjson('t.ndjson'),
        polars.read_ipc('t.ipc')]
all(one.equals(table) for one in read)
""",
    "pyarrow": """
import pyarrow, pyarrow.csv, pyarrow.parquet
table = pyarrow.table({'a': range(1000)})
pyarrow.parquet.write_table(table, 'w.parquet'); pyarrow.csv.write_csv(table, 'w.csv')
read = [pyarrow.parquet.read_table('w.parquet', memory_map=True), pyarrow.csv.read_csv('w.csv')]
all(one.equals(table) for one in read) and pyarrow.memory_map('w.parquet').read(4) == b'PAR1'
""",
    "matplotlib": """
import matplotlib.pyplot as plt
plt.plot([1, 2, 3]); plt.title('x'); plt.savefig('p.png'); plt.savefig('p.pdf')
open('p.png', 'rb').read(4) == b'\\x89PNG'
""",
    "PIL": """
from PIL import Image, ImageDraw, ImageFont
picture = Image.new('RGB', (20, 20)); ImageDraw.Draw(picture).text((1, 1), 'x')
picture.save('p.jpg'); Image.open('p.jpg').size == (20, 20)
""",
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload_works(raw, name: str):
    assert raw(WORKLOADS[name]).output is True


@pytest.mark.parametrize("name", LIBRARIES)
def test_library_works(raw, name: str):
    pytest.importorskip(name.partition(",")[0])
    assert raw(LIBRARIES[name]).output is True


def test_tables_of_polars_cross_both_ways(raw):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"day": [datetime.date(2024, 2, 29), None], "a": [[1], []]})
    raw.send_variables({"table": table})
    back = raw("import polars\ntable.with_columns(b=polars.lit('x'))").output
    assert back.equals(table.with_columns(b=polars.lit("x")))
    assert back.schema["day"] == polars.Date


def test_workloads_work_with_the_oldest_kernel():
    with raw_executor(Kernel(landlock=1, namespaces=False)) as made:
        for name, code in WORKLOADS.items():
            if name == "files of many kinds":
                # Landlock 1 refuses to move and link between folders.
                for moving in ("shutil.move('d.csv', 'sub/e.csv')", "os.link('a.csv', 'g.csv')"):
                    code = code.replace(moving, "0")
                code = code.replace("os.replace('f.csv', 'sub/f.csv')", "0")
                code = code.replace("['a.csv', 'a.csv', 'e.csv', 'f.csv']", "['a.csv', 'a.csv']")
            assert made(code).output is True, name


def test_each_library_keeps_to_its_folder(raw, tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "t.csv").write_text("a\n1")
    for code in (
        f"pandas.read_csv({str(tmp_path / 't.csv')!r})",
        f"pandas.DataFrame().to_csv({str(tmp_path / 'made.csv')!r})",
        f"__import__('numpy').save({str(tmp_path / 'made.npy')!r}, [1])",
    ):
        with pytest.raises(ProgramFailedError, match=r"PermissionError|OSError"):
            raw(f"import pandas\n{code}")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
