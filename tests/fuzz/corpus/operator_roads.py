# Attributes by name through a module that is authorised.
import operator

leak(operator.attrgetter("grow.__func__.__globals__")(thing))
