# SPDX-License-Identifier: MIT
"""The exceptions of stoker; stoker.Error is the base of all.

A time-out is Python's TimeoutError; nothing is lost, and the call can be made again.
"""
from __future__ import annotations

import os
import re
from typing import Any, Dict, Mapping, Type


def short(value: object, most: int = 80) -> str:
    """A value for a message: on one line, and cut if it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[:most - 3] + "..."


def plain(text: str) -> str:
    """Terminals obey control characters, which names of files and a peer's texts may have."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", text)


class Error(Exception):
    """Base of all exceptions of stoker."""


class DaemonUnavailable(Error):
    """No daemon answers at the socket, or it is not trusted."""


class ProtocolError(Error):
    """The daemon violated the protocol. The connection is closed."""


class Disconnected(Error):
    """The daemon closed the connection. A state_dict() taken now resumes exactly here."""


class Stopping(Error):
    """The daemon is stopping. A state_dict() taken now resumes exactly here."""


class ForkError(Error):
    """A loader was used in a process that was forked after it was made."""


class DeviceError(Error):
    """A call of CUDA's runtime library failed."""


class RequestError(Error):
    """The daemon refused a request.

    Attributes: ``code`` and ``name``, from the error table of the protocol.
    """

    def __init__(self, code: int, name: str, text: str) -> None:
        super().__init__(plain(text or name))
        self.code = code
        self.name = name

    def __reduce__(self) -> tuple[Type[RequestError], tuple[int, str, str]]:
        return type(self), (self.code, self.name, str(self))


class VersionError(RequestError):
    """The daemon and this client have no common protocol version."""


class TooManyConnections(RequestError):
    """The daemon has reached its limit of connections."""


class DatasetError(RequestError):
    """The dataset cannot be opened or read."""


class PipelineError(RequestError):
    """A transform or one of its parameters is wrong."""


class ArgumentError(RequestError):
    """Another value of the request is wrong."""


class MemoryBudgetError(RequestError):
    """The ring does not fit into the daemon's ring-memory or the machine."""


class TransportError(RequestError):
    """There is no transport for the shared memory that both sides can use."""


class TokenError(RequestError):
    """A state is for another dataset, pipeline or order; the text names the field."""

    CODE = 25
    description: Mapping[str, Any] = {}  # of what was asked for, if the daemon says it

    @classmethod
    def local(cls, text: str) -> TokenError:
        """One that the client found itself."""
        return cls(cls.CODE, "token", text)


class NotPermitted(RequestError):
    """The daemon does not allow this to the user."""


class CredentialsError(RequestError):
    """The storage refuses the user's own credentials, or they have expired."""


class LimitError(RequestError):
    """This user has reached the daemon's limit of readers or of ring memory."""


class ProducerError(Error):
    """The processes that run your code cannot make samples; the text has their last words."""


class SampleError(Error):
    """A sample could not be read or decoded. Its batch is skipped; next() of the same iterator
    gives the next one. With ``bad_samples="substitute"`` a neighbour replaces the sample instead.

    Attributes: ``epoch`` and ``position`` (global) of the sample, ``sample`` (its index in the
    dataset), ``path``, and ``code`` and ``name`` from the error table of the protocol. ``root``: of
    a list of paths the folder that ``path`` is in.
    """

    _FIELDS = ("text", "epoch", "position", "sample", "path", "code", "name")

    def __init__(self, text: str, *, epoch: int, position: int, sample: int, path: str,
                 code: int, name: str, root: str = "") -> None:
        where = f"{os.path.join(root, path)!r}" if path else f"sample {sample}"
        super().__init__(f"{where} (sample {sample}, epoch {epoch}, position {position}): "
                         f"{plain(text)}")
        self.text = text
        self.epoch = epoch
        self.position = position
        self.sample = sample
        self.path = path
        self.root = root
        self.code = code
        self.name = name

    @classmethod
    def from_message(cls, fields: Mapping[str, Any], root: str = "") -> SampleError:
        """The exception for a BAD_SAMPLE message."""
        return cls(**{key: fields[key] for key in cls._FIELDS}, root=root)

    def __reduce__(self) -> Any:
        return self.from_message, ({key: getattr(self, key) for key in self._FIELDS}, self.root)


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
    31: CredentialsError,
}
_STOPPING = 27


def stopping(fields: Mapping[str, Any]) -> Stopping:
    """The exception for a GOAWAY message."""
    return Stopping(f"stokerd is stopping: {plain(fields['text'])}")


def from_message(fields: Mapping[str, Any]) -> Error:
    """The exception for an ERROR message."""
    code, name, text = (fields[key] for key in ("code", "name", "text"))
    if code == _STOPPING:
        return Stopping(plain(text or name))
    error = _BY_CODE.get(code, RequestError)(code, name, text)
    if isinstance(error, TokenError) and isinstance(fields.get("description"), dict):
        error.description = fields["description"]
    return error
