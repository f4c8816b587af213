# SPDX-License-Identifier: MIT
"""A dataset of a user's own code."""
from __future__ import annotations

import copy
import hashlib
import itertools
import logging
import os
import secrets
import stat
import tempfile
from typing import Any, Collection, Dict, List, NamedTuple, Optional, Sequence, Union

from .. import _options
from . import identity, shipping
from .producer import Record, RecordOfArrays, code_of, record_of_bytes, record_of_picture
from .seeds import Seeds, as_they_were
from .tree import Tree

__all__ = ["Source"]

_ARRAYS_MAX = 127
_DEADLINE_MAX_S = 4000000
_SHARDS_MAX = 1 << 20
_TEXT_MAX = 4095  # of a value in a description
_log = logging.getLogger("stoker")


class Life(NamedTuple):
    """How long a process, and a sample, may take, and which part of the samples is made twice.
    Raises ValueError."""

    recycle: Optional[int] = None  # samples
    deadline: Optional[float] = None  # seconds
    check: float = 0

    def checked(self) -> Life:
        if self.recycle is not None and (not isinstance(self.recycle, int) or self.recycle < 1):
            raise ValueError(f"recycle must be a number of samples from 1 on, not {self.recycle!r}")
        if self.deadline is not None and not 0.001 <= self.deadline <= _DEADLINE_MAX_S:
            raise ValueError(f"deadline must be 0.001 to {_DEADLINE_MAX_S} s, not {self.deadline}")
        if not isinstance(self.check, (int, float)) or not 0 <= self.check <= 1:
            raise ValueError(f"check must be a part of the samples from 0 to 1, such as 0.01, not "
                             f"{self.check!r}")
        return self

    def job(self) -> Dict[str, int]:
        """For the processes."""
        return {"recycle": self.recycle or 0, "deadline_ms": int((self.deadline or 0) * 1000),
                "check": round(self.check * 1e6)}


class Shards(NamedTuple):
    """Parts that samples lie in, one behind the other, and that the code reads one by one: for
    ``order="shards"``."""

    sizes: Sequence[int]
    window: int = 0  # samples shuffled as one, if this order is the default; 0: global is
    cost: str = ""  # of the order global, in words; "": none

    def described(self) -> str:
        """As the daemon takes it, "1000x120 532". Neighbours are joined where there are too many
        sizes."""
        sizes: List[int] = [size for size in self.sizes if size]
        while len(text := _runs(sizes)) > _TEXT_MAX or len(sizes) > _SHARDS_MAX:
            sizes = [sum(sizes[at:at + 2]) for at in range(0, len(sizes), 2)]
        return text


def _runs(sizes: Sequence[int]) -> str:
    counted = ((size, len([*equal])) for size, equal in itertools.groupby(sizes))
    return " ".join(f"{size}x{count}" if count > 1 else f"{size}" for size, count in counted)


