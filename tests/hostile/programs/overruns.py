# Programs that stay in C, or in library code, for as long as they can.
# imports: array, asyncio, bisect, copy, dataclasses, difflib, fractions, functools, hashlib, heapq, json, operator, pprint, secrets, string, textwrap
# limit: it stays in C or in library code
# ends: quietly what it does may be over within its time
import array, asyncio, bisect, collections, copy, dataclasses, datetime, difflib, fractions, functools, hashlib, heapq, itertools, json, math, operator, pprint, random, re, secrets, statistics, string, textwrap
# hostile: sum-map-sum-repeat
# local: no one call of C, or of a library, that takes long or much
sum(map(sum, itertools.repeat(range(10**6))))
# hostile: any-map-sorted-repeat
x=list(range(10**5,0,-1))
any(map(lambda y: sorted(x) and False, itertools.repeat(0)))
# hostile: any-filter-sorted
x=list(range(10**5))
list(filter(lambda v: not sorted(x, key=str), itertools.count()))
# hostile: deque-map-sorted
# local: no one call of C, or of a library, that takes long or much
x=list(map(str,range(10**5)))
collections.deque(map(sorted, itertools.repeat(x)), maxlen=0)
# hostile: max-map-len-str
# weak: plain CPython ends it itself, or not the same way every time
x=10**20000
max(map(len, map(str, itertools.repeat(x))))
# hostile: sum-map-tuple-repeat
# local: no one call of C, or of a library, that takes long or much
max(map(len, map(tuple, itertools.repeat(range(10**6)))))
# hostile: all-map-list
# local: no one call of C, or of a library, that takes long or much
all(map(list, itertools.repeat(range(10**6))))
# hostile: zip-map
x=range(10**6)
for _ in zip(map(sum, itertools.repeat(x)), itertools.count()): pass
# hostile: starmap-sum
# local: no one call of C, or of a library, that takes long or much
x=range(10**6)
max(itertools.starmap(sum, itertools.repeat((x,))))
# hostile: accumulate-sum
# weak: plain CPython ends it itself, or not the same way every time
x=range(10**6)
max(itertools.accumulate(itertools.repeat(x), lambda a,b: sum(b)))
# hostile: reduce-sum
x=range(10**6)
functools.reduce(lambda a,b: sum(b), itertools.repeat(x))
# hostile: takewhile
x=range(10**6)
max(itertools.takewhile(lambda v: sum(x), itertools.count()))
# hostile: dropwhile
x=range(10**6)
next(itertools.dropwhile(lambda v: sum(x), itertools.count()))
# hostile: filterfalse
x=range(10**6)
next(itertools.filterfalse(lambda v: sum(x), itertools.count()))
# hostile: filter-sum-direct
next(filter(lambda r: not sum(r), itertools.repeat(range(10**6))))
# hostile: groupby-key
x=range(10**6)
for k,g in itertools.groupby(itertools.count(), key=lambda v: sum(x)): list(g)
# hostile: sorted-key-sum
x=range(10**6)
sorted(range(10**5), key=lambda v: sum(x))
# hostile: sorted-key-C
# local: no one call of C, or of a library, that takes long or much
sorted([range(10**6)]*10**4, key=sum)
# hostile: min-key-C
# local: no one call of C, or of a library, that takes long or much
min([range(10**6)]*10**4, key=sum)
# hostile: max-key-C
# local: no one call of C, or of a library, that takes long or much
max([range(10**6)]*10**4, key=sum)
# hostile: list-sort-key-C
# local: no one call of C, or of a library, that takes long or much
x=[range(10**6)]*10**4
x.sort(key=sum)
# hostile: map-list-of-ranges
# local: no one call of C, or of a library, that takes long or much
list(map(sum, [range(10**6)]*10**4))
# hostile: set-map
# local: no one call of C, or of a library, that takes long or much
set(map(sum, [range(10**6)]*10**4))
# hostile: dict-map
# local: no one call of C, or of a library, that takes long or much
dict(zip(range(10**4), map(sum, [range(10**6)]*10**4)))
# hostile: listcomp-sum
[sum(r) for r in [range(10**6)]*10**4]
# hostile: list-count
# local: no one call of C, or of a library, that takes long or much
x=[0]*10**6
any(map(x.count, itertools.repeat(1)))
# hostile: list-index
# local: no one call of C, or of a library, that takes long or much
x=[0]*10**6+[1]
sum(map(x.index, itertools.repeat(1)))
# hostile: str-count
# local: no one call of C, or of a library, that takes long or much
s='a'*10**6
sum(map(s.count, itertools.repeat('a')))
# hostile: str-translate-big
# local: no one call of C, or of a library, that takes long or much
s='a'*10**6
d={97:'x'*10**5}
s.translate(d)
# hostile: str-translate-maketrans
# local: no one call of C, or of a library, that takes long or much
s='a'*10**6
d=str.maketrans({'a':'x'*10**5})
s.translate(d)
# hostile: str-translate-object
class D:
    def __getitem__(self, k): return 'x'*10**5
