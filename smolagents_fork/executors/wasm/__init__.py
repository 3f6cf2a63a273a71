"""The executor that runs code in WebAssembly, and its pool."""

from .wasm_executor import WasmExecutor
from .wasm_pool import WasmPool

__all__ = ["WasmExecutor", "WasmPool"]

# Saved agents name the class by its public place.
WasmExecutor.__module__ = WasmPool.__module__ = __name__
