"""Members of modules whose one call makes much, or works long, by a number in its arguments.

Part of the boundary that guards.py decides by: each is the original behind a size guard.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .ownership import GUARDS_ITS_BASES
from .sized_types import SizedType

__all__ = ["MAKERS", "check_width"]

#: Characters of an indent, a column or a tab.
_WIDEST = 1000
#: Rounds of a key derivation: some two seconds.
_ROUNDS = 2_000_000
#: Values put into a template that are not worth a look.
_SHORT_VALUE = 64


def check_width(modules: Any, what: str, *widths: Any) -> None:
    """Stop the run if one of ``widths``, which is written nobody knows how often, is too large."""
    for width in widths:
        if isinstance(width, int) and width > _WIDEST:
            modules.meter.too_large(f"{what} with a width of {width}; at most {_WIDEST}")


def _secrets(modules: Any) -> dict[str, Any]:
    import secrets

    def of_bytes(name: str) -> Callable[..., Any]:
        function = getattr(secrets, name)

        def make(nbytes: int | None = None) -> Any:
            if isinstance(nbytes, int):
                modules.sizes.check_items(2 * int(nbytes), f"{name}()", text=True)
            return function(nbytes)

        make.__name__ = make.__qualname__ = name
        return make

    def randbits(k: int) -> int:
        if isinstance(k, int):
            modules.sizes.check_bits(int(k), "randbits()")
        return secrets.randbits(k)

    made = {name: of_bytes(name) for name in ("token_bytes", "token_hex", "token_urlsafe")}
    return {**made, "randbits": randbits}


def _hashlib(modules: Any) -> dict[str, Any]:
    import hashlib

    meter = modules.meter

    def pbkdf2_hmac(
        hash_name: str, password: Any, salt: Any, iterations: int, dklen: int | None = None
    ) -> bytes:
        blocks = 1 if dklen is None else int(dklen) // 16 + 1
        if int(iterations) * blocks > _ROUNDS:
            meter.too_large(
                f"pbkdf2_hmac() of {iterations} iterations and {dklen or 'its own'} bytes is too "
                f"much; at most {_ROUNDS} rounds"
            )
        return hashlib.pbkdf2_hmac(hash_name, password, salt, iterations, dklen)

    def scrypt(password: Any, *, n: int, r: int, p: int, **options: Any) -> bytes:
        used = 128 * int(n) * int(r)
        modules.sizes.check_items(used, "scrypt()", text=True)
        if used * int(p) > 4 * meter.limits.max_text_length:
            meter.too_large(f"scrypt() with n={n}, r={r}, p={p} is too much work")
        return hashlib.scrypt(password, n=n, r=r, p=p, **options)

    found: dict[str, Any] = {"pbkdf2_hmac": pbkdf2_hmac}
    return {**found, "scrypt": scrypt} if hasattr(hashlib, "scrypt") else found


def _textwrap(modules: Any) -> dict[str, Any]:
    import textwrap

    class Wrapper(textwrap.TextWrapper):
        # A list of the class's own: the host's is everybody's.
        unicode_whitespace_trans = copy.copy(textwrap.TextWrapper.unicode_whitespace_trans)

        def wrap(self, text: str) -> list[str]:
            check_width(modules, "TextWrapper", self.tabsize)
            lead = max(len(self.initial_indent), len(self.subsequent_indent))
            check_width(modules, "TextWrapper", lead)
            return super().wrap(text)

    Wrapper.__name__ = Wrapper.__qualname__ = "TextWrapper"
    Wrapper.__module__ = "textwrap"
    setattr(Wrapper, GUARDS_ITS_BASES, True)

    def wrap(text: str, width: int = 70, **keywords: Any) -> list[str]:
        return Wrapper(width=width, **keywords).wrap(text)

    def fill(text: str, width: int = 70, **keywords: Any) -> str:
        return Wrapper(width=width, **keywords).fill(text)

    def shorten(text: str, width: int, **keywords: Any) -> str:
        return Wrapper(width=width, max_lines=1, **keywords).fill(" ".join(text.strip().split()))

    def indent(text: str, prefix: str, predicate: Any = None) -> str:
        total = len(text) + (text.count("\n") + 1) * len(prefix)
        modules.sizes.check_items(total, "indent()", text=True)
        return textwrap.indent(text, prefix, predicate)

    return {
        "TextWrapper": Wrapper,
        "wrap": wrap,
        "fill": fill,
        "shorten": shorten,
        "indent": indent,
    }


def _string(modules: Any) -> dict[str, Any]:
    import string

    def measure(template: str, mappings: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        values = [v for m in (*mappings, keywords) if isinstance(m, dict) for v in m.values()]
        longest = max((len(v) for v in values if isinstance(v, str)), default=0)
        if longest > _SHORT_VALUE:
            total = len(template) + template.count("$") * longest
            modules.sizes.check_items(total, "substitute()", text=True)

    class Template(string.Template):
        def substitute(self, /, *mapping: Any, **keywords: Any) -> str:
            measure(self.template, mapping, keywords)
            return super().substitute(*mapping, **keywords)

        def safe_substitute(self, /, *mapping: Any, **keywords: Any) -> str:
            measure(self.template, mapping, keywords)
            return super().safe_substitute(*mapping, **keywords)

    Template.__module__, Template.__qualname__ = "string", "Template"
    setattr(Template, GUARDS_ITS_BASES, True)
    return {"Template": Template}


def _struct(modules: Any) -> dict[str, Any]:
    import struct

    def checked(form: Any) -> Any:
        modules.sizes.check_items(struct.calcsize(form), "struct.pack()", text=True)
        return form

    def pack(form: Any, /, *values: Any) -> bytes:
        return struct.pack(checked(form), *values)

    def make(cls: Any, /, form: Any) -> Any:
        return cls(checked(form))

    return {"pack": pack, "Struct": SizedType(make, struct.Struct)}


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "secrets": _secrets,
    "hashlib": _hashlib,
    "textwrap": _textwrap,
    "string": _string,
    "struct": _struct,
}
