# SPDX-License-Identifier: MIT
"""What can go wrong, as exceptions. All are stoker.Error.

A time-out is Python's own TimeoutError and loses nothing: the call can be made again.
"""
from __future__ import annotations

from typing import Any, Dict, Mapping, Type


def short(value: object) -> str:
    """A value as it stands in a message: on one line, and not all of a long one."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


class Error(Exception):
    """Anything that stoker raises by itself."""


class DaemonUnavailable(Error):
    """No daemon answers at the socket, or it is somebody else's."""


class ProtocolError(Error):
    """The other end does not speak the protocol. The connection is closed."""


class Disconnected(Error):
    """The daemon closed the connection; a state_dict() taken now resumes exactly."""


class Stopping(Error):
    """The daemon is about to stop; a state_dict() taken now resumes exactly."""


class ForkError(Error):
    """A loader was used in a process forked after it was made."""


class RequestError(Error):
    """The daemon refused a request.

    Attributes: ``code`` and ``name`` of the protocol's error table.
    """

    def __init__(self, code: int, name: str, text: str) -> None:
        super().__init__(text or name)
        self.code = code
        self.name = name

    def __reduce__(self) -> tuple[Type[RequestError], tuple[int, str, str]]:
        return type(self), (self.code, self.name, str(self))


class VersionError(RequestError):
    """The daemon and this client have no common protocol version."""


class TooManyConnections(RequestError):
    """The daemon serves as many connections as it may."""


class DatasetError(RequestError):
    """The dataset cannot be opened or read."""


class PipelineError(RequestError):
    """A transform or a parameter of one is wrong."""


class ArgumentError(RequestError):
    """Another value of the request is wrong."""


class MemoryBudgetError(RequestError):
    """The ring does not fit into the daemon's budget or the machine."""


class TransportError(RequestError):
    """No way to hand over the shared memory that both ends can use."""


class TokenError(RequestError):
    """A state belongs to another dataset, pipeline or order; the text names the field."""

    CODE = 25

    @classmethod
    def local(cls, text: str) -> TokenError:
        """One that this client found without asking the daemon."""
        return cls(cls.CODE, "token", text)


class NotPermitted(RequestError):
    """The daemon does not let this user do that."""


class LimitError(RequestError):
    """This user has as many readers, or as much memory of rings, as the daemon lets it have."""


class SampleError(Error):
    """A sample could not be read or decoded; its batch is left out, the next one follows: by next()
    of the same iterator. With ``bad_samples="substitute"`` a neighbour is in its place instead.

    Attributes: ``epoch`` and ``position`` (global) of the sample, ``sample`` (its index in the
    dataset), ``path``, ``code`` and ``name`` of the protocol's error table.
    """

    _FIELDS = ("text", "epoch", "position", "sample", "path", "code", "name")

    def __init__(self, text: str, *, epoch: int, position: int, sample: int, path: str,
                 code: int, name: str) -> None:
        where = f"{path!r}" if path else f"sample {sample}"
        super().__init__(f"{where} (sample {sample}, epoch {epoch}, position {position}): {text}")
        self.text = text
        self.epoch = epoch
        self.position = position
        self.sample = sample
        self.path = path
        self.code = code
        self.name = name

    @classmethod
    def from_message(cls, fields: Mapping[str, Any]) -> SampleError:
        """The exception for a BAD_SAMPLE message."""
        return cls(**{key: fields[key] for key in cls._FIELDS})

    def __reduce__(self) -> Any:
        return self.from_message, ({key: getattr(self, key) for key in self._FIELDS},)


_BY_CODE: Dict[int, Type[RequestError]] = {
    6: VersionError,
    9: TooManyConnections,
    20: DatasetError,
    21: PipelineError,
    22: ArgumentError,
    23: MemoryBudgetError,
    24: TransportError,
    25: TokenError,
    26: NotPermitted,
    30: LimitError,
}
_STOPPING = 27


def from_message(fields: Mapping[str, Any]) -> Error:
    """The exception for an ERROR message."""
    code, name, text = (fields[key] for key in ("code", "name", "text"))
    if code == _STOPPING:
        return Stopping(text or name)
    return _BY_CODE.get(code, RequestError)(code, name, text)
