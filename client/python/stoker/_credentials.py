# SPDX-License-Identifier: MIT
"""A user's own credentials of S3, for a daemon that runs as somebody else: sent whenever a loader
connects, and again before they expire. Knows no server of credentials: a function of the caller's
gives them."""
from __future__ import annotations

import datetime
import logging
import math
import re
import time
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple,
                    Optional, Union)

from .errors import Error

if TYPE_CHECKING:
    from ._connection import Connection

Source = Union[Mapping[str, Any], Callable[[], Mapping[str, Any]]]

_MARGIN_S = 300.0  # before they expire, or half of their time
_AGAIN_S = 10.0  # after a function that failed, while the old ones are good
_LEAST_S = 1.0  # that new ones must last, and between two calls of the function
_NAMES = {  # as boto3.client() takes them, and as STS gives them
    "key": ("aws_access_key_id", "AccessKeyId"),
    "secret": ("aws_secret_access_key", "SecretAccessKey"),
    "token": ("aws_session_token", "SessionToken"),
    "expires": ("expiration", "Expiration"),
}
_log = logging.getLogger("stoker")


class _Secret(str):
    """No log, and no traceback that shows variables, says what it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class _Given(NamedTuple):
    fields: Dict[str, Any]  # of the message, but for the URL
    expires: float  # time.time(), or inf


class Credentials:
    """For what lies beneath ``urls``. ``source``: a mapping, or a function that gives one."""

    def __init__(self, source: Source, urls: List[str]) -> None:
        if not urls:
            raise ValueError("credentials= goes with a dataset in S3: s3://bucket/train")
        self._source = source
        self._urls = urls
        self._due = math.inf  # time.monotonic() of when to ask for others
        self._expires = math.inf

    def connect(self, connect: Callable[[], Connection]) -> Connection:
        """A connection over which they were sent."""
        connection = connect()
        try:
            if not connection.takes_credentials:
                raise Error(f"{connection.daemon} is too old to take credentials: update stokerd")
            self._send(connection, self._ask())
        except BaseException:
            connection.close()
            raise
        return connection

    def renew(self, connection: Connection) -> Optional[float]:
        """Send others if it is time to; seconds until it is, None: never."""
        if time.monotonic() >= self._due:
            try:
                given = self._ask()
                if given.expires - time.time() < _LEAST_S:
                    raise ValueError("those that the function gave expire now"
                                     ": have it give newer ones")
            except Exception as error:  # pylint: disable=broad-except # of the caller's function
                if time.time() >= self._expires:
                    raise
                _log.warning("no new credentials of S3: %s; asking again", str(error))
                self._due = time.monotonic() + _AGAIN_S
            else:
                self._send(connection, given)
        return None if self._due == math.inf else max(0.0, self._due - time.monotonic())

    def _ask(self) -> _Given:
        return _given(self._source() if callable(self._source) else self._source)

    def _send(self, connection: Connection, given: _Given) -> None:
        try:
            for url in self._urls:
                connection.request("credentials", "ok", url=url, **given.fields)
        except BaseException as error:  # a variable of where it was raised is the frame's bytes
            raise error.with_traceback(None) from None
        self._expires = given.expires
        left = given.expires - time.time()
        again = callable(self._source) and left != math.inf
        wait = max(_LEAST_S, left - min(_MARGIN_S, left / 2))
        self._due = time.monotonic() + wait if again else math.inf


def _given(source: Mapping[str, Any]) -> _Given:
    if not isinstance(source, Mapping):
        raise TypeError("credentials must be a mapping, such as boto3.client('sts').assume_role"
                        "(...)['Credentials'], or a function that gives one, not "
                        f"{type(source).__name__}")
    known = [name for names in _NAMES.values() for name in names]
    unknown = [str(name) for name in source if name not in known]
    if unknown:
        raise ValueError(f"credentials have no {unknown[0]!r}, but {', '.join(known)}")
    found = {key: source[name] for key, names in _NAMES.items() for name in names
             if source.get(name) is not None}
    for key in ("key", "secret"):
        if key not in found:
            raise ValueError(f"credentials need {_NAMES[key][0]} (or {_NAMES[key][1]})")
    expires = _seconds(found.pop("expires", None))
    for key, value in found.items():
        if not isinstance(value, str):
            raise TypeError(f"{_NAMES[key][0]} must be a str, not {type(value).__name__}")
    fields: Dict[str, Any] = {key: _Secret(value) for key, value in found.items()}
    fields["expires"] = 0 if expires == math.inf else max(1, int(expires))
    return _Given(fields, expires)


def _seconds(expires: Any) -> float:
    """Since 1970, of a datetime, a text in ISO 8601, or a number."""
    if expires is None:
        return math.inf
    if isinstance(expires, str):
        expires = datetime.datetime.fromisoformat(re.sub("Z$", "+00:00", expires))
    if isinstance(expires, datetime.datetime):
        if expires.tzinfo is None:
            raise ValueError("the expiration of credentials needs a time zone")
        return expires.timestamp()
    return float(expires)


def urls_of(dataset: Mapping[str, Any]) -> List[str]:
    """What they are sent for: the folders in S3 of a description's paths."""
    return sorted(set(_folders(dataset)))


def _folders(dataset: Mapping[str, Any]) -> Iterator[str]:
    for part in dataset.get("parts", ()):
        yield from _folders(part)
    for key in ("path", "root", "labels"):
        path = str(dataset.get(key) or "")
        if path.lower().startswith("s3://"):
            plain = re.split(r"[*?\[{]", path)[0]
            bucket, _, rest = plain[5:].partition("/")
            above = rest.rpartition("/")[0]
            last = rest.rpartition("/")[2]
            folder = above if plain != path or "." in last else rest.rstrip("/")
            yield f"s3://{bucket}/{folder}".rstrip("/")
