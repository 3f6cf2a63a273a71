"""No part of a password is shown, and nothing else is hidden."""

from __future__ import annotations

import pytest

from smolagents_fork.text.redaction import without_passwords


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tcp://user:hunter2@machine:2376", "tcp://user:***@machine:2376"),
        ("https://u:p@a,https://v:hunter2@b/c", "https://u:***@a,https://v:***@b/c"),
        ("https://h/s;https://v:hunter2@b", "https://h/s;https://v:***@b"),
        ("https://h/x?url=https://v:hunter2@b", "https://h/x?url=https://v:***@b"),
        ("tcp://user:hun@ter2@machine", "tcp://user:***@machine"),
        ("https://user:hun@t@er2@host/simple", "https://user:***@host/simple"),
        ("https://user:hun/ter2@host/simple", "https://user:***@host/simple"),
        ("https://user:hun?ter#2@host", "https://user:***@host"),
        ("https://:hunter2@host", "https://:***@host"),
        ("https://hunter2@host/simple", "https://***@host/simple"),
        ("https://hunter2:@host/simple", "https://***@host/simple"),
        ("git+https://hunter2@host/a.git", "git+https://***@host/a.git"),
        ("ssh://user@machine", "ssh://user@machine"),
        ("pkg @ https://u:hunter2@h/a.whl, 'https://v:hunter2@h/'",
         "pkg @ https://u:***@h/a.whl, 'https://v:***@h/'"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("https://host/a:b@c", "https://host/a:b@c"),
        ("http://[::1]:8080/a@b", "http://[::1]:8080/a@b"),
        ("tcp://[::1", "tcp://[::1"),
        ("name@host without an address: a:b@c", "name@host without an address: a:b@c"),
    ],
)  # fmt: skip
def test_passwords_are_hidden(text, shown):
    assert without_passwords(text) == shown
