# Exceptions that lead in a circle or very far, or whose message is large: the text of each is bounded. A program may
# be refused what leads there.
# case: its own cause
made = ValueError('a')
made.__cause__ = made
raise made
# case: its own context
made = ValueError('a')
made.__context__ = made
raise made
# case: causes in a circle
one, two = ValueError('a'), ValueError('b')
one.__cause__ = two
two.__cause__ = one
raise one
# case: contexts in a circle
one, two = ValueError('a'), ValueError('b')
one.__context__ = two
two.__context__ = one
raise one
# case: a traceback in a circle
try:
    1 / 0
except ZeroDivisionError as error:
    error.__traceback__.tb_next = error.__traceback__
    raise
# case: a traceback in a lasting circle
class Entry:
    pass
entry = Entry()
entry.tb_next = entry
entry.tb_frame = entry.tb_lineno = entry.tb_lasti = 1
class Circle(Exception):
    __traceback__ = entry
raise Circle
# case: causes without end
class Endless(Exception):
    @property
    def __cause__(self):
        return Endless()
raise Endless
# case: a long chain
last = None
for number in range(20_000):
    made = ValueError(number)
    made.__cause__ = last
    last = made
raise last
# case: nested handlers
def deeper(n):
    try:
        raise ValueError(n)
    except ValueError:
        if n == 0:
            raise
        deeper(n - 1)
deeper(60)
# case: a deep group
made = ValueError('innermost')
for _ in range(5_000):
    made = ExceptionGroup('group', [made])
raise made
# case: a wide group
raise ExceptionGroup('wide', [ValueError('x' * 1000) for _ in range(20_000)])
# case: a name that raises
class Kind(type):
    @property
    def __name__(cls):
        raise SystemExit(3)
class Odd(Exception, metaclass=Kind):
    pass
raise Odd
# case: a cause that raises
class Odd(Exception):
    @property
    def __cause__(self):
        raise SystemExit(3)
raise Odd
# case: a traceback that raises
class Odd(Exception):
    @property
    def __traceback__(self):
        raise SystemExit(3)
raise Odd
# case: attributes that raise
class Odd(Exception):
    def __getattribute__(self, name):
        raise SystemExit(3)
raise Odd
# case: a class that raises
class Odd(Exception):
    @property
    def __class__(self):
        raise SystemExit(3)
raise Odd
# case: a comparison that raises
class Odd(Exception):
    __hash__ = None
    def __eq__(self, other):
        raise SystemExit(3)
raise Odd
# case: a text that is none
class Text(str):
    def __str__(self):
        raise SystemExit(3)
    __format__ = __len__ = __str__
class Odd(Exception):
    def __str__(self):
        return Text('x')
raise Odd
# case: a text that exits in success
class Odd(Exception):
    def __str__(self):
        raise SystemExit
raise Odd
# case: a long message
raise ValueError('x' * 50_000_000)
# case: a long argument
raise KeyError('x' * 50_000_000)
# case: characters of four bytes
raise ValueError('\N{GRINNING FACE}' * 200_000)
# case: a text without end
class Endless(Exception):
    def __str__(self):
        while True:
            pass
raise Endless
# case: a number without a text
raise ValueError(10 ** 5000)
# case: long keys to compare
{'a' * 60_000: 1}['b' * 60_000]
# case: long keys that are nearly the same
text = 'abcdefgh' * 7_500
{text + str(n): 1 for n in range(50)}[text]
# case: long names to compare
class Many:
    pass
many = Many()
for number in range(2_000):
    setattr(many, f'name{number}' + 'x' * 500, 1)
many.name17
# case: names that are made when they are looked for
class Endless:
    def __dir__(self):
        while True:
            pass
Endless().missing
