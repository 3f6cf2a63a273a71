# case: literals
["a\tb", r"a\tb", "\x41\u00e9\U0001F600", "\101", 'it''s', "a" "b" 'c', """line
two""", "\N{BULLET}"]
# case: line-continuation-in-string
"abc\
def"
# case: concatenate-and-repeat
("ab" + "cd", "ab" * 3, 2 * "xy", "z" * 0, "z" * -1, "=" * 10)
# case: case-methods
s = "hello World"
(s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), "ß".casefold())
# case: strip-methods
("  a ".strip(), "xxaxx".strip("x"), "xxa".lstrip("x"), "axx".rstrip("x"), "prefix-a".removeprefix("prefix-"), "a.py".removesuffix(".py"))
# case: split-methods
("a b  c".split(), "a,b,,c".split(","), "a,b,c".split(",", 1), "a,b,c".rsplit(",", 1), "a\nb\r\nc".splitlines(), "k=v=w".partition("="), "k=v=w".rpartition("="))
# case: join
(",".join("abc"), "".join(["x", "y"]), "-".join(str(i) for i in range(4)), " ".join({"a": 1, "b": 2}))
# case: find-and-count
s = "banana"
(s.find("na"), s.rfind("na"), s.find("z"), s.index("n"), s.count("an"), s.startswith(("x", "b")), s.endswith("na", 0, 4))
# case: replace-and-translate
("aaa".replace("a", "b", 2), "hello".translate(str.maketrans("el", "ip")), "hello".translate({ord("l"): None, ord("h"): "HH"}))
# case: predicates
["a1".isalnum(), "abc".isalpha(), "12".isdigit(), "½".isnumeric(), "x_1".isidentifier(), " ".isspace(), "Ab".istitle(), "a".isascii(), "A".isupper()]
# case: padding
("7".zfill(3), "-7".zfill(4), "a".center(5, "*"), "a".ljust(3, ".") + "|", "a".rjust(3), "a\tb".expandtabs(4))
# case: indexing-and-slicing
s = "abcdef"
(s[0], s[-1], s[1:3], s[::-1], s[::2], s[-3:], s[10:], s[:-100])
# case: iteration-and-enumerate
[(i, c) for i, c in enumerate("héy", 1)]
# case: comparison-and-membership
("a" < "b", "Z" < "a", "10" < "9", "bc" in "abcd", "" in "x", max("hello"))
# case: percent-formatting
("%s is %d years, %.2f m, %5s|%-5s|%05d %x %o %e %%" % ("Al", 30, 1.756, "r", "l", 42, 255, 8, 12345.678), "%(a)s-%(b)r" % {"a": 1, "b": "x"}, "%c%c" % (65, "b"))
# case: percent-single-value
("%s" % 5, "%r" % "q", "%s" % (1,), "%s %s" % (1, (2, 3)), "%+d % d" % (3, 4))
# case: percent-star-width
"%*d|%-*d|%.*f" % (6, 42, 6, 42, 2, 3.14159)
# case: format-positional
("{} {}".format(1, 2), "{1} {0}".format("a", "b"), "{0}{0}".format("x"), "{{}} {}".format(3))
# case: format-keywords-and-index
("{n:>5}|{d[k]}|{l[1]}".format(n=7, d={"k": "v"}, l=[1, 2]), "{a!r:>6}".format(a="q"))
# case: format-attribute
z = 3 + 4j
class P:
    def __init__(self): self.name = "pp"; self.child = [10, {"x": "deep"}]
"{0.real} {0.imag} {p.name} {p.child[1][x]}".format(z, p=P())
# case: format-specs
["{:5d}|{:<5}|{:^5}|{:+}|{:,}|{:_}|{:.3f}|{:e}|{:%}|{:b}|{:#x}|{:08.3f}|{:*^9}".format(42, "a", "b", 3, 1234567, 1234567, 2.0 / 3, 12345.6789, 0.256, 10, 255, 3.14159, "mid")]
# case: format-nested-spec
"{:{w}.{p}f}|{:>{}}".format(3.14159, "r", 4, w=8, p=2)
# case: format-map
"{a}-{b}".format_map({"a": 1, "b": 2})
# case: format-custom-dunder
class T:
    def __format__(self, spec): return f"<{spec or 'none'}>"
("{:abc}".format(T()), f"{T()}", format(T(), "x"), f"{T():{'dyn'}}")
# case: format-errors
out = []
for f in (lambda: "{}".format(), lambda: "{x}".format(), lambda: "{:d}".format("a"), lambda: "{".format(), lambda: "{0}{}".format(1)):
    try:
        f()
    except Exception as e:
        out.append((type(e).__name__, str(e)))
