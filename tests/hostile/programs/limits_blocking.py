# hostile: power-tower
# limit: one operation
10 ** 10 ** 8
# hostile: power-of-variables
# limit: one operation
a = 7 ** 1000
b = 10 ** 9
a ** b
# hostile: pow-builtin
# limit: one operation
pow(3, 10 ** 9)
# hostile: pow-augmented
# limit: one operation
n = 9
n **= 10 ** 9
# hostile: pow-operator-module
# limit: one operation
import operator
operator.pow(3, 10 ** 9)
# hostile: pow-dunder
# local: no operators called by the names of their methods are not in the table of sizes
# limit: one operation
(3).__pow__(10 ** 9)
# hostile: pow-in-map
# limit: one operation
list(map(pow, [3], [10 ** 9]))
# hostile: pow-in-reduce
# limit: one operation
from functools import reduce
reduce(pow, [9] * 12)
# hostile: pow-partial
# limit: one operation
from functools import partial
partial(pow, 3)(10 ** 9)
# hostile: math-prod-of-large
# limit: one operation
import math
math.prod(10 ** 4000 + i for i in range(10 ** 7))
# hostile: shift-left
# limit: one operation
1 << 10 ** 12
# hostile: shift-left-then-multiply
# limit: one operation
x = 1 << (8 * 10 ** 8)
x * x
# hostile: shift-augmented
# limit: one operation
x = 1
x <<= 10 ** 12
# hostile: shift-operator-module
# limit: one operation
import operator
operator.lshift(1, 10 ** 12)
# hostile: string-repeat
# limit: one operation
"a" * 10 ** 11
# hostile: bytes-repeat
# limit: one operation
b"a" * 10 ** 11
# hostile: list-repeat
# limit: one operation
[0] * 10 ** 10
# hostile: tuple-repeat
# limit: one operation
(0,) * 10 ** 10
# hostile: repeat-reflected
# limit: one operation
10 ** 10 * [0]
# hostile: repeat-augmented
# limit: one operation
a = [0]
a *= 10 ** 10
# hostile: repeat-operator-module
# limit: one operation
import operator
operator.mul([0], 10 ** 10)
# hostile: repeat-dunder
# local: no operators called by the names of their methods are not in the table of sizes
# limit: one operation
[0].__mul__(10 ** 10)
# hostile: repeat-nested
# limit: one operation
[[0] * 10 ** 5] * 10 ** 5 * 10 ** 5
# hostile: deque-repeat
# limit: one operation
from collections import deque
deque([0]) * 10 ** 9
# hostile: bytearray-of-size
# local: no one call of C, or of a library, that takes long or much
# limit: one operation
bytearray(10 ** 11)
# hostile: bytes-of-size
# local: no one call of C, or of a library, that takes long or much
# limit: one operation
bytes(10 ** 11)
# hostile: list-of-range
# local: no one call of C, or of a library, that takes long or much
# limit: one call
list(range(10 ** 12))
# hostile: sum-of-range
# local: no one call of C, or of a library, that takes long or much
# limit: one call
sum(range(10 ** 12))
# hostile: max-of-range
# local: no one call of C, or of a library, that takes long or much
# limit: one call
max(range(10 ** 12))
# hostile: in-endless-iterator
# local: no one call of C, or of a library, that takes long or much
# limit: one call
from itertools import count
-1 in count()
# hostile: in-long-map
# local: no one call of C, or of a library, that takes long or much
# limit: one call
-1 in map(abs, range(10 ** 12))
# hostile: list-of-count
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
list(itertools.count())
# hostile: set-of-count
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
set(itertools.count())
# hostile: tuple-of-cycle
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
tuple(itertools.cycle("ab"))
# hostile: dict-of-zip-of-count
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
dict(zip(itertools.count(), itertools.count()))
# hostile: sorted-of-count
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
sorted(itertools.count())
# hostile: max-of-cycle
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
max(itertools.cycle([1, 2]))
# hostile: any-of-repeat
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
any(itertools.repeat(0))
# hostile: all-of-count
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
all(itertools.count(1))
# hostile: join-of-repeat
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
"".join(itertools.repeat("x"))
# hostile: deque-of-count-with-maxlen
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools, collections
collections.deque(itertools.count(), maxlen=1)
# hostile: counter-of-cycle
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools, collections
collections.Counter(itertools.cycle("ab"))
# hostile: unpack-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
a, *b = itertools.count()
# hostile: star-call-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
print(*itertools.count())
# hostile: star-display-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
[*itertools.count()]
# hostile: star-in-set-display
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
{*itertools.count()}
# hostile: list-extend-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
a = []
a.extend(itertools.count())
# hostile: slice-assign-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
a = []
a[:] = itertools.count()
# hostile: augmented-list-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
a = []
a += itertools.count()
# hostile: list-of-product
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
list(itertools.product(range(100), repeat=8))
# hostile: list-of-permutations
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
list(itertools.permutations(range(20)))
# hostile: sum-of-combinations
# limit: one call
import itertools
sum(1 for _ in itertools.combinations(range(60), 12))
# hostile: product-eats-its-argument
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
itertools.product(itertools.count())
# hostile: islice-huge-skip
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
next(itertools.islice(itertools.count(), 10 ** 12, None))
# hostile: filter-never-yields
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
next(filter(None, itertools.repeat(0)))
# hostile: map-over-repeat
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
list(map(abs, itertools.repeat(1)))
# hostile: dropwhile-never-stops
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
next(itertools.dropwhile(bool, itertools.repeat(1)))
# hostile: groupby-one-group
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
[k for k, g in itertools.groupby(itertools.repeat(1))]
# hostile: zip-of-counts-in-list
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
list(zip(itertools.count(), itertools.count()))
# hostile: enumerate-of-repeat
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
max(enumerate(itertools.repeat(1)))
# hostile: min-over-chain-from-iterable
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
min(itertools.chain.from_iterable(itertools.repeat([1, 2])))
# hostile: accumulate-endless-in-list
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
list(itertools.accumulate(itertools.count()))
# hostile: starmap-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import itertools
sum(itertools.starmap(max, itertools.repeat((1, 2))))
# hostile: iter-sentinel-never
# local: no one call of C, or of a library, that takes long or much
# limit: one call
list(iter(int, 1))
# hostile: sum-of-iter-sentinel
# local: no one call of C, or of a library, that takes long or much
# limit: one call
sum(iter(int, 1))
# hostile: reduce-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
from functools import reduce
import itertools, operator
reduce(operator.or_, itertools.repeat(1))
# hostile: heapq-nlargest-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import heapq, itertools
heapq.nlargest(1, itertools.repeat(1))
# hostile: heapq-merge-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import heapq, itertools
sum(heapq.merge(itertools.repeat(1)))
# hostile: statistics-mean-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import statistics, itertools
statistics.mean(itertools.repeat(1))
# hostile: math-fsum-endless
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import math, itertools
math.fsum(itertools.repeat(1.0))
# hostile: math-factorial
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import math
math.factorial(10 ** 7)
# hostile: math-comb
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import math
math.comb(10 ** 8, 5 * 10 ** 7)
# hostile: math-perm
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import math
math.perm(10 ** 7, 5 * 10 ** 6)
# hostile: int-squares-and-str
# limit: one call
x = 10 ** 10 ** 5
while True:
    x = x * x
    str(x % 10 ** 4000)
