# local: no what an authorised module offers is authorised
# Annotations in strings are code.
import typing

typing.get_type_hints(
    type("T", (), {"__annotations__": {"x": "__import__('hostile_canary').trip()"}})
)
