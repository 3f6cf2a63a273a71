# local: no a program that names attributes in __match_args__ means harm
# Beside what the search found: __match_args__ from a property of the metaclass.
class Any(type):
    __match_args__ = property(lambda cls: ("__globals__",))

    def __instancecheck__(cls, o):
        return True


class P(metaclass=Any):
    pass


match search:
    case P(x):
        leak(x)
