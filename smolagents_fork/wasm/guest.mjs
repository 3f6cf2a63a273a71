// Runs in Deno, with the permission to read its own files and no other: loads Pyodide and starts the
// Python worker, which exchanges frames with the host over this process's input and output.
// Arguments: "serve" or "snapshot", Pyodide's folder, the snapshot's file or "", the stop file or "".
// The first frame from the host, SOURCES, is an archive of the worker's modules.
const [mode, folder, snapshotFile, stopFile] = Deno.args;
const HEADER_BYTES = 9;
const OUTPUT = 2, SNAPSHOT = 8, SOURCES = 21;
const MOST_OUTPUT = 65536;
const SOURCES_PATH = "/lib/smolagents_fork.zip";
const POLL_MILLISECONDS = 10;

// Shared with the watcher: whether code runs, the run to stop, Python's signal.
const shared = new Int32Array(new SharedArrayBuffer(12));
const RUNS = 0, STOP = 1, SIGNAL = 2;

// What has arrived, at most so many bytes; none at the end.
function read(most) {
  const data = new Uint8Array(most);
  Atomics.store(shared, RUNS, 0);
  const count = Deno.stdin.readSync(data);
  Atomics.store(shared, RUNS, 1);
  Atomics.notify(shared, RUNS);
  return data.subarray(0, count ?? 0);
}

function readExactly(length) {
  const data = new Uint8Array(length);
  for (let filled = 0; filled < length;) {
    const part = read(length - filled);
    if (part.length === 0) throw new Error("the host has closed the connection");
    data.set(part, filled);
    filled += part.length;
  }
  return data;
}

function write(data) {
  for (let sent = 0; sent < data.length;) sent += Deno.stdout.writeSync(data.subarray(sent));
}

function sendFrame(kind, body) {
  const header = new DataView(new ArrayBuffer(HEADER_BYTES));
  header.setUint8(0, kind);
  header.setUint32(5, body.length);
  write(new Uint8Array(header.buffer));
  write(body);
}

// What Python and code in C print, in the order in which they do.
function sendOutput(data) {
  for (let start = 0; start < data.length; start += MOST_OUTPUT) {
    sendFrame(OUTPUT, data.subarray(start, start + MOST_OUTPUT));
  }
  return data.length;
}

function readSources() {
  const header = readExactly(HEADER_BYTES);
  const length = new DataView(header.buffer).getUint32(5);
  if (header[0] !== SOURCES) throw new Error(`frame of kind ${header[0]} where SOURCES is due`);
  return readExactly(length);
}

// A thread of its own, since this one blocks: looks at the stop file while code runs. A change in it
// is the host's wish to stop the run it names. A new parent means that the host has died.
function watch(shared, file, pause, parent) {
  const [RUNS, STOP, SIGNAL] = [0, 1, 2];
  let before = "";
  while (true) {
    Atomics.wait(shared, RUNS, 0);
    Atomics.wait(shared, STOP, Atomics.load(shared, STOP), pause);
    let wish;
    try {
      wish = Deno.readTextFileSync(file);
    } catch {
      wish = before;
    }
    if (wish !== before) Atomics.store(shared, STOP, Number.parseInt(wish) | 0);
    const orphan = Deno.ppid !== parent;
    if (orphan) Atomics.store(shared, STOP, -1);
    if (wish !== before || orphan) Atomics.store(shared, SIGNAL, 2);
    before = wish;
  }
}

function startWatcher() {
  const source = `${watch}\nonmessage = ({ data }) => watch(...data);`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const watcher = new Worker(url, { type: "module" });
  watcher.postMessage([shared, stopFile, POLL_MILLISECONDS, Deno.ppid]);
}

function withBuffer(proxy, use) {
  const buffer = proxy.getBuffer("u8");
  try {
    use(buffer.data);
  } finally {
    buffer.release();
  }
}

const words = (line) => console.error(line);
const { loadPyodide } = await import(`file://${folder}/pyodide.mjs`);
if (mode === "serve") startWatcher();
const pyodide = await loadPyodide({
  indexURL: folder,
  stdout: words,
  stderr: words,
  stdin: () => null,
  // A snapshot is for every user of the cache: it does not have the path of this file.
  env: { HOME: "/home/pyodide", LANG: "C.UTF-8", MPLBACKEND: "module://smolagents_fork.interpreter.plain.figure_backend", _: undefined },
  _makeSnapshot: mode === "snapshot",
  _loadSnapshot: snapshotFile ? Deno.readFileSync(snapshotFile) : undefined,
});
// The engine's terminals would read this process's input, which is the host's connection.
for (const terminal of ["/dev/tty", "/dev/tty1"]) pyodide.FS.unlink(terminal);
pyodide.FS.writeFile(SOURCES_PATH, readSources());
if (!snapshotFile) pyodide.runPython(`import sys; sys.path.insert(0, "${SOURCES_PATH}")`);
if (mode === "snapshot") {
  pyodide.runPython("from smolagents_fork.wasm.wasm_worker import prepare; prepare()");
  const snapshot = pyodide.makeMemorySnapshot();
  sendFrame(SNAPSHOT, snapshot);
} else {
  pyodide.setStdout({ write: sendOutput });
  pyodide.setStderr({ write: sendOutput });
  pyodide.setInterruptBuffer(shared.subarray(SIGNAL));
  const { main } = pyodide.pyimport("smolagents_fork.wasm.wasm_worker");
  main(read, (data) => withBuffer(data, write), () => Atomics.load(shared, STOP));
}
Deno.exit(0);
