"""The executor that runs code in WebAssembly."""

from .wasm_executor import WasmExecutor

__all__ = ["WasmExecutor"]

# Saved agents name the class by its public place.
WasmExecutor.__module__ = __name__