out
# case: repr-of-strings
[repr("a'b"), repr('a"b'), repr("a'\"b"), repr("\n\t\\"), repr("é\x00"), ascii("é☃")]
# case: encode-decode
("héé".encode(), "é".encode("latin-1"), b"\xc3\xa9".decode(), b"\xff".decode("utf-8", "replace"), "é".encode("ascii", "ignore"), "é".encode("ascii", "backslashreplace"))
# case: decode-error
b"\xff\xfe".decode("utf-8")
# case: bytes-operations
b = b"hello"
(b[0], b[1:3], b + b"!", b.hex(), bytes.fromhex("6869"), b"a,b".split(b","), list(b"ab"), bytes(3), bytes([65, 66]), b"h" in b)
# case: bytearray-operations
a = bytearray(b"abc")
a[0] = 90
a.append(33)
a += b"??"
del a[1]
a[1:2] = b"XY"
(a, bytes(a), a.decode(), len(a))
# case: memoryview-basics
m = memoryview(b"abcdef")
(m[2], bytes(m[1:3]), m.tolist(), len(m), bytes(m[::-1]))
# case: ord-chr
(ord("a"), chr(8364), [chr(ord(c) + 1) for c in "HAL"], ord("😀"))
# case: unicode-normalisation
import unicodedata
(unicodedata.normalize("NFC", "e\u0301") == "é", unicodedata.name("é"), len("👨‍👩‍👧"), unicodedata.category("1"))
# case: unicode-identifiers
é = 1
变量 = 2
ﬁ = 3
é + 变量 + fi
# case: string-methods-as-functions
(list(map(str.upper, "ab")), sorted(["b", "A", "c"], key=str.lower), str.join("-", ["a", "b"]), "".join(map(str, [1, 2])))
# case: str-of-things
[str(1), str(1.0), str(None), str([1, "a"]), str({"a": (1,)}), str(b"x"), str(b"x", "ascii"), str(True), str(...), str(range(3))]
# case: string-template
from string import Template, ascii_lowercase, digits
(Template("$a and ${b}!").substitute(a=1, b=2), Template("$x").safe_substitute(), ascii_lowercase[:3] + digits)
# case: textwrap-module
import textwrap
(textwrap.dedent("  a\n    b"), textwrap.fill("aaa bbb ccc", 7), textwrap.shorten("hello big world", 10), textwrap.indent("a\nb", "> "))
# case: regular-expressions
import re
m = re.search(r"(?P<y>\d{4})-(?P<m>\d\d)", "on 2024-05-06")
(m.group(0), m["y"], m.groups(), m.groupdict(), m.span(), re.sub(r"(\w)(\w)", r"\2\1", "abcd"), re.findall(r"\d+", "1 22 333"), re.split(r"[,;]\s*", "a, b;c"))
# case: regular-expression-callback
import re
re.sub(r"\d+", lambda m: str(int(m.group()) * 2), "a1b22"), [m.start() for m in re.finditer("a", "banana")], re.compile("x", re.I).match("X") is not None
# case: string-building-loop
s = ""
for i in range(10):
    s += str(i)
    if i % 3 == 0:
        s += "-"
s
# case: caesar-cipher
def shift(text, k):
    return "".join(chr((ord(c) - 97 + k) % 26 + 97) if c.islower() else c for c in text)
(shift("hello, world", 3), shift(shift("hello", 5), -5))
# case: palindromes
[w for w in ("level", "hello", "noon") if w == w[::-1]]
# case: str-subclass
class S(str):
    def __new__(cls, v, tag):
        o = super().__new__(cls, v)
        o.tag = tag
        return o
    def upper(self): return "UP:" + super().upper()
s = S("abc", 5)
(s, s.tag, s.upper(), s + "d", type(s + "d").__name__, s == "abc", {s: 1}["abc"])
# case: str-not-a-sequence-of-bytes
"a" + b"b"
# case: join-type-error
",".join([1, 2])
# case: format-map-positional
"{}".format_map({"a": 1})
# case: format-map-numbered
"{0}".format_map({"a": 1})
# case: format-map-without-argument
"abc".format_map()
# case: format-unbound-without-argument
str.format()
# case: format-unbound-of-a-number
str.format(5)
# case: format-attribute-of-automatic-field
class P: name = "n"; xs = [1, 2]
print("{.name} {[1]}".format(P(), [3, 4]))
# case: format-automatic-then-manual
"{} {0}".format(1)
# case: format-manual-then-automatic
"{0} {}".format(1)
# case: format-nested-too-deep
"{:{:{}}}".format(1, 2, 3)
# case: format-nested-fields
"{:{}.{}f} {:>{w}} {!r:^9}".format(3.14159, 8, 2, "a", "b", w=5)

# case: templates-of-many-kinds
templates = ["{}", "{:>5}|{:<5}", "{0!r:>8}{1}", "{1:{0}}", "{:0999}", "{:.3f}", "{{}}{}", "{a}{b:>3}",
             "{0}{}", "{", "}", "{!z}", "{:}}", "{0[1]}", "{0.real}", "{5}", "{:,}", "{:x}", "{a:d}", "{_}",
             "{a!s:.2}", "{:%}", "{:>1000}", "{ a}", "{:>{}}", "{0:{1}}", "{:>003.1f}"]
def shown(template, *values, **names):
    try:
        return template.format(*values, **names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
def mapped(template, names):
    try:
        return template.format_map(names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
class Named:
    def __format__(self, specification):
        return f"<{specification}>"
for template in templates:
    print(shown(template, 7, 12))
    print(shown(template, "ab", Named()))
    print(shown(template, a=3, b="x", _=None))
    print(mapped(template, {"a": "long", "b": 2.5, "_": True}))
print(shown("{}" * 3, *"abc"), shown("{x}", **{"x": None}), str.format("{}-{}", 1, 2), "{0}{0}".format("a" * 5000)[-1])
# case: format-nested-fields-with-specifications
("0x{:0{:d}X}".format(0, 16), "{:{w:>2}.{p!r}}".format(3.14159, w=8, p=3), "{0:{1}{2:s}}".format(5, "*>", "4"))
# case: format-nested-three-deep
"{:{:{}}}".format(1, 2, 3)
