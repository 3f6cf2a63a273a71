# local: no a program that names attributes in __match_args__ means harm
# Found by the search: __match_args__ in a namespace that a metaclass is called with.
class Any(type):
    def __instancecheck__(cls, o):
        return True


def matched(e, n):
    P = Any("P", (), {"__match_args__": (n,)})
    match e:
        case P(x):
            return x


leak(matched(lambda: 0, "__code__"))
