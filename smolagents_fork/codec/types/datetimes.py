"""Dates, times and time zones as JSON, and back.

A zone is encoded as its offset at that time in microseconds and its IANA key, if it has one. The
key is looked up only through ``zoneinfo``, which refuses absolute paths and ``..``. If the zone is
not available here, only the offset is kept. A zone of another library (pytz, dateutil) is decoded
as a ``ZoneInfo`` with the same key.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decoder, list_of, row
from smolagents_fork.codec.encoder import ENCODERS, Encoder
from smolagents_fork.codec.limits import Fault

_ZONE_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(?:/[A-Za-z0-9_+\-]+){0,3}")
_MICROSECOND = dt.timedelta(microseconds=1)


def encode_zone(zone: dt.tzinfo | None, offset: dt.timedelta | None) -> list[Any] | None:
    """Return ``[offset in microseconds or None, key or None]``; ``None`` without a zone."""
    if zone is None:
        return None
    # zoneinfo has .key and pytz has .zone; other zones are kept as their offset.
    key = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if not (isinstance(key, str) and _ZONE_KEY.fullmatch(key)):
        key = None
    if key is None and offset is None:
        raise Fault(f"time zone {type(zone).__name__} has neither a name nor a fixed offset")
    return [None if offset is None else offset // _MICROSECOND, key]


def decode_zone(decoder: Decoder, data: Any) -> dt.tzinfo | None:
    """Decode the output of :func:`encode_zone`."""
    if data is None:
        return None
    offset, key = list_of(data, 2)
    if key is not None:
        if type(key) is not str or len(key) > 64 or not _ZONE_KEY.fullmatch(key):
            raise Fault("not the name of a time zone")
        zone: dt.tzinfo | None = decoder.zone(key)
        if zone is not None:
            return zone
        if offset is None:
            raise Fault(f"time zone {key!r} is not known here")
    if type(offset) is not int or abs(offset) >= 86_400_000_000:
        raise Fault("a zone's offset is under 24 hours")
    if offset == 0:
        return dt.timezone.utc
    return dt.timezone(dt.timedelta(microseconds=offset))


def _datetime(_: Encoder, value: dt.datetime) -> Any:
    naive = [value.year, value.month, value.day, value.hour, value.minute, value.second]
    zone = encode_zone(value.tzinfo, value.utcoffset())
    return {"$": "datetime", "v": [*naive, value.microsecond, value.fold, zone]}


def _datetime_of(decoder: Decoder, tree: dict[str, Any]) -> dt.datetime:
    *fields, fold, zone = list_of(tree["v"], 9)
    return dt.datetime(*fields).replace(tzinfo=decode_zone(decoder, zone), fold=fold)


def _date(_: Encoder, value: dt.date) -> Any:
    return {"$": "date", "v": [value.year, value.month, value.day]}


def _time(_: Encoder, value: dt.time) -> Any:
    zone = encode_zone(value.tzinfo, value.utcoffset())
    fields = [value.hour, value.minute, value.second, value.microsecond]
    return {"$": "time", "v": [*fields, value.fold, zone]}


def _time_of(decoder: Decoder, tree: dict[str, Any]) -> dt.time:
    *fields, fold, zone = list_of(tree["v"], 6)
    return dt.time(*fields).replace(tzinfo=decode_zone(decoder, zone), fold=fold)


def _timedelta(_: Encoder, value: dt.timedelta) -> Any:
    # Exact: upstream's float of seconds loses microseconds.
    return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}


ENCODERS.update({dt.datetime: _datetime, dt.date: _date, dt.time: _time, dt.timedelta: _timedelta})
TAGS.update(
    {
        "datetime": row(_datetime_of),
        "date": row(lambda _, t: dt.date(*list_of(t["v"], 3))),
        "time": row(_time_of),
        "timedelta": row(lambda _, t: dt.timedelta(*list_of(t["v"], 3))),
    }
)
