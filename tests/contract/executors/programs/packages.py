# Programs that use a package; each ends with the value True.
# case: pydantic
from pydantic import BaseModel, Field, PrivateAttr, field_validator
class Order(BaseModel):
    items: list[str] = Field(min_length=1)
    count: int = 1
    _seen: int = PrivateAttr(default=7)
    @field_validator('count')
    @classmethod
    def double(cls, value): return 2 * value
order = Order.model_validate_json('{"items": ["a"], "count": "2"}')
try:
    Order(items=[])
except ValueError as error:
    refused = type(error).__name__
(order.model_dump(), order._seen, refused) == ({'items': ['a'], 'count': 4}, 7, 'ValidationError')
# case: attrs
import attrs
@attrs.define
class Point:
    x: int
    y: int = attrs.field(default=2, validator=attrs.validators.gt(0))
    def moved(self): return attrs.evolve(self, x=self.x + 1)
@attrs.define
class Named(Point):
    name: str = 'p'
    def moved(self): return super().moved()
point = Named(3).moved()
(attrs.astuple(point), hasattr(point, '__dict__'), Named.__slots__) == ((4, 2, 'p'), False, ('name',))
# case: numba
import numba
@numba.njit
def total(n):
    result = 0
    for i in range(n):
        result += i * i
    return result
total(1000) == 332_833_500