('a'*10**6).translate(D())
# hostile: any-map-append
# local: no one call of C, or of a library, that takes long or much
a=[0]
any(map(a.append, a))
# hostile: extend-iter-self
# local: no one call of C, or of a library, that takes long or much
a=[0]
a.extend(iter(a))
# hostile: extend-map-self
# local: no one call of C, or of a library, that takes long or much
a=[0]
a.extend(map(lambda x: x, a))
# hostile: extend-gen-self
a=[0]
a.extend(x for x in a)
# hostile: extend-chain-self
# local: no one call of C, or of a library, that takes long or much
a=[0]
a.extend(itertools.chain(a))
# hostile: iadd-iter-self
# local: no one call of C, or of a library, that takes long or much
a=[0]
a+=iter(a)
# hostile: iadd-reversed
a=[0]
a+=(x for x in a)
# hostile: slice-assign-iter-self
# local: no one call of C, or of a library, that takes long or much
a=[0]
a[:]=map(a.append, a)
# hostile: for-append
a=[0]
for x in a: a.append(x)
# hostile: for-append-bound
a=[0]
f=a.append
for x in a: f(x)
# hostile: for-extend
a=[0]
for x in a: a+=[x]
# hostile: list-map-append
# local: no one call of C, or of a library, that takes long or much
a=[0]
list(map(a.append, a))
# hostile: set-map-append
# local: no one call of C, or of a library, that takes long or much
a=[0]
set(map(a.append, a))
# hostile: all-map-append
a=[0]
all(not x for x in map(a.append,a))
# hostile: filter-append
# local: no one call of C, or of a library, that takes long or much
a=[0]
list(filter(a.append, a))
# hostile: filter-append-next
# local: no one call of C, or of a library, that takes long or much
a=[0]
next(filter(a.append, a), None)
# hostile: dict-fromkeys-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
dict.fromkeys(map(a.append, a))
# hostile: deque-feed
# local: no one call of C, or of a library, that takes long or much
d=collections.deque([0])
collections.deque(map(d.append, itertools.repeat(0)), maxlen=0)
# hostile: deque-extend-count
# local: no one call of C, or of a library, that takes long or much
collections.deque().extend(itertools.count())
# hostile: deque-extend-self
# local: no one call of C, or of a library, that takes long or much
a=[0]
d=collections.deque(maxlen=1)
d.extend(map(a.append, a))
# hostile: deque-extendleft-count
# local: no one call of C, or of a library, that takes long or much
collections.deque(maxlen=5).extendleft(itertools.count())
# hostile: set-update
# local: no one call of C, or of a library, that takes long or much
s=set()
s.update(itertools.count())
# hostile: set-update-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
s=set()
s.update(map(a.append, a))
# hostile: set-union
# local: no one call of C, or of a library, that takes long or much
set().union(itertools.count())
# hostile: set-ior-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
set().intersection_update(map(a.append, a))
# hostile: set-difference
# local: no one call of C, or of a library, that takes long or much
a=[0]
set([1]).difference(map(a.append, a))
# hostile: set-issuperset
# local: no one call of C, or of a library, that takes long or much
a=[0]
set([None]).issuperset(map(a.append, a))
# hostile: set-isdisjoint
# local: no one call of C, or of a library, that takes long or much
a=[0]
set([1]).isdisjoint(map(a.append, a))
# hostile: set-symmetric
# local: no one call of C, or of a library, that takes long or much
a=[0]
set([1]).symmetric_difference(map(a.append, a))
# hostile: frozenset-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
frozenset(map(a.append, a))
# hostile: dict-update
# local: no one call of C, or of a library, that takes long or much
{}.update(zip(itertools.count(), itertools.count()))
# hostile: dict-update-feed
a=[(0,0)]
{}.update(map(lambda p: a.append(p) or p, a))
# hostile: dict-init-feed
a=[(0,0)]
dict(map(lambda p: a.append(p) or p, a))
# hostile: dict-ior
# local: no one call of C, or of a library, that takes long or much
d={}
d |= zip(itertools.count(), itertools.count())
# hostile: join-feed
a=['x']
''.join(map(lambda p: a.append(p) or p, a))
# hostile: bytes-join-feed
a=[b'x']
b''.join(map(lambda p: a.append(p) or p, a))
# hostile: bytes-feed
a=[0]
bytes(map(lambda p: a.append(p) or p, a))
# hostile: bytearray-feed
a=[0]
bytearray(map(lambda p: a.append(p) or p, a))
# hostile: bytearray-extend-feed
a=[0]
bytearray().extend(map(lambda p: a.append(p) or p, a))
# hostile: tuple-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
tuple(map(a.append, a))
# hostile: sorted-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
sorted(map(a.append, a), key=id)
# hostile: sum-feed
a=[0]
sum(map(lambda x: a.append(x) or x, a))
# hostile: min-feed
a=[0]
min(map(lambda x: a.append(x) or x, a))
# hostile: enumerate-feed
a=[0]
for i,x in enumerate(a): a.append(x)
# hostile: zip-feed
a=[0]
for x,_ in zip(a,a): a.append(x)
# hostile: zip-feed-C
# local: no one call of C, or of a library, that takes long or much
a=[0]
list(zip(a, map(a.append, a)))
# hostile: chain-feed
a=[[]]
list(itertools.chain.from_iterable(map(lambda x: a.append(x) or x, a)))
# hostile: chain-fi-feed-C
a=[[]]
f=a.append
next(itertools.chain.from_iterable(map(lambda x: f([]) or [], a)), 0)
# hostile: starmap-feed
a=[(0,)]
list(itertools.starmap(lambda x: a.append((x,)), a))
# hostile: starmap-feed-C
# weak: plain CPython ends it itself, or not the same way every time
a=[([],)]
list(itertools.starmap(a.append, a))
# hostile: islice-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
list(itertools.islice(map(a.append, a), 10**12))
# hostile: islice-skip
# local: no one call of C, or of a library, that takes long or much
a=[0]
next(itertools.islice(map(a.append, a), 10**12, None))
# hostile: takewhile-feed
a=[0]
list(itertools.takewhile(lambda x: not a.append(x), a))
# hostile: compress-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
list(itertools.compress(map(a.append, a), itertools.repeat(0)))
# hostile: pairwise-feed
# local: no one call of C, or of a library, that takes long or much
a=[0,0]
list(itertools.pairwise(map(a.append, a)))
# hostile: zip-longest-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
list(itertools.zip_longest(map(a.append, a), [1]))
# hostile: tee-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
x,y=itertools.tee(map(a.append, a))
list(x)
# hostile: counter-feed
a=[0]
collections.Counter(map(lambda x: a.append(x) or x, a))
# hostile: counter-feed-C
# local: no one call of C, or of a library, that takes long or much
a=[0]
collections.Counter(map(a.append, a))
# hostile: counter-update
# local: no one call of C, or of a library, that takes long or much
a=[0]
collections.Counter().update(map(a.append, a))
# hostile: ordereddict-feed
# local: no one call of C, or of a library, that takes long or much
collections.OrderedDict(zip(itertools.count(), itertools.repeat(0)))
# hostile: statistics-mean-feed
a=[0]
statistics.mean(map(lambda x: a.append(x) or x, a))
# hostile: statistics-median-feed
a=[0]
statistics.median(map(lambda x: a.append(x) or x, a))
# hostile: statistics-mode-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
statistics.mode(map(a.append, a))
# hostile: statistics-multimode
# local: no one call of C, or of a library, that takes long or much
statistics.multimode(itertools.count())
# hostile: statistics-fmean
# local: no one call of C, or of a library, that takes long or much
statistics.fmean(itertools.count())
# hostile: statistics-stdev-huge
statistics.stdev([10**5000+i for i in range(10**5)])
# hostile: statistics-quantiles
# local: no one call of C, or of a library, that takes long or much
statistics.quantiles(range(100), n=10**9)
# hostile: statistics-normal-samples
# local: no one call of C, or of a library, that takes long or much
statistics.NormalDist().samples(10**9)
# hostile: statistics-median-range
statistics.median(range(10**6))
for i in range(1000): statistics.median(range(10**6))
# hostile: heapq-nsmallest
# local: no one call of C, or of a library, that takes long or much
heapq.nsmallest(10**9, itertools.count())
# hostile: heapq-merge-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
list(heapq.merge(map(a.append, a), []))
# hostile: heapq-key
# local: no one call of C, or of a library, that takes long or much
heapq.nlargest(3, [range(10**6)]*10**4, key=sum)
# hostile: bisect-key
x=range(10**6)
for i in range(10**6): bisect.bisect([1,2,3,4], 3, key=lambda v: sum(x))
# hostile: bisect-insort
x=[0]*10**6
for i in range(10**6): bisect.insort(x, 0, lo=0)
# hostile: re-sub-callback
re.sub('a', lambda m: str(sum(range(10**6))), 'a'*10**5)
# hostile: re-sub-callback-grow
# local: no one call of C, or of a library, that takes long or much
re.sub('a', lambda m: 'x'*10**6, 'a'*10**5)
# hostile: re-sub-template
# local: no one call of C, or of a library, that takes long or much
re.sub('(a)', r'\1'*10**4, 'a'*10**6)
# hostile: re-sub-group-big
# local: no one call of C, or of a library, that takes long or much
re.sub('(a+)', r'\1'*10**5, 'a'*10**5)
# hostile: json-cyclic
# weak: plain CPython ends it itself, or not the same way every time
a=[]
a.append(a)
json.dumps(a)
# hostile: json-indent
# local: no one call of C, or of a library, that takes long or much
json.dumps([[0]]*10**6, indent=10**6)
# hostile: json-indent-str
# local: no one call of C, or of a library, that takes long or much
json.dumps([0]*10**6, indent='x'*10**5)
# hostile: json-separators
# local: no one call of C, or of a library, that takes long or much
json.dumps([0]*10**6, separators=('x'*10**5, ':'))
# hostile: json-default
# weak: plain CPython ends it itself, or not the same way every time
json.dumps([object()], default=lambda o: [o, o])
# hostile: json-default-endless
# weak: plain CPython ends it itself, or not the same way every time
json.dumps([set()], default=lambda o: [set(), set()])
# hostile: pow-mod-big
a=10**200000+1
pow(a, a, a)
# hostile: pow-mod-map
# local: no one call of C, or of a library, that takes long or much
a=3**60000
list(map(pow, [a]*10**3, [a]*10**3, [a+2]*10**3))
# hostile: int-mul-big
a=3**300000
for i in range(10**6): a * a
# hostile: int-str-limit
for i in range(10**6): str(10**4000)
# hostile: int-str-large
# weak: plain CPython ends it itself, or not the same way every time
while True: str(10**10**5)
# hostile: int-str-hex
a=1<<900000
for i in range(10**6): hex(a)
# hostile: math-gcd
a=3**600000; b=2**900000-1
math.gcd(a,b)
# hostile: math-gcd-map
# local: no one call of C, or of a library, that takes long or much
a=3**60000; b=2**90000-1
sum(map(math.gcd, itertools.repeat(a), itertools.repeat(b)))
# hostile: math-lcm
a=1
for i in range(1,10**6): a=math.lcm(a, i)
# hostile: math-lcm-args
# local: no one call of C, or of a library, that takes long or much
math.lcm(*range(1, 10**6))
# hostile: math-comb
# local: no one call of C, or of a library, that takes long or much
math.comb(10**9, 5*10**8)
# hostile: math-comb-mid
# local: no one call of C, or of a library, that takes long or much
math.comb(10**6, 5*10**5)
# hostile: math-perm
# local: no one call of C, or of a library, that takes long or much
math.perm(10**9, 10**8)
# hostile: math-factorial-mid
for i in range(10**6): math.factorial(70000)
# hostile: math-prod
# local: no one call of C, or of a library, that takes long or much
math.prod(range(1, 10**6))
# hostile: math-prod-repeat
# local: no one call of C, or of a library, that takes long or much
math.prod(itertools.repeat(1))
# hostile: math-fsum
# local: no one call of C, or of a library, that takes long or much
math.fsum(itertools.repeat(0.1))
# hostile: fractions-grow
# local: no one call of C, or of a library, that takes long or much
f=fractions.Fraction(1,3)
for i in range(10**6): f = f*f+f
# hostile: bytes-growth
# local: no one call of C, or of a library, that takes long or much
b=b'x'
while True: b=b+b
# hostile: bytearray-growth
# weak: plain CPython ends it itself, or not the same way every time
b=bytearray(b'x')
while True: b+=b
# hostile: bytearray-imul
b=bytearray(b'x')
b*=10**11
# hostile: bytearray-extend-self
# local: no one call of C, or of a library, that takes long or much
b=bytearray(b'x')
while True: b.extend(b)
# hostile: bytearray-del
# local: no one call of C, or of a library, that takes long or much
b=bytearray(10**7)
b[0:0]=b
while True: b[0:0]=b
# hostile: list-slice-self
# local: no one call of C, or of a library, that takes long or much
b=[0]
while True: b[0:0]=b
# hostile: list-slice-step
b=[0]*10**6
for i in range(10**6): b[::-1]
# hostile: format-width
# local: no one call of C, or of a library, that takes long or much
'{:>1000000000}'.format(1)
# hostile: format-width-nested
# local: no one call of C, or of a library, that takes long or much
'{:>{w}}'.format(1, w=10**10)
# hostile: format-width-bound
# local: no one call of C, or of a library, that takes long or much
f='{:>{}}'.format
f(1, 10**10)
# hostile: format-many
# local: no one call of C, or of a library, that takes long or much
('{0:>9999}'*10**5).format(1)
# hostile: format-repeat-arg
# local: no one call of C, or of a library, that takes long or much
('{0}'*10**6).format('x'*10**4)
# hostile: format-map-repeat
# local: no one call of C, or of a library, that takes long or much
('{a}'*10**6).format_map({'a':'x'*10**4})
# hostile: percent-repeat
# local: no one call of C, or of a library, that takes long or much
('%s'*10**5) % (('x'*10**5,)*10**5)
# hostile: percent-repeat-map
# local: no one call of C, or of a library, that takes long or much
('%(a)s'*10**6) % {'a': 'x'*10**5}
# hostile: percent-width
# local: no one call of C, or of a library, that takes long or much
'%1000000000d' % 1
# hostile: percent-prec
# local: no one call of C, or of a library, that takes long or much
'%.1000000000f' % 1.0
# hostile: percent-width-many
# local: no one call of C, or of a library, that takes long or much
('%9999d'*10**5) % ((1,)*10**5)
# hostile: percent-bytes
# local: no one call of C, or of a library, that takes long or much
b'%1000000000d' % 1
# hostile: fstring-width
# local: no one call of C, or of a library, that takes long or much
w=10**10
f'{1:>{w}}'
# hostile: fstring-prec
# weak: plain CPython ends it itself, or not the same way every time
w=10**10
f'{1.0:.{w}f}'
# hostile: format-builtin
# local: no one call of C, or of a library, that takes long or much
format(1.0, '.1000000000f')
# hostile: textwrap-wrap
textwrap.wrap('a '*10**6, 10)
# hostile: difflib-ratio
# local: no one call of C, or of a library, that takes long or much
difflib.SequenceMatcher(None, 'ab'*10**4, 'ba'*10**4, autojunk=False).ratio()
# hostile: difflib-close
# local: no one call of C, or of a library, that takes long or much
difflib.get_close_matches('a'*10**4, ['a'*10**4+'b']*10**4)
# hostile: difflib-ndiff
# local: no one call of C, or of a library, that takes long or much
list(difflib.ndiff(['ab'*100+str(i) for i in range(2000)], ['ab'*100+str(-i) for i in range(2000)]))
# hostile: difflib-unified
list(difflib.unified_diff([str(i) for i in range(10**5)], [str(-i) for i in range(10**5)]))
# hostile: deepcopy-large
# local: no one call of C, or of a library, that takes long or much
a=[[0] for _ in range(10**5)]
for i in range(10**6): copy.deepcopy(a)
# hostile: deepcopy-one-large
a=[[[]]*100 for _ in range(10**5)]
b=[list(x) for x in a]
copy.deepcopy([b,[list(x) for x in a],[list(x) for x in a]])
# hostile: deepcopy-tuple-shared
# local: no one call of C, or of a library, that takes long or much
a=(0,)
for i in range(40): a=(a,a)
copy.deepcopy(a)
# hostile: asdict-shared
# local: no one call of C, or of a library, that takes long or much
@dataclasses.dataclass
class P:
    x: object
    y: object
