"""Programs that stay in C, or in library code, for as long as they can; see test_overruns.py.

Each begins with :data:`IMPORTS`, and is to be stopped in-process, by whatever limit, soon after its
time is over. What nothing in-process stops is in :data:`GAPS`, with the words by which
docs/executors/local.md names it.
"""

from __future__ import annotations

MODULES = [
    "array", "asyncio", "bisect", "copy", "dataclasses", "difflib", "fractions", "functools",
    "hashlib", "heapq", "json", "operator", "pprint", "secrets", "string", "textwrap",
]  # fmt: skip
IMPORTS = (
    "import array, asyncio, bisect, collections, copy, dataclasses, datetime, difflib, fractions, "
    "functools, hashlib, heapq, itertools, json, math, operator, pprint, random, re, secrets, "
    "statistics, string, textwrap\n"
)

#: Name of a program, and the program.
PROGRAMS: dict[str, str] = {
    "sum-map-sum-repeat": ("sum(map(sum, itertools.repeat(range(10**6))))"),
    "any-map-sorted-repeat": (
        "x=list(range(10**5,0,-1))\nany(map(lambda y: sorted(x) and False, itertools.repeat(0)))"
    ),
    "any-filter-sorted": (
        "x=list(range(10**5))\nlist(filter(lambda v: not sorted(x, key=str), itertools.count()))"
    ),
    "deque-map-sorted": (
        "x=list(map(str,range(10**5)))\n"
        "collections.deque(map(sorted, itertools.repeat(x)), maxlen=0)"
    ),
    "max-map-len-str": ("x=10**20000\nmax(map(len, map(str, itertools.repeat(x))))"),
    "sum-map-tuple-repeat": ("max(map(len, map(tuple, itertools.repeat(range(10**6)))))"),
    "all-map-list": ("all(map(list, itertools.repeat(range(10**6))))"),
    "zip-map": (
        "x=range(10**6)\nfor _ in zip(map(sum, itertools.repeat(x)), itertools.count()): pass"
    ),
    "starmap-sum": ("x=range(10**6)\nmax(itertools.starmap(sum, itertools.repeat((x,))))"),
    "accumulate-sum": (
        "x=range(10**6)\nmax(itertools.accumulate(itertools.repeat(x), lambda a,b: sum(b)))"
    ),
    "reduce-sum": ("x=range(10**6)\nfunctools.reduce(lambda a,b: sum(b), itertools.repeat(x))"),
    "takewhile": ("x=range(10**6)\nmax(itertools.takewhile(lambda v: sum(x), itertools.count()))"),
    "dropwhile": ("x=range(10**6)\nnext(itertools.dropwhile(lambda v: sum(x), itertools.count()))"),
    "filterfalse": (
        "x=range(10**6)\nnext(itertools.filterfalse(lambda v: sum(x), itertools.count()))"
    ),
    "filter-sum-direct": ("next(filter(lambda r: not sum(r), itertools.repeat(range(10**6))))"),
    "groupby-key": (
        "x=range(10**6)\n"
        "for k,g in itertools.groupby(itertools.count(), key=lambda v: sum(x)): list(g)"
    ),
    "sorted-key-sum": ("x=range(10**6)\nsorted(range(10**5), key=lambda v: sum(x))"),
    "sorted-key-C": ("sorted([range(10**6)]*10**4, key=sum)"),
    "min-key-C": ("min([range(10**6)]*10**4, key=sum)"),
    "max-key-C": ("max([range(10**6)]*10**4, key=sum)"),
    "list-sort-key-C": ("x=[range(10**6)]*10**4\nx.sort(key=sum)"),
    "map-list-of-ranges": ("list(map(sum, [range(10**6)]*10**4))"),
    "set-map": ("set(map(sum, [range(10**6)]*10**4))"),
    "dict-map": ("dict(zip(range(10**4), map(sum, [range(10**6)]*10**4)))"),
    "listcomp-sum": ("[sum(r) for r in [range(10**6)]*10**4]"),
    "list-count": ("x=[0]*10**6\nany(map(x.count, itertools.repeat(1)))"),
    "list-index": ("x=[0]*10**6+[1]\nsum(map(x.index, itertools.repeat(1)))"),
    "str-count": ("s='a'*10**6\nsum(map(s.count, itertools.repeat('a')))"),
    "str-translate-big": ("s='a'*10**6\nd={97:'x'*10**5}\ns.translate(d)"),
    "str-translate-maketrans": ("s='a'*10**6\nd=str.maketrans({'a':'x'*10**5})\ns.translate(d)"),
    "str-translate-object": (
        "class D:\n    def __getitem__(self, k): return 'x'*10**5\n('a'*10**6).translate(D())"
    ),
    "any-map-append": ("a=[0]\nany(map(a.append, a))"),
    "extend-iter-self": ("a=[0]\na.extend(iter(a))"),
    "extend-map-self": ("a=[0]\na.extend(map(lambda x: x, a))"),
    "extend-gen-self": ("a=[0]\na.extend(x for x in a)"),
    "extend-chain-self": ("a=[0]\na.extend(itertools.chain(a))"),
    "iadd-iter-self": ("a=[0]\na+=iter(a)"),
    "iadd-reversed": ("a=[0]\na+=(x for x in a)"),
    "slice-assign-iter-self": ("a=[0]\na[:]=map(a.append, a)"),
    "for-append": ("a=[0]\nfor x in a: a.append(x)"),
    "for-append-bound": ("a=[0]\nf=a.append\nfor x in a: f(x)"),
    "for-extend": ("a=[0]\nfor x in a: a+=[x]"),
    "list-map-append": ("a=[0]\nlist(map(a.append, a))"),
    "set-map-append": ("a=[0]\nset(map(a.append, a))"),
    "all-map-append": ("a=[0]\nall(not x for x in map(a.append,a))"),
    "filter-append": ("a=[0]\nlist(filter(a.append, a))"),
    "filter-append-next": ("a=[0]\nnext(filter(a.append, a), None)"),
    "dict-fromkeys-feed": ("a=[0]\ndict.fromkeys(map(a.append, a))"),
    "deque-feed": (
        "d=collections.deque([0])\ncollections.deque(map(d.append, itertools.repeat(0)), maxlen=0)"
    ),
    "deque-extend-count": ("collections.deque().extend(itertools.count())"),
    "deque-extend-self": ("a=[0]\nd=collections.deque(maxlen=1)\nd.extend(map(a.append, a))"),
    "deque-extendleft-count": ("collections.deque(maxlen=5).extendleft(itertools.count())"),
    "set-update": ("s=set()\ns.update(itertools.count())"),
    "set-update-feed": ("a=[0]\ns=set()\ns.update(map(a.append, a))"),
    "set-union": ("set().union(itertools.count())"),
    "set-ior-feed": ("a=[0]\nset().intersection_update(map(a.append, a))"),
    "set-difference": ("a=[0]\nset([1]).difference(map(a.append, a))"),
    "set-issuperset": ("a=[0]\nset([None]).issuperset(map(a.append, a))"),
    "set-isdisjoint": ("a=[0]\nset([1]).isdisjoint(map(a.append, a))"),
    "set-symmetric": ("a=[0]\nset([1]).symmetric_difference(map(a.append, a))"),
    "frozenset-feed": ("a=[0]\nfrozenset(map(a.append, a))"),
    "dict-update": ("{}.update(zip(itertools.count(), itertools.count()))"),
    "dict-update-feed": ("a=[(0,0)]\n{}.update(map(lambda p: a.append(p) or p, a))"),
    "dict-init-feed": ("a=[(0,0)]\ndict(map(lambda p: a.append(p) or p, a))"),
    "dict-ior": ("d={}\nd |= zip(itertools.count(), itertools.count())"),
    "join-feed": ("a=['x']\n''.join(map(lambda p: a.append(p) or p, a))"),
    "bytes-join-feed": ("a=[b'x']\nb''.join(map(lambda p: a.append(p) or p, a))"),
    "bytes-feed": ("a=[0]\nbytes(map(lambda p: a.append(p) or p, a))"),
    "bytearray-feed": ("a=[0]\nbytearray(map(lambda p: a.append(p) or p, a))"),
    "bytearray-extend-feed": ("a=[0]\nbytearray().extend(map(lambda p: a.append(p) or p, a))"),
    "tuple-feed": ("a=[0]\ntuple(map(a.append, a))"),
    "sorted-feed": ("a=[0]\nsorted(map(a.append, a), key=id)"),
    "sum-feed": ("a=[0]\nsum(map(lambda x: a.append(x) or x, a))"),
    "min-feed": ("a=[0]\nmin(map(lambda x: a.append(x) or x, a))"),
    "enumerate-feed": ("a=[0]\nfor i,x in enumerate(a): a.append(x)"),
    "zip-feed": ("a=[0]\nfor x,_ in zip(a,a): a.append(x)"),
    "zip-feed-C": ("a=[0]\nlist(zip(a, map(a.append, a)))"),
    "chain-feed": (
        "a=[[]]\nlist(itertools.chain.from_iterable(map(lambda x: a.append(x) or x, a)))"
    ),
    "chain-fi-feed-C": (
        "a=[[]]\nf=a.append\nnext(itertools.chain.from_iterable(map(lambda x: f([]) or [], a)), 0)"
    ),
    "starmap-feed": ("a=[(0,)]\nlist(itertools.starmap(lambda x: a.append((x,)), a))"),
    "starmap-feed-C": ("a=[([],)]\nlist(itertools.starmap(a.append, a))"),
    "islice-feed": ("a=[0]\nlist(itertools.islice(map(a.append, a), 10**12))"),
    "islice-skip": ("a=[0]\nnext(itertools.islice(map(a.append, a), 10**12, None))"),
    "takewhile-feed": ("a=[0]\nlist(itertools.takewhile(lambda x: not a.append(x), a))"),
    "compress-feed": ("a=[0]\nlist(itertools.compress(map(a.append, a), itertools.repeat(0)))"),
    "pairwise-feed": ("a=[0,0]\nlist(itertools.pairwise(map(a.append, a)))"),
    "zip-longest-feed": ("a=[0]\nlist(itertools.zip_longest(map(a.append, a), [1]))"),
    "tee-feed": ("a=[0]\nx,y=itertools.tee(map(a.append, a))\nlist(x)"),
    "counter-feed": ("a=[0]\ncollections.Counter(map(lambda x: a.append(x) or x, a))"),
    "counter-feed-C": ("a=[0]\ncollections.Counter(map(a.append, a))"),
    "counter-update": ("a=[0]\ncollections.Counter().update(map(a.append, a))"),
    "ordereddict-feed": ("collections.OrderedDict(zip(itertools.count(), itertools.repeat(0)))"),
    "statistics-mean-feed": ("a=[0]\nstatistics.mean(map(lambda x: a.append(x) or x, a))"),
    "statistics-median-feed": ("a=[0]\nstatistics.median(map(lambda x: a.append(x) or x, a))"),
    "statistics-mode-feed": ("a=[0]\nstatistics.mode(map(a.append, a))"),
    "statistics-multimode": ("statistics.multimode(itertools.count())"),
    "statistics-fmean": ("statistics.fmean(itertools.count())"),
    "statistics-stdev-huge": ("statistics.stdev([10**5000+i for i in range(10**5)])"),
    "statistics-quantiles": ("statistics.quantiles(range(100), n=10**9)"),
    "statistics-normal-samples": ("statistics.NormalDist().samples(10**9)"),
    "statistics-median-range": (
        "statistics.median(range(10**6))\nfor i in range(1000): statistics.median(range(10**6))"
    ),
    "heapq-nsmallest": ("heapq.nsmallest(10**9, itertools.count())"),
    "heapq-merge-feed": ("a=[0]\nlist(heapq.merge(map(a.append, a), []))"),
    "heapq-key": ("heapq.nlargest(3, [range(10**6)]*10**4, key=sum)"),
    "bisect-key": (
        "x=range(10**6)\nfor i in range(10**6): bisect.bisect([1,2,3,4], 3, key=lambda v: sum(x))"
    ),
    "bisect-insort": ("x=[0]*10**6\nfor i in range(10**6): bisect.insort(x, 0, lo=0)"),
    "re-sub-callback": ("re.sub('a', lambda m: str(sum(range(10**6))), 'a'*10**5)"),
    "re-sub-callback-grow": ("re.sub('a', lambda m: 'x'*10**6, 'a'*10**5)"),
    "re-sub-template": ("re.sub('(a)', r'\\1'*10**4, 'a'*10**6)"),
    "re-sub-group-big": ("re.sub('(a+)', r'\\1'*10**5, 'a'*10**5)"),
    "json-cyclic": ("a=[]\na.append(a)\njson.dumps(a)"),
    "json-indent": ("json.dumps([[0]]*10**6, indent=10**6)"),
    "json-indent-str": ("json.dumps([0]*10**6, indent='x'*10**5)"),
    "json-separators": ("json.dumps([0]*10**6, separators=('x'*10**5, ':'))"),
    "json-default": ("json.dumps([object()], default=lambda o: [o, o])"),
    "json-default-endless": ("json.dumps([set()], default=lambda o: [set(), set()])"),
    "pow-mod-big": ("a=10**200000+1\npow(a, a, a)"),
    "pow-mod-map": ("a=3**60000\nlist(map(pow, [a]*10**3, [a]*10**3, [a+2]*10**3))"),
    "int-mul-big": ("a=3**300000\nfor i in range(10**6): a * a"),
    "int-str-limit": ("for i in range(10**6): str(10**4000)"),
    "int-str-large": ("while True: str(10**10**5)"),
    "int-str-hex": ("a=1<<900000\nfor i in range(10**6): hex(a)"),
    "math-gcd": ("a=3**600000; b=2**900000-1\nmath.gcd(a,b)"),
    "math-gcd-map": (
        "a=3**60000; b=2**90000-1\nsum(map(math.gcd, itertools.repeat(a), itertools.repeat(b)))"
    ),
    "math-lcm": ("a=1\nfor i in range(1,10**6): a=math.lcm(a, i)"),
    "math-lcm-args": ("math.lcm(*range(1, 10**6))"),
    "math-comb": ("math.comb(10**9, 5*10**8)"),
    "math-comb-mid": ("math.comb(10**6, 5*10**5)"),
    "math-perm": ("math.perm(10**9, 10**8)"),
    "math-factorial-mid": ("for i in range(10**6): math.factorial(70000)"),
    "math-prod": ("math.prod(range(1, 10**6))"),
    "math-prod-repeat": ("math.prod(itertools.repeat(1))"),
    "math-fsum": ("math.fsum(itertools.repeat(0.1))"),
    "fractions-grow": ("f=fractions.Fraction(1,3)\nfor i in range(10**6): f = f*f+f"),
    "bytes-growth": ("b=b'x'\nwhile True: b=b+b"),
    "bytearray-growth": ("b=bytearray(b'x')\nwhile True: b+=b"),
    "bytearray-imul": ("b=bytearray(b'x')\nb*=10**11"),
    "bytearray-extend-self": ("b=bytearray(b'x')\nwhile True: b.extend(b)"),
    "bytearray-del": ("b=bytearray(10**7)\nb[0:0]=b\nwhile True: b[0:0]=b"),
    "list-slice-self": ("b=[0]\nwhile True: b[0:0]=b"),
    "list-slice-step": ("b=[0]*10**6\nfor i in range(10**6): b[::-1]"),
    "format-width": ("'{:>1000000000}'.format(1)"),
    "format-width-nested": ("'{:>{w}}'.format(1, w=10**10)"),
    "format-width-bound": ("f='{:>{}}'.format\nf(1, 10**10)"),
    "format-many": ("('{0:>9999}'*10**5).format(1)"),
    "format-repeat-arg": ("('{0}'*10**6).format('x'*10**4)"),
    "format-map-repeat": ("('{a}'*10**6).format_map({'a':'x'*10**4})"),
    "percent-repeat": ("('%s'*10**5) % (('x'*10**5,)*10**5)"),
    "percent-repeat-map": ("('%(a)s'*10**6) % {'a': 'x'*10**5}"),
    "percent-width": ("'%1000000000d' % 1"),
    "percent-prec": ("'%.1000000000f' % 1.0"),
    "percent-width-many": ("('%9999d'*10**5) % ((1,)*10**5)"),
    "percent-bytes": ("b'%1000000000d' % 1"),
    "fstring-width": ("w=10**10\nf'{1:>{w}}'"),
    "fstring-prec": ("w=10**10\nf'{1.0:.{w}f}'"),
    "format-builtin": ("format(1.0, '.1000000000f')"),
    "textwrap-wrap": ("textwrap.wrap('a '*10**6, 10)"),
    "difflib-ratio": (
        "difflib.SequenceMatcher(None, 'ab'*10**4, 'ba'*10**4, autojunk=False).ratio()"
    ),
    "difflib-close": ("difflib.get_close_matches('a'*10**4, ['a'*10**4+'b']*10**4)"),
    "difflib-ndiff": (
        "list(difflib.ndiff(['ab'*100+str(i) for i in range(2000)], ['ab'*100+str(-i) "
        "for i in range(2000)]))"
    ),
    "difflib-unified": (
        "list(difflib.unified_diff([str(i) for i in range(10**5)], [str(-i) for i in "
        "range(10**5)]))"
    ),
    "deepcopy-large": ("a=[[0] for _ in range(10**5)]\nfor i in range(10**6): copy.deepcopy(a)"),
    "deepcopy-one-large": (
        "a=[[[]]*100 for _ in range(10**5)]\n"
        "b=[list(x) for x in a]\n"
        "copy.deepcopy([b,[list(x) for x in a],[list(x) for x in a]])"
    ),
    "deepcopy-tuple-shared": ("a=(0,)\nfor i in range(40): a=(a,a)\ncopy.deepcopy(a)"),
    "asdict-shared": (
        "@dataclasses.dataclass\n"
        "class P:\n"
        "    x: object\n"
        "    y: object\n"
        "p=P(0,0)\n"
        "for i in range(40): p=P(p,p)\n"
        "dataclasses.asdict(p)"
    ),
    "astuple-shared": (
        "@dataclasses.dataclass\n"
        "class P:\n"
        "    x: object\n"
        "    y: object\n"
        "p=P(0,0)\n"
        "for i in range(40): p=P(p,p)\n"
        "dataclasses.astuple(p)"
    ),
    "dataclass-repr-shared": (
        "@dataclasses.dataclass\n"
        "class P:\n"
        "    x: object\n"
        "    y: object\n"
        "p=P(0,0)\n"
        "for i in range(40): p=P(p,p)\n"
        "repr(p)"
    ),
    "dataclass-eq-shared": (
        "@dataclasses.dataclass\n"
        "class P:\n"
        "    x: object\n"
        "    y: object\n"
        "p=P(0,0); q=P(0,0)\n"
        "for i in range(40): p=P(p,p); q=P(q,q)\n"
        "p==q"
    ),
    "product-memory": ("list(itertools.product(range(10**3), repeat=3))"),
    "permutations-memory": ("list(itertools.permutations(range(12)))"),
    "combinations-args": ("list(itertools.combinations(range(10**6), 10**5))"),
    "random-choices": ("random.choices([1], k=10**9)"),
    "random-randbytes": ("random.randbytes(10**10)"),
    "random-getrandbits": ("random.getrandbits(10**10)"),
    "int-hash-collide-set": ("M=2**61-1\nset(map(M.__mul__, range(10**5)))"),
    "sum-lists": ("sum([[0]]*10**5, [])"),
    "sum-lists-big": ("sum([[0]*10**4]*10**4, [])"),
    "sum-tuples": ("sum([(0,)]*10**5, ())"),
    "functools-cmp": (
        "sorted(range(10**6), key=functools.cmp_to_key(lambda a,b: sum(range(10**5))))"
    ),
    "partial-repeat": ("f=functools.partial(sum, range(10**6))\nlist(iter(f, 1))"),
    "iter-callable": ("list(iter(lambda: sum(range(10**6)), 1))"),
    "operator-methodcaller": (
        "x=[0]*10**6\nany(map(operator.methodcaller('count', 1), itertools.repeat(x)))"
    ),
    "operator-contains": (
        "x=[0]*10**6\nany(map(operator.contains, itertools.repeat(x), itertools.repeat(1)))"
    ),
    "operator-concat": (
        "x=[0]*10**6\nmax(map(len, map(operator.concat, itertools.repeat(x), itertools.repeat(x))))"
    ),
    "operator-iconcat": ("x=[0]\nfunctools.reduce(operator.iconcat, itertools.repeat(x))"),
    "operator-add-reduce": ("functools.reduce(operator.add, itertools.repeat('x'))"),
    "list-add-method": ("x=[0]*10**6\nmax(map(len, map(x.__add__, itertools.repeat(x))))"),
    "list-mul-method": ("list(map([0].__mul__, itertools.repeat(10**6)))"),
    "del-loop": (
        "class D:\n    def __del__(s):\n        while True: pass\nfor i in range(1000): D()"
    ),
    "exit-true": (
        "class C:\n"
        "    def __enter__(s): pass\n"
        "    def __exit__(s,*a): return True\n"
        "while True:\n"
        "    with C():\n"
        "        while True: pass"
    ),
    "exception-group": (
        "while True:\n    try:\n        while True: pass\n    except* BaseException: pass"
    ),
    "lambda-recursion": ("f=lambda n: f(n-1)+f(n-1) if n else 1\nf(200)"),
    "property-chain": (
        "class A:\n"
        "    @property\n"
        "    def p(s):\n"
        "        return s.p and s.p\n"
        "while True:\n"
        "    try: A().p\n"
        "    except RecursionError: pass"
    ),
    "strptime": ("datetime.datetime.strptime('1'*10**5, '%d'*10**5)"),
    "star-call": ("max(*[range(10**6)]*10**4, key=sum)"),
    "str-join-list-big": ("','.join(['x'*10**6]*10**6)"),
    "int-to-bytes": ("(1).to_bytes(10**10, 'big')"),
    "int-digits-sum": ("sum(map(int, str(3**8000)))\nwhile True: sum(map(int, str(3**8000)))"),
    "list-big-loop": ("while True: list(range(999999))"),
    "list-big-map": ("max(map(len, map(list, itertools.repeat(range(999999)))))"),
    "count-in": ("10**12 in itertools.count()"),
    "index-count": ("operator.indexOf(itertools.count(), -1)"),
    "countOf": ("operator.countOf(itertools.repeat(0), 1)"),
    "getitem-seq": ("class L:\n    def __getitem__(s,i): return i\nlist(L())\n"),
    "getitem-seq-sum": ("class L:\n    def __getitem__(s,i): return sum(range(10**6))\nsum(L())"),
    "contains-getitem": ("class L:\n    def __getitem__(s,i): return 0\n1 in L()"),
    "unpack-feed": ("a=[0]\nx,*y=map(a.append, a)"),
    "star-feed": ("a=[0]\n[*map(a.append, a)]"),
    "call-star-feed": ("a=[0]\nprint(*map(a.append, a))"),
    "deque-rotate": ("d=collections.deque([0]*10**6)\nfor i in range(10**6): d.rotate(5*10**5)"),
    "deque-iadd": ("d=collections.deque([0])\nd+=itertools.count()"),
    "deque-iadd-self": ("d=collections.deque([0])\nwhile True: d+=d"),
    "deque-mul": ("collections.deque([0])*10**10"),
    "counter-elements": ("list(collections.Counter({'a':10**10}).elements())"),
    "gen-heavy": ("def g():\n    while True: yield sum(range(10**6))\nmax(g())"),
    "genexp-heavy": ("max(sum(range(10**6)) for _ in itertools.count())"),
    "gen-from-C": ("def g():\n    yield from map(sum, itertools.repeat(range(10**6)))\nmax(g())"),
    "yield-from-count": ("def g():\n    yield from itertools.count()\nmax(g())"),
    "async-heavy": (
        "import asyncio\nasync def f():\n    while True: sum(range(10**6))\nasyncio.run(f())"
    ),
    "async-gather": (
        "import asyncio\n"
        "async def f():\n"
        "    while True: await asyncio.sleep(0)\n"
        "async def m(): await asyncio.gather(*[f() for _ in range(10**4)])\n"
        "asyncio.run(m())"
    ),
    "textwrap-indent": ("textwrap.indent('a\\n'*10**6, 'x'*10**6)"),
    "textwrap-tabs": ("textwrap.wrap('\\t'*10**4, tabsize=10**6)"),
    "textwrap-fill-indent": ("textwrap.fill('a '*10**6, width=2, subsequent_indent='x'*10**5)"),
    "string-template": ("string.Template('$a'*10**6).substitute(a='x'*10**6)"),
    "string-template-safe": ("string.Template('$a'*10**6).safe_substitute({'a': 'x'*10**6})"),
    "match-expand": ("re.match('(a+)', 'a'*10**6).expand(r'\\1'*10**4)"),
    "pprint-indent": ("pprint.pformat([[0]*100]*1000, indent=10**9)"),
    "pprint-many": ("pprint.pformat(list(range(10**7)))"),
    "pbkdf2-iterations": ("hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)"),
    "pbkdf2-length": ("hashlib.pbkdf2_hmac('sha256', b'a', b'b', 1, dklen=2**31-1)"),
    "scrypt": ("hashlib.scrypt(b'a', salt=b'b', n=2**24, r=8, p=1, maxmem=2**35)"),
    "secrets-hex": ("secrets.token_hex(10**9)"),
    "secrets-bits": ("secrets.randbits(10**10)"),
    "array-times": ("array.array('b', [0]) * 10**10"),
    "array-doubles": ("a = array.array('b', [0])\nwhile True: a = a + a"),
    "array-doubles-in-place": ("a = array.array('b', [0])\nwhile True: a += a"),
    "pow-mod-long": ("a=3**30000\nfor i in range(10**6): pow(a, a, a+2)"),
    "product-of-many": ("next(itertools.product(range(10), repeat=10**8))"),
    "tee-many": ("itertools.tee([1], 10**9)"),
    "round-negative": ("round(10**5, -10**9)"),
}

#: What holds one call of C code: words of the documentation, and a program.
GAPS: dict[str, str] = {
    "a catastrophic regular expression": "re.match(r'(a+)+$', 'a' * 40 + 'b')",
    "printing, comparing, hashing or encoding a deeply shared": (
        "x = [0]\nfor i in range(40):\n    x = [x, x]\nrepr(x)"
    ),
    "powers of fractions": "fractions.Fraction(3, 7) ** 10**8",
}
