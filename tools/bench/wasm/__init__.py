"""Times of the Wasm executor, beside Pyodide's own in a bare Deno."""
