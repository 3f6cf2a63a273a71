"""Markers with which a child in plain CPython reports the progress of a program."""

#: The program reached its canary in the child, and made every attempt.
ASSAULT_MADE = "[assault made]"
#: An attempt was not refused; its name follows.
REACHED = "[reached:"