# hostile: str-to-int
# limit: one call
int("1" * 10 ** 7, 32)
while True:
    int("1" * 10 ** 6, 32)
# hostile: repr-of-large-integer
# limit: one call
f"{3 ** (10 ** 8)}"
# hostile: percent-d-large
# limit: one call
"%d" % (7 ** (10 ** 8))
# hostile: pad-ljust
# limit: one call
"a".ljust(10 ** 11)
# hostile: pad-zfill
# limit: one call
"1".zfill(10 ** 11)
# hostile: pad-center
# limit: one call
"1".center(10 ** 11)
# hostile: format-width
# local: no one call of C, or of a library, that takes long or much
# limit: one call
format(1, "100000000000")
# hostile: fstring-width
# local: no one call of C, or of a library, that takes long or much
# limit: one call
f"{1:>100000000000}"
# hostile: str-format-width
# local: no one call of C, or of a library, that takes long or much
# limit: one call
"{:>100000000000}".format(1)
# hostile: percent-width
# local: no one call of C, or of a library, that takes long or much
# limit: one call
"%100000000000d" % 1
# hostile: percent-star-width
# local: no one call of C, or of a library, that takes long or much
# limit: one call
"%*d" % (10 ** 9 * 2, 1)
# hostile: float-precision
# local: no one call of C, or of a library, that takes long or much
# limit: one call
"%.2000000000f" % 1.5
# hostile: replace-blows-up
# limit: one call
("a" * 10 ** 5).replace("a", "b" * 10 ** 6)
# hostile: join-blows-up
# limit: one call
("x" * 10 ** 5).join(["y"] * 10 ** 6)
# hostile: translate-blows-up
# local: no one call of C, or of a library, that takes long or much
# limit: one call
("a" * 10 ** 5).translate({97: "b" * 10 ** 6})
# hostile: expandtabs
# limit: one call
("\t" * 1000).expandtabs(10 ** 8)
# hostile: re-sub-blows-up
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import re
re.sub("a", "b" * 10 ** 6, "a" * 10 ** 5)
# hostile: to-bytes-huge
# limit: one call
(1).to_bytes(10 ** 11, "big")
# hostile: random-sample-huge
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import random
random.sample(range(10 ** 12), 10 ** 9)
# hostile: random-choices-huge
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import random
random.choices([1, 2], k=10 ** 10)
# hostile: random-randbytes-huge
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import random
while True:
    random.randbytes(2 ** 27)