class Source:
    """Samples that your own code makes: ``function(index)``, or ``dataset[index]``. It runs in
    processes of yours beside the daemon, which shares what they make between trainers, orders and
    resumes it.

    Args:
        code: a function of an index, or an object with ``__getitem__``.
        samples: how many there are; None: ``len(code)``.
        gives: "bytes": of a file (JPEG, PNG, ...), or (bytes, label), which the daemon decodes,
            keeps and transforms. "picture": an array of uint8, H x W x 3 or of one channel, or a
            PIL image, or (that, label), which the daemon transforms. "arrays": finished samples,
            nested dicts, lists and tuples of arrays, tensors, numbers, texts and bytes, each array
            of one dtype and shape in all samples; batches have the same tree, with (n, *shape) in
            the place of each, and a list of n texts.
        ragged: of arrays: names of those whose samples have shapes of their own, with as many
            dimensions ("boxes"; "1.boxes" within the second of a pair; "0" if a sample is an
            array alone), or True: all. A batch has a list of n arrays in the place of each. Room
            for them is made by the first sample; where a larger one comes, the loader attaches
            anew with more, and says so.
        pure: of bytes and pictures: the same index gives the same, so that the daemon keeps what it
            decodes, and the code is not called again for it. None: bytes are, pictures are not.
        like: a sample, to see what samples are; None: the code makes sample 0 for that, here.
        version: names what the code does: two codes of one version are taken as the same; None: a
            digest of its code and state.
        classes: of bytes and pictures: labels are numbers of so many classes, for ``one_hot``,
            MixUp and CutMix.
        external: its processes are those of `stoker produce`, which outlive trainers: loaders start
            none.
        recycle: each process ends after so many samples, and another takes its place: for code
            that takes more memory the longer it runs.
        deadline: seconds that a sample may take (its first call ten times that) before its process
            is killed, and another one tries; None: producer-deadline of the daemon.
        check: such a part of the samples, 0.01 say, is made a second time, by another process if
            there is one, to see whether the code makes the same again, as a resume needs it. The
            first that does not is named by a WARNING. Samples then come as before, but no other
            program shares them, and a state says that a resume is not exact.

    The object may change between two passes over a loader (``dataset.epoch = 3``, another
    ``transform``): each ``for`` looks, and makes samples of what the object is then.
    """

    @_options.named
    def __init__(self, code: Any, samples: Optional[int] = None, *, gives: str = "bytes",
                 pure: Optional[bool] = None, like: Any = None, version: Optional[str] = None,
                 external: bool = False, classes: Optional[int] = None,
                 recycle: Optional[int] = None, deadline: Optional[float] = None,
                 ragged: Union[bool, Collection[str]] = (), check: float = 0) -> None:
        if gives not in ("bytes", "picture", "arrays"):
            raise ValueError(f"gives must be 'bytes', 'picture' or 'arrays', not {gives!r}")
        if gives == "arrays" and pure is not None:
            raise ValueError("pure is for bytes and pictures: arrays are made anew each time")
        if gives == "arrays" and classes is not None:
            raise ValueError("classes are of bytes and pictures: arrays have no labels")
        if isinstance(ragged, str) or (gives != "arrays" and ragged):
            raise ValueError("ragged is a list of names of arrays, or True, with gives='arrays'")
        self.classes = classes
        self.gives, self.pure = gives, gives == "bytes" if pure is None else pure
        self._counted = samples is None
        if samples is None:
            try:
                samples = len(code)
            except TypeError:
                raise TypeError("say how many samples there are: Source(code, samples=N)") from None
        if not callable(code) and not hasattr(code, "__getitem__"):
            raise TypeError(f"a source is a function of an index, or has __getitem__; "
                            f"{type(code).__name__} is neither")
        self.code, self.samples = code, int(samples)
        self.name = getattr(code, "__qualname__", None) or type(code).__qualname__
        self.version, self.external = version, external
        self.life = Life(recycle, deadline, check).checked()
        self.kept: Any = None  # producers that run already, and outlive loaders
        self.shards: Optional[Shards] = None
        self.apart = False  # each producer has a stream of its own: its number is behind the code
        self.tree: Optional[Tree] = None
        if gives == "arrays":
            self.tree = Tree(_first(code) if like is None else like, self._ragged(ragged))
            _check_tree(self.tree)
        self.codes: Dict[str, bytes] = {}  # digests of the functions of the code, by their names
        self._first: Optional[str] = None  # the state that ``version`` names
        self._own, self._own_state = "", b""

    @staticmethod
    def _ragged(ragged: Union[bool, Collection[str]]) -> Union[None, bool, Collection[str]]:
        """As a Tree takes it."""
        return ragged

    def identity(self) -> str:
        """Equal where the same code makes the same samples: in all ranks, and when a script is run
        again. Where that cannot be told it is this object's alone, and so is the stream. Another
        one as soon as the object has changed."""
        try:
            state, self.codes = identity.identity_and_codes(self.code)
        except identity.CannotTell as error:
            if self.version is None:
                return self._private(error)
            state = ""
        if self.version is None:
            return state
        self._first = state if self._first is None else self._first
        named = self.version if state == self._first else f"{self.version}\0{state}"
        return "version " + hashlib.blake2b(named.encode(), digest_size=16).hexdigest()

    def _private(self, error: Exception) -> str:
        """Anew for each state of the object, as far as its pickle tells that."""
        if self.external:
            raise ValueError(f"{error}: so `stoker produce` would not be known to run the same "
                             "code: say version=, there and here")
        state = shipping.digest(self.code)
        if not self._own:
            _log.warning("no other process shares the samples of %s, and no run resumes them: %s; "
                         "say version= to change that", self.name, error)
        if not self._own or state != self._own_state:
            self._own, self._own_state = "private " + secrets.token_hex(16), state
        return self._own

    def description(self) -> Dict[str, str]:
        """The dataset that it is now. Raises ValueError if it has got another number of samples."""
        if self._counted and len(self.code) != self.samples:
            raise ValueError(f"{self.name} had {self.samples} samples and has {len(self.code)} "
                             "now: make another Source of it, and another loader")
        out = {"path": f"code:{self.name}", "kind": "code", "code": self.identity(),
               "samples": str(self.samples)}
        if self.classes is not None:
            out["classes"] = str(self.classes)
        if self.shards is not None:
            out["shards"] = self.shards.described()
        if self.tree is not None:
            out["arrays"] = self.tree.described()
        elif not self.pure:
            out["pure"] = "no"
        return out

    def record(self) -> Record:
        """What makes a record of what the code gave."""
        if self.tree is not None:
            return RecordOfArrays(self.tree)
        return record_of_picture if self.gives == "picture" else record_of_bytes


def _first(code: Any) -> Any:
    """A sample, to see what samples are. Of a copy: what the code opens at its first call is not to
    be held by the object that goes to other processes."""
    code = copy.copy(code)
    with as_they_were():
        Seeds(code).set(0, 0, 0)
        return code_of(code)(0)


def _check_tree(tree: Tree) -> None:
    if len(tree.leaves) > _ARRAYS_MAX:
        raise ValueError(f"a sample has {len(tree.leaves)} arrays, and at most {_ARRAYS_MAX} are "
                         "possible")


def secret() -> bytes:
    """16 bytes that all processes of this user on this machine have, and nobody else: in a file
    that is theirs alone, $STOKER_SECRET or one in the user's folder."""
    path = os.environ.get("STOKER_SECRET")
    return _secret_in(path or os.path.join(users_folder(), "stoker-producers.secret"))


def users_folder() -> str:
    """One that nobody else can write to. Raises PermissionError."""
    folder = os.environ.get("XDG_RUNTIME_DIR") or os.path.join(tempfile.gettempdir(),
                                                               f"stoker-{os.geteuid()}")
    os.makedirs(folder, 0o700, exist_ok=True)
    home = os.lstat(folder)
    if not stat.S_ISDIR(home.st_mode) or home.st_uid != os.geteuid() or home.st_mode & 0o022:
        raise PermissionError(f"{folder} must be a folder of yours that nobody else can write to: "
                              "set XDG_RUNTIME_DIR to one")
    return folder


def _secret_in(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(secrets.token_bytes(16))
    except FileExistsError:
        pass
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        found = file.read(17)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or len(found) != 16:
        raise PermissionError(f"{path} must be a file of yours that only you can read, of 16 bytes")
    return found
