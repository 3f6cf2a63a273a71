"""A patch's mail header and message: author, subject, reason and trailers."""

from __future__ import annotations

import email.policy
import re
from dataclasses import dataclass
from email.parser import BytesParser

__all__ = ["PATCH_NAME", "Message", "parse_message", "parse_trailers"]

# What a trailer `Patch-Name` may hold: it becomes the name of a file.
PATCH_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.patch\Z")

_TRAILER = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*): *(?P<value>.*)\Z")


@dataclass(frozen=True)
class Message:
    """What a patch says about itself.

    Attributes:
        author: ``Name <address>``.
        date: the author's date as the header has it.
        subject: the first line.
        body: the text between subject and trailers: the reason.
        trailers: values by trailer name, in order; a trailer may stand more than once.
    """

    author: str
    date: str
    subject: str
    body: str
    trailers: dict[str, tuple[str, ...]]

    def trailer(self, name: str) -> str | None:
        """The value of a trailer that stands exactly once, else None."""
        values = self.trailers.get(name, ())
        return values[0] if len(values) == 1 else None


def parse_message(header: bytes) -> Message:
    """Read what stands before the first ``diff --git`` of a ``git format-patch`` file.

    Args:
        header: see :attr:`buildsys.patchfile.Patch.header`.
    """
    # The first line, "From 000... Mon Sep 17 00:00:00 2001", belongs to the mbox form.
    lines = header.split(b"\n")
    if lines and lines[0].startswith(b"From "):
        lines = lines[1:]
    mail = BytesParser(policy=email.policy.default).parsebytes(b"\n".join(lines))
    content = mail.get_payload(decode=True)
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
    text = re.sub(r"\n---\s*\Z", "\n", text)
    body, trailers = parse_trailers(text)
    return Message(
        author=str(mail["From"] or ""),
        date=str(mail["Date"] or ""),
        subject=str(mail["Subject"] or ""),
        body=body,
        trailers=trailers,
    )


def parse_trailers(text: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Split a message's text into its body and the trailers of its last paragraph.

    A trailer block is the last paragraph when every line of it is ``Key: value`` or, beginning
    with a blank, continues the line before (git-interpret-trailers(1)).
    """
    paragraphs = re.split(r"\n[ \t]*\n", text.strip("\n"))
    found: list[tuple[str, str]] = []
    for line in paragraphs[-1].splitlines():
        match = _TRAILER.match(line)
        if match is not None:
            found.append((match["key"], match["value"].strip()))
        elif found and line[:1] in {" ", "\t"}:
            key, value = found[-1]
            found[-1] = (key, f"{value} {line.strip()}".strip())
        else:
            return text.strip(), {}
    trailers: dict[str, tuple[str, ...]] = {}
    for key, value in found:
        trailers[key] = (*trailers.get(key, ()), value)
    return "\n\n".join(paragraphs[:-1]).strip(), trailers
