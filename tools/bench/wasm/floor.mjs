// Pyodide's own times in a bare Deno. Argument: Pyodide's folder. Says "ready" after its first program,
// and for each byte of input how many milliseconds another one took.
const [folder] = Deno.args;
const { loadPyodide } = await import(`file://${folder}/pyodide.mjs`);
const pyodide = await loadPyodide({ indexURL: folder });
pyodide.runPython("1 + 1");
console.log("ready");
const buffer = new Uint8Array(1);
while (Deno.stdin.readSync(buffer) !== null) {
  const begun = performance.now();
  pyodide.runPython("1 + 1");
  console.log(performance.now() - begun);
}
