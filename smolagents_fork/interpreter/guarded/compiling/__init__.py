"""Text to code object: parse, check, infer facts, rewrite, compile."""