p=P(0,0)
for i in range(40): p=P(p,p)
dataclasses.asdict(p)
# hostile: astuple-shared
# local: no one call of C, or of a library, that takes long or much
@dataclasses.dataclass
class P:
    x: object
    y: object
p=P(0,0)
for i in range(40): p=P(p,p)
dataclasses.astuple(p)
# hostile: dataclass-repr-shared
# local: no one call of C, or of a library, that takes long or much
@dataclasses.dataclass
class P:
    x: object
    y: object
p=P(0,0)
for i in range(40): p=P(p,p)
repr(p)
# hostile: dataclass-eq-shared
# local: no one call of C, or of a library, that takes long or much
@dataclasses.dataclass
class P:
    x: object
    y: object
p=P(0,0); q=P(0,0)
for i in range(40): p=P(p,p); q=P(q,q)
p==q
# hostile: product-memory
# local: no one call of C, or of a library, that takes long or much
list(itertools.product(range(10**3), repeat=3))
# hostile: permutations-memory
# local: no one call of C, or of a library, that takes long or much
list(itertools.permutations(range(12)))
# hostile: combinations-args
# local: no one call of C, or of a library, that takes long or much
list(itertools.combinations(range(10**6), 10**5))
# hostile: random-choices
# local: no one call of C, or of a library, that takes long or much
random.choices([1], k=10**9)
# hostile: random-randbytes
# weak: plain CPython ends it itself, or not the same way every time
random.randbytes(10**10)
# hostile: random-getrandbits
# weak: plain CPython ends it itself, or not the same way every time
random.getrandbits(10**10)
# hostile: int-hash-collide-set
# local: no one call of C, or of a library, that takes long or much
M=2**61-1
set(map(M.__mul__, range(10**5)))
# hostile: sum-lists
# local: no one call of C, or of a library, that takes long or much
sum([[0]]*10**5, [])
# hostile: sum-lists-big
# local: no one call of C, or of a library, that takes long or much
sum([[0]*10**4]*10**4, [])
# hostile: sum-tuples
# local: no one call of C, or of a library, that takes long or much
sum([(0,)]*10**5, ())
# hostile: functools-cmp
sorted(range(10**6), key=functools.cmp_to_key(lambda a,b: sum(range(10**5))))
# hostile: partial-repeat
# local: no one call of C, or of a library, that takes long or much
f=functools.partial(sum, range(10**6))
list(iter(f, 1))
# hostile: iter-callable
list(iter(lambda: sum(range(10**6)), 1))
# hostile: operator-methodcaller
# local: no one call of C, or of a library, that takes long or much
x=[0]*10**6
any(map(operator.methodcaller('count', 1), itertools.repeat(x)))
# hostile: operator-contains
# local: no one call of C, or of a library, that takes long or much
x=[0]*10**6
any(map(operator.contains, itertools.repeat(x), itertools.repeat(1)))
# hostile: operator-concat
# local: no one call of C, or of a library, that takes long or much
x=[0]*10**6
max(map(len, map(operator.concat, itertools.repeat(x), itertools.repeat(x))))
# hostile: operator-iconcat
# local: no one call of C, or of a library, that takes long or much
x=[0]
functools.reduce(operator.iconcat, itertools.repeat(x))
# hostile: operator-add-reduce
# local: no one call of C, or of a library, that takes long or much
functools.reduce(operator.add, itertools.repeat('x'))
# hostile: list-add-method
# local: no one call of C, or of a library, that takes long or much
x=[0]*10**6
max(map(len, map(x.__add__, itertools.repeat(x))))
# hostile: list-mul-method
# local: no one call of C, or of a library, that takes long or much
list(map([0].__mul__, itertools.repeat(10**6)))
# hostile: del-loop
class D:
    def __del__(s):
        while True: pass
