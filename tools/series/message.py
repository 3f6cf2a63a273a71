"""Read a patch's mail header and message: author, subject, reason and trailers."""

from __future__ import annotations

import email
import email.policy
import re
from typing import NamedTuple

__all__ = ["PATCH_NAME", "Message", "parse_message", "parse_trailers"]

# What a trailer `Patch-Name` may be: it becomes the name of a file.
PATCH_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.patch\Z")

_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*): *(.*)\Z")


class Message(NamedTuple):
    """Message of a patch.

    Attributes:
        author: ``Name <address>``.
        date: the author's date as the header has it.
        subject: the first line.
        body: the text between subject and trailers: the reason.
        trailers: values by trailer name, in order; a trailer may occur more than once.
    """

    author: str
    date: str
    subject: str
    body: str
    trailers: dict[str, tuple[str, ...]]

    def trailer(self, name: str) -> str | None:
        """Return the value of a trailer that occurs exactly once, else None."""
        values = self.trailers.get(name, ())
        return values[0] if len(values) == 1 else None


def parse_message(header: bytes) -> Message:
    """Read what is before the first ``diff --git`` of a ``git format-patch`` file.

    Args:
        header: see :attr:`buildsys.patchfile.Patch.header`.
    """
    # The first line, "From 000... Mon Sep 17 00:00:00 2001", belongs to the mbox form.
    data = re.sub(rb"\AFrom .*\n", b"", header)
    mail = email.message_from_bytes(data, policy=email.policy.default)
    content = mail.get_payload(decode=True)
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
    author, date, subject = (str(mail[name] or "") for name in ("From", "Date", "Subject"))
    return Message(author, date, subject, *parse_trailers(re.sub(r"\n---\s*\Z", "\n", text)))


def parse_trailers(text: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Split a message's text into its body and the trailers of its last paragraph.

    A trailer block is the last paragraph when every line of it is ``Key: value`` or, beginning
    with a blank, continues the line before (git-interpret-trailers(1)).
    """
    *paragraphs, last = re.split(r"\n[ \t]*\n", text.strip("\n"))
    trailers: dict[str, tuple[str, ...]] = {}
    for line in re.sub(r"\n[ \t]+", " ", last).splitlines():
        match = _TRAILER.match(line)
        if match is None:
            return text.strip(), {}
        trailers[match[1]] = (*trailers.get(match[1], ()), match[2].strip())
    return "\n\n".join(paragraphs).strip(), trailers
