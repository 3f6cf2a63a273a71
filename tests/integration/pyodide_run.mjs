// Runs in deno: loads Pyodide from a folder, unpacks an archive of Python files, and runs its pyodide_main.py.
// Arguments: Pyodide's folder, the archive, what to run ("cases" or "hostile"), of how many programs one is run, and
// names to leave out, one a line.
const [folder, archive, what, step, without] = Deno.args;
const { loadPyodide } = await import(`file://${folder}/pyodide.mjs`);
const pyodide = await loadPyodide({
  indexURL: folder,
  stdout: (line) => console.log(line),
  stderr: (line) => console.error(line),
});
pyodide.unpackArchive(await Deno.readFile(archive), "zip", { extractDir: "/home/pyodide/fork" });
pyodide.runPython(`
import sys
sys.path.insert(0, "/home/pyodide/fork")
import pyodide_main
pyodide_main.main("${what}", ${step}, """${without}""".split())
`);
Deno.exit(0);