for i in range(1000): D()
# hostile: exit-true
class C:
    def __enter__(s): pass
    def __exit__(s,*a): return True
while True:
    with C():
        while True: pass
# hostile: exception-group
while True:
    try:
        while True: pass
    except* BaseException: pass
# hostile: lambda-recursion
f=lambda n: f(n-1)+f(n-1) if n else 1
f(200)
# hostile: property-chain
class A:
    @property
    def p(s):
        return s.p and s.p
while True:
    try: A().p
    except RecursionError: pass
# hostile: strptime
# local: no one call of C, or of a library, that takes long or much
datetime.datetime.strptime('1'*10**5, '%d'*10**5)
# hostile: star-call
# local: no one call of C, or of a library, that takes long or much
max(*[range(10**6)]*10**4, key=sum)
# hostile: str-join-list-big
','.join(['x'*10**6]*10**6)
# hostile: int-to-bytes
(1).to_bytes(10**10, 'big')
# hostile: int-digits-sum
sum(map(int, str(3**8000)))
while True: sum(map(int, str(3**8000)))
# hostile: list-big-loop
while True: list(range(999999))
# hostile: list-big-map
# local: no one call of C, or of a library, that takes long or much
max(map(len, map(list, itertools.repeat(range(999999)))))
# hostile: count-in
# local: no one call of C, or of a library, that takes long or much
10**12 in itertools.count()
# hostile: index-count
# local: no one call of C, or of a library, that takes long or much
operator.indexOf(itertools.count(), -1)
# hostile: countOf
# local: no one call of C, or of a library, that takes long or much
operator.countOf(itertools.repeat(0), 1)
# hostile: getitem-seq
class L:
    def __getitem__(s,i): return i