# hostile: random-getrandbits-huge
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import random
while True:
    random.getrandbits(2 ** 31 - 1)
# hostile: random-shuffle-many
# local: no one call of C, or of a library, that takes long or much
# limit: one call
import random
a = list(range(3 * 10 ** 5))
while True:
    random.shuffle(a)
# hostile: time-sleep
# limit: blocks
import time
time.sleep(1000)
# hostile: time-sleep-swallowed
# limit: blocks
import time
while True:
    try:
        time.sleep(1000)
    except BaseException:
        trip("woke")
# hostile: time-sleep-in-map
# limit: blocks
import time
list(map(time.sleep, [1000]))
# hostile: queue-get-blocks
# local: no one call of C, or of a library, that takes long or much
# limit: blocks
import queue
queue.Queue().get()
# hostile: queue-put-blocks
# local: no one call of C, or of a library, that takes long or much
# limit: blocks
import queue
q = queue.Queue(1)
q.put(1)
q.put(2)
# hostile: queue-join-blocks
# local: no one call of C, or of a library, that takes long or much
# limit: blocks
import queue
q = queue.Queue()
q.put(1)
q.join()
# hostile: queue-simple-get-blocks
# local: no one call of C, or of a library, that takes long or much
# limit: blocks
import queue
queue.SimpleQueue().get()
# hostile: decimal-power
# local: no decimal computes in C with a precision the program chooses
# limit: one call
import decimal
decimal.getcontext().prec = 10 ** 7
decimal.Decimal(3) ** decimal.Decimal("1234567.5")
# hostile: decimal-huge-precision-division
# local: no decimal computes in C with a precision the program chooses
# limit: one call
import decimal
with decimal.localcontext() as c:
    c.prec = 10 ** 7
    while True:
        decimal.Decimal(2).sqrt() / decimal.Decimal(7)
# hostile: decimal-exponent-to-integer
# local: no decimal computes in C with a precision the program chooses
# limit: one call
import decimal
int(decimal.Decimal("1e500000000"))
# hostile: fraction-power
# local: no the standard library's own code takes a power of integers in C
# limit: one call
from fractions import Fraction
Fraction(3, 2) ** (10 ** 8)
# hostile: fraction-from-exponent
# local: no the standard library's own code takes a power of integers in C
# limit: one call
from fractions import Fraction
Fraction("1e500000000")
# hostile: sort-large-repeatedly
# limit: operations
a = list(range(2 * 10 ** 5))
while True:
    sorted(a, key=lambda x: -x)
# hostile: sort-c-only-repeatedly
# limit: wall clock
a = list(range(2 * 10 ** 5, 0, -1))
while True:
    sorted(a, key=str)
# hostile: combinatorial-comprehension
# limit: operations
[a for a in range(10 ** 4) for b in range(10 ** 4) for c in range(10 ** 4)]
# hostile: list-compare-deep
# limit: wall clock
a = [0] * 10 ** 6
b = [0] * 10 ** 6
while True:
    a == b
# hostile: string-search-quadratic
# limit: wall clock
s = "a" * 10 ** 6
while True:
    s.count("a" * 1000 + "b")
# hostile: deepcopy-of-large
# local: no one call of C, or of a library, that takes long or much
# limit: wall clock
import copy
a = [[i] for i in range(10 ** 5)]
while True:
    copy.deepcopy(a)
# hostile: json-dumps-large-repeatedly
# limit: wall clock
import json
a = list(range(10 ** 5))
while True:
    json.dumps(a)
# hostile: hash-of-deep-tuple
# local: no one C call walks a tree of exponential size; nothing in-process can interrupt it
# limit: wall clock
t = ()
for i in range(40):
    t = (t, t)
hash(t)
# hostile: repr-of-shared-tree
# local: no one C call walks a tree of exponential size; nothing in-process can interrupt it
# limit: memory of a single call
t = []
for i in range(40):
    t = [t, t]
repr(t)
# hostile: compare-shared-trees
# local: no one C call walks a tree of exponential size; nothing in-process can interrupt it
# limit: wall clock
def tree():
    t = []
    for i in range(40):
        t = [t, t]
    return t
