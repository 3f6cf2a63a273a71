"""Text forms of values, errors, addresses and pages, much of it chosen by untrusted programs."""