list(L())
# hostile: getitem-seq-sum
class L:
    def __getitem__(s,i): return sum(range(10**6))
sum(L())
# hostile: contains-getitem
class L:
    def __getitem__(s,i): return 0
1 in L()
# hostile: unpack-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
x,*y=map(a.append, a)
# hostile: star-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
[*map(a.append, a)]
# hostile: call-star-feed
# local: no one call of C, or of a library, that takes long or much
a=[0]
print(*map(a.append, a))
# hostile: deque-rotate
d=collections.deque([0]*10**6)
for i in range(10**6): d.rotate(5*10**5)
# hostile: deque-iadd
# local: no one call of C, or of a library, that takes long or much
d=collections.deque([0])
d+=itertools.count()
# hostile: deque-iadd-self
# local: no one call of C, or of a library, that takes long or much
d=collections.deque([0])
while True: d+=d
# hostile: deque-mul
collections.deque([0])*10**10
# hostile: counter-elements
# local: no one call of C, or of a library, that takes long or much
list(collections.Counter({'a':10**10}).elements())
# hostile: gen-heavy
def g():
    while True: yield sum(range(10**6))
max(g())
# hostile: genexp-heavy
max(sum(range(10**6)) for _ in itertools.count())
# hostile: gen-from-C
# local: no one call of C, or of a library, that takes long or much
def g():
    yield from map(sum, itertools.repeat(range(10**6)))
