"""The part of a child process or Wasm machine that runs programs, and its frames."""
