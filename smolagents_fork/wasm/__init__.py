"""Python in WebAssembly: Pyodide in a Deno process that may read its own files and nothing else."""