max(g())
# hostile: yield-from-count
# local: no one call of C, or of a library, that takes long or much
def g():
    yield from itertools.count()
max(g())
# hostile: async-heavy
import asyncio
async def f():
    while True: sum(range(10**6))
asyncio.run(f())
# hostile: async-gather
import asyncio
async def f():
    while True: await asyncio.sleep(0)
async def m(): await asyncio.gather(*[f() for _ in range(10**4)])
asyncio.run(m())
# hostile: textwrap-indent
# local: no one call of C, or of a library, that takes long or much
textwrap.indent('a\n'*10**6, 'x'*10**6)
# hostile: textwrap-tabs
# local: no one call of C, or of a library, that takes long or much
textwrap.wrap('\t'*10**4, tabsize=10**6)
# hostile: textwrap-fill-indent
# local: no one call of C, or of a library, that takes long or much
textwrap.fill('a '*10**6, width=2, subsequent_indent='x'*10**5)
# hostile: string-template
# local: no one call of C, or of a library, that takes long or much
string.Template('$a'*10**6).substitute(a='x'*10**6)
# hostile: string-template-safe
# local: no one call of C, or of a library, that takes long or much
string.Template('$a'*10**6).safe_substitute({'a': 'x'*10**6})
# hostile: match-expand
# local: no one call of C, or of a library, that takes long or much
re.match('(a+)', 'a'*10**6).expand(r'\1'*10**4)
# hostile: pprint-indent
# local: no one call of C, or of a library, that takes long or much
pprint.pformat([[0]*100]*1000, indent=10**9)
# hostile: pprint-many
# local: no one call of C, or of a library, that takes long or much
pprint.pformat(list(range(10**7)))
# hostile: pbkdf2-iterations
# local: no one call of C, or of a library, that takes long or much
hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)
# hostile: pbkdf2-length
# local: no one call of C, or of a library, that takes long or much
hashlib.pbkdf2_hmac('sha256', b'a', b'b', 1, dklen=2**31-1)
# hostile: scrypt
# weak: plain CPython ends it itself, or not the same way every time
hashlib.scrypt(b'a', salt=b'b', n=2**24, r=8, p=1, maxmem=2**35)
# hostile: secrets-hex
# local: no one call of C, or of a library, that takes long or much
secrets.token_hex(10**9)
# hostile: secrets-bits
# local: no one call of C, or of a library, that takes long or much
secrets.randbits(10**10)
# hostile: array-times
array.array('b', [0]) * 10**10
# hostile: array-doubles
# local: no one call of C, or of a library, that takes long or much
a = array.array('b', [0])
while True: a = a + a
# hostile: array-doubles-in-place
# local: no one call of C, or of a library, that takes long or much
a = array.array('b', [0])
while True: a += a
# hostile: pow-mod-long
# local: no one call of C, or of a library, that takes long or much
a=3**30000
for i in range(10**6): pow(a, a, a+2)
# hostile: product-of-many
# local: no one call of C, or of a library, that takes long or much
next(itertools.product(range(10), repeat=10**8))
# hostile: tee-many
# local: no one call of C, or of a library, that takes long or much
itertools.tee([1], 10**9)
# hostile: round-negative
# local: no one call of C, or of a library, that takes long or much
round(10**5, -10**9)
# hostile: gap-regular-expression
# local: no re matches in C, holding the interpreter lock
# documented: a catastrophic regular expression
re.match(r'(a+)+$', 'a' * 40 + 'b')
# hostile: gap-shared-tree
# local: no one C call walks a tree of exponential size
# documented: printing, comparing, hashing or encoding a deeply shared
x = [0]
for i in range(40):
    x = [x, x]
repr(x)
# hostile: gap-power-of-fractions
# local: no the standard library's own code takes a power of integers in C
# documented: powers of fractions
fractions.Fraction(3, 7) ** 10**8
