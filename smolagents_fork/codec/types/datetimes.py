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

from smolagents_fork.codec.coding import Decoding, Encode, Row, Tree, list_of, row, stored
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


def find_zone(key: str) -> dt.tzinfo | None:
    """Return the time zone with an IANA key; ``None`` if it is not known here."""
    try:
        import zoneinfo

        return zoneinfo.ZoneInfo(key)
    except Exception:
        return None


def decode_zone(decoder: Decoding, data: Tree) -> dt.tzinfo | None:
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


def _datetime(value: dt.datetime) -> dict[str, Any]:
    """Encode a ``datetime``, with fold and zone."""
    naive = [value.year, value.month, value.day, value.hour, value.minute, value.second]
    zone = encode_zone(value.tzinfo, value.utcoffset())
    return {"$": "datetime", "v": [*naive, value.microsecond, value.fold, zone]}


def _datetime_of(decoder: Decoding, data: Tree) -> dt.datetime:
    """Decode the output of :func:`_datetime`."""
    *fields, fold, zone = list_of(data, 9)
    return dt.datetime(*fields).replace(tzinfo=decode_zone(decoder, zone), fold=fold)


def _date(value: dt.date) -> dict[str, Any]:
    """Encode a ``date``."""
    return {"$": "date", "v": [value.year, value.month, value.day]}


def _date_of(data: Any) -> dt.date:
    """Decode the output of :func:`_date`."""
    return dt.date(*list_of(data, 3))


def _time(value: dt.time) -> dict[str, Any]:
    """Encode a ``time``, with fold and zone."""
    zone = encode_zone(value.tzinfo, value.utcoffset())
    fields = [value.hour, value.minute, value.second, value.microsecond]
    return {"$": "time", "v": [*fields, value.fold, zone]}


def _time_of(decoder: Decoding, data: Tree) -> dt.time:
    """Decode the output of :func:`_time`."""
    *fields, fold, zone = list_of(data, 6)
    return dt.time(*fields).replace(tzinfo=decode_zone(decoder, zone), fold=fold)


def _timedelta(value: dt.timedelta) -> dict[str, Any]:
    """Encode a ``timedelta`` exactly (upstream's float of seconds loses microseconds)."""
    return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}


def _timedelta_of(data: Any) -> dt.timedelta:
    """Decode the output of :func:`_timedelta`."""
    days, seconds, microseconds = list_of(data, 3)
    return dt.timedelta(days, seconds, microseconds)


_CLOCK = ("hour", "minute", "second", "microsecond", "tzinfo")


def _exact_datetime(value: Any) -> dt.datetime:
    *fields, fold = stored(dt.datetime, value, "year", "month", "day", *_CLOCK, "fold")
    return dt.datetime(*fields, fold=fold)


def _exact_time(value: Any) -> dt.time:
    *fields, fold = stored(dt.time, value, *_CLOCK, "fold")
    return dt.time(*fields, fold=fold)


DATE_ENCODERS: dict[type, Encode] = {
    dt.datetime: lambda _, v: _datetime(v),
    dt.date: lambda _, v: _date(v),
    dt.time: lambda _, v: _time(v),
    dt.timedelta: lambda _, v: _timedelta(v),
}
DATE_TAGS: dict[str, Row] = {
    "datetime": row(lambda d, t: _datetime_of(d, t["v"])),
    "date": row(lambda _, t: _date_of(t["v"])),
    "time": row(lambda d, t: _time_of(d, t["v"])),
    "timedelta": row(lambda _, t: _timedelta_of(t["v"])),
}
DATE_COPIES: tuple[tuple[type, Any], ...] = (
    (dt.datetime, _exact_datetime),
    (dt.date, lambda v: dt.date(*stored(dt.date, v, "year", "month", "day"))),
    (dt.time, _exact_time),
    (
        dt.timedelta,
        lambda v: dt.timedelta(*stored(dt.timedelta, v, "days", "seconds", "microseconds")),
    ),
)
