// Runs in deno: loads Pyodide from a folder, unpacks an archive of Python files, and runs its pyodide_main.py.
// Arguments: Pyodide's folder, the archive, the parts to run (such as "cases=6 hostile=12"), and names to leave out,
// one a line.
const [folder, archive, parts, without] = Deno.args;
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
pyodide_main.main("${parts}", """${without}""".split())
`);
Deno.exit(0);
