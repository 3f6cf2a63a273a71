"""Words by which a child in plain CPython tells its host's test how far a program came."""

#: The program reached its canary in the child, and was given every attempt.
ASSAULT_MADE = "[assault made]"
#: An attempt was not refused; its name follows.
REACHED = "[reached:"
