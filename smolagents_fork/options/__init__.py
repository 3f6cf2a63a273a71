"""Options of executors, pools and engines: an option is defined once, as a field of a dataclass."""