tree() == tree()
# hostile: pattern-backtracking
# local: no re matches in C, holding the interpreter lock, and nothing in-process can interrupt it
# limit: one call
import re
re.match(r"(a+)+$", "a" * 40 + "b")
# hostile: pattern-backtracking-search
# local: no re matches in C, holding the interpreter lock, and nothing in-process can interrupt it
# limit: one call
import re
re.findall(r"(x+x+)+y", "x" * 40)
# hostile: pattern-backtracking-split
# local: no re matches in C, holding the interpreter lock, and nothing in-process can interrupt it
# limit: one call
import re
re.split(r"(?:a|a)*b", "a" * 40)
# hostile: long-text-sought-from-the-end
# local: no looking from the end compares every place with all of the text, in one call of C
# limit: one call
("a" * 4 * 10 ** 6).rfind("ab" + "a" * 2 * 10 ** 6)
# hostile: marks-in-a-row-normalised
# local: no sorting the marks that follow one letter takes the square of their number, in one call of C
# limit: one call
import unicodedata
unicodedata.normalize("NFD", "a" + "\u0316\u0301" * 10 ** 6)
# hostile: textwrap-uses-patterns
# limit: wall clock
import textwrap
while True:
    textwrap.wrap("a-" * 10 ** 4, 10)
# hostile: repeat-of-a-list-that-lies
# limit: one operation
class Short(list):
    def __len__(self):
        return 0
Short([0]) * 10 ** 10
# hostile: repeat-by-a-count-that-lies
# limit: one operation
class Small(int):
    def __int__(self):
        return 0
    def __gt__(self, other):
        return False
[0] * Small(10 ** 10)
# hostile: repeat-dunder-of-an-own-list
# local: no operators called by the names of their methods are not in the table of sizes
# limit: one operation
class Own(list):
    pass
Own([0]).__mul__(10 ** 10)
# hostile: repeat-by-super
# local: no operators called by the names of their methods are not in the table of sizes
# limit: one operation
class Own(list):
    def grow(self):
        return super().__mul__(10 ** 10)
Own([0]).grow()
# hostile: power-dunder-of-an-own-integer
# local: no operators called by the names of their methods are not in the table of sizes
# limit: one operation
class Own(int):
    pass
Own(10).__pow__(10 ** 9)
# hostile: power-by-super
# local: no operators called by the names of their methods are not in the table of sizes
# limit: one operation
class Own(int):
    def grow(self):
        return super().__pow__(10 ** 9)
Own(10).grow()
# hostile: pad-by-super
# limit: one operation
class Own(str):
    def grow(self):
        return super().ljust(10 ** 11)
Own("a").grow()
# hostile: pad-of-a-width-that-lies
# limit: one operation
class Small(int):
    def __gt__(self, other):
        return False
    def __lt__(self, other):
        return True
"a".ljust(Small(10 ** 11))
# hostile: replace-by-a-text-that-lies
# limit: one operation
class Short(str):
    def __len__(self):
        return 0
("a" * 10 ** 6).replace("a", Short("b" * 10 ** 6))
# hostile: factorial-of-a-number-that-lies
# local: no one call of C, or of a library, that takes long or much
# limit: one operation
import math
class Small(int):
    def __gt__(self, other):
        return False
math.factorial(Small(10 ** 7))
# hostile: extend-by-itself-as-a-value
# local: no one call of C, or of a library, that takes long or much
# limit: memory
a = [1]
extend = a.extend
extend(iter(a))
# hostile: extend-by-itself-off-the-class
# local: no one call of C, or of a library, that takes long or much
# limit: memory
a = [1]
list.extend(a, iter(a))
# hostile: extend-by-itself-by-super
# local: no one call of C, or of a library, that takes long or much
# limit: memory
class Own(list):
    def grow(self):
        super().extend(iter(self))
Own([1]).grow()
# hostile: extend-by-itself-in-place
# local: no one call of C, or of a library, that takes long or much
# limit: memory
a = [1]
list.__iadd__(a, iter(a))
# hostile: array-extended-by-itself
# local: no one call of C, or of a library, that takes long or much
# imports: array
# limit: memory
from array import array
a = array("b", [1])
a.extend(iter(a))
# hostile: sum-by-a-method-doubles
# local: no operators called by the names of their methods are not in the table of sizes
# limit: memory
text, add = "a", str.__add__
while True:
    text = add(text, text)
# hostile: pack-of-many-bytes
# local: no one call of C, or of a library, that takes long or much
# imports: struct
# limit: one operation
import struct
struct.pack(f"{10 ** 11}x")
