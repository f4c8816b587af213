# SPDX-License-Identifier: MIT
"""The resume token: a plain dict that JSON can hold, and the check that it fits the loader."""
from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional

from ._buckets import run_of
from ._resize import PILLOW_12
from ._tables import BY_NAME, BYTES, U32, U64
from .errors import TokenError, short

VERSION = 2
_ATTACH = BY_NAME["attach"].fields
# Fields of ATTACHED that are fingerprints, by their kinds. A state may have further kinds.
KINDS = {"dataset": "dataset_fingerprint", "names": "names_fingerprint",
          "pipeline": "pipeline_hash", "sampling": "sampling_hash"}
# Those of them that are of the dataset. Each may be lacking: a large folder is known by its names
# first, and a small one has no such fingerprint.
_OF_DATASET = ("dataset", "names")
# What a kind stands for.
_MEANS = {"dataset": " (its files and labels)",
          "names": " (of its files)",
          "pipeline": " (transforms, dtype, layout, draft, resize)",
          "sampling": " (order, sampler, echo, views)",
          "code": " (that makes the samples)"}
_LONG = 400  # characters of a value that differs, such as a list of transforms
PRIVATE = "private "  # how the identity of code begins that no other process has


class Place(NamedTuple):
    """A point in the sequence of epochs: everything before it was used. ``position`` is global."""

    epoch: int
    position: int


class Identity(NamedTuple):
    """What must be equal so that a place means the same samples with the same bytes."""

    description: Dict[str, Any]  # the fields of ATTACH that decide about bytes
    digest: str  # of all of these, by the daemon; "": some of them, as they were asked for
    fingerprints: Dict[str, str]  # by kind

    @property
    def resize(self) -> str:
        """Whose bytes a resize makes."""
        return str(self.description.get("resize") or PILLOW_12)

    def expected(self) -> Dict[str, str]:
        """The fields of an ATTACH that is to be of this identity."""
        fields = {f"expect_{kind}": value for kind, value in self.fingerprints.items()}
        fields["expect_description"] = self.digest
        return {key: value for key, value in fields.items() if key in _ATTACH}


def asked(request: Mapping[str, Any], resize: str) -> Dict[str, Any]:
    """The numbers and truths of a request that decide about bytes, and whose resizes it has."""
    out = {key: request.get(key, _ATTACH[key].default) for key in BYTES
           if _ATTACH[key].type in ("uint", "boolean")}
    return {**out, "resize": resize}


def attached(fields: Mapping[str, Any], request: Mapping[str, Any], resize: str,
             was: Optional[Identity]) -> Identity:
    """What a stream is. A daemon that is older than descriptions says hashes instead."""
    own = {kind: fields[key] for kind, key in KINDS.items()
           if fields[key] or kind not in _OF_DATASET}
    kinds = {} if was is None else \
        {kind: value for kind, value in was.fingerprints.items() if kind not in KINDS}
    if was is not None:  # of an object that changes between epochs the first is the token's
        own.update((kind, was.fingerprints[kind]) for kind in ("dataset",)
                   if kind in was.fingerprints)
    if "code" in request["dataset"]:
        kinds.setdefault("code", request["dataset"]["code"])
    if fields["digest"] and isinstance(fields["description"], dict):
        return Identity(fields["description"], fields["digest"],
                        {**{kind: own[kind] for kind in _OF_DATASET if kind in own}, **kinds})
    if was is not None and was.digest:
        _refuse_older()
    return Identity(asked(request, resize), "", {**own, **kinds})


def make(identity: Identity, place: Place, batch_size: int, world_size: int) -> Dict[str, Any]:
    """The token. Batch size and world size are for people; they are not checked."""
    return {"version": VERSION, **place._asdict(), "digest": identity.digest,
            "description": dict(identity.description),
            "fingerprints": dict(identity.fingerprints),
            "batch_size": batch_size, "world_size": world_size}


def read(state: Any) -> Identity:
    """What a token of any client and version is of. Raises TokenError."""
    if not isinstance(state, Mapping):
        raise TokenError.local(f"a state must be a dict, not a {type(state).__name__}")
    version = state.get("version")
    if version is None:
        raise TokenError.local("version: there is none: give what a loader's state_dict() gave")
    if type(version) is not int or version not in (1, VERSION):
        raise TokenError.local(f"version: the state has {short(version)}, this client knows 1 and "
                               f"{VERSION}: update the client")
    if version == 1:
        return _read_first(state)
    return Identity(_typed(state, "description", dict), _typed(state, "digest", str),
                    _texts(_typed(state, "fingerprints", dict)))


def _read_first(state: Mapping[str, Any]) -> Identity:
    """Of version 1, which has some fields and hashes of the rest."""
    description = {key: state[key] for key in BYTES if key in state}
    subset = state.get("subset")
    if not (subset is None or isinstance(subset, (list, tuple)) and len(subset) == 2):
        raise TokenError.local(f"subset: {short(subset)} is not a list of two numbers"
                               ": load what state_dict() gave")
    start, stop = subset or (0, None)
    description.update(subset_start=start, subset_stop=U64 if stop is None else stop)
    # Clients that knew no sampler had none.
    kinds = {kind: state.get(kind, "" if kind == "sampling" else None)
             for kind in ("dataset", "pipeline", "sampling")}
    return Identity(description, "", _texts(kinds))


def _typed(state: Mapping[str, Any], field: str, kind: type) -> Any:
    value = state.get(field)
    if type(value) is not kind:
        raise TokenError.local(f"{field}: {short(value)} is not a {kind.__name__}"
                               ": load what state_dict() gave")
    return value


def _texts(kinds: Mapping[str, Any]) -> Dict[str, str]:
    return {kind: _typed(kinds, kind, str) for kind in kinds}


def place_of(state: Mapping[str, Any], samples: int) -> Place:
    """The place in a token, of epochs of so many samples. Raises TokenError."""
    epoch, position = (_number(state, field, most)
                       for field, most in (("epoch", U32), ("position", U64)))
    if position > samples:
        raise TokenError.local(f"position: the state has {position}, an epoch has {samples}"
                               ": load what state_dict() gave")
    return Place(epoch, position) if position < samples else Place(epoch + 1, 0)


def check(theirs: Identity, ours: Identity, request: Mapping[str, Any]) -> None:
    """Is a token for this? Raises TokenError, which names the first field that differs."""
    common = [kind for kind in (*ours.fingerprints, *KINDS) if kind in theirs.fingerprints]
    if not common:
        raise TokenError.local(f"fingerprints: the state has {short(list(theirs.fingerprints))}, "
                               f"this client knows {short(list(ours.fingerprints))}"
                               ": update stoker, or load what state_dict() gave")
    for kind in ours.fingerprints:
        if theirs.fingerprints.get(kind, ours.fingerprints[kind]) != ours.fingerprints[kind]:
            _refuse(kind, theirs.fingerprints[kind], ours.fingerprints[kind])
    if "dataset" not in theirs.fingerprints and "names" not in ours.fingerprints:
        _refuse("names", theirs.fingerprints.get("names"), None)
    if not theirs.digest:
        compare(theirs.description, asked(request, ours.resize), {})
    elif not ours.digest:
        _refuse_older()
    elif theirs.digest != ours.digest:
        compare(theirs.description, ours.description, request)


def compare(theirs: Mapping[str, Any], ours: Mapping[str, Any],
            request: Mapping[str, Any]) -> None:
    """Raises TokenError with the first field that differs. What a token does not say, because its
    client or daemon knew fewer fields, is equal unless this program asks for it."""
    buckets = run_of(theirs.get("transforms"))  # these have a digest of all the others there:
    for key in sorted(theirs, key=lambda key: (bool(buckets) and key == "sampler", key)):
        if not _same(theirs[key], ours.get(key)):
            _refuse(key, theirs[key], ours.get(key))
    for key in BYTES:
        if key not in theirs and request.get(key) not in (None, "", _ATTACH[key].default):
            _refuse(key, None, request[key])


def _refuse_older() -> None:
    raise TokenError.local("digest: this stokerd is older than the state, and does not say what "
                           "its streams are: update it")


def _same(theirs: Any, ours: Any) -> bool:
    """JavaScript writes a number beyond 2^53 as a text, and 1.0 as 1."""
    if isinstance(theirs, str) and type(ours) is int:
        return theirs.isascii() and theirs.isdigit() and int(theirs) == ours
    if isinstance(theirs, (list, tuple)) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(_same, theirs, ours))
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return theirs.keys() == ours.keys() and all(_same(theirs[k], ours[k]) for k in ours)
    return isinstance(theirs, bool) == isinstance(ours, bool) and bool(theirs == ours)


def _refuse(what: str, theirs: Any, ours: Any) -> None:
    text = f"{what}{_MEANS.get(what, '')}: the state is for {short(theirs, _LONG)}, this loader " \
           f"has {short(ours, _LONG)}"
    if what == "code" and PRIVATE in (theirs[:len(PRIVATE)], ours[:len(PRIVATE)]):
        text += ". What is private goes on in the process that made it alone: give the Source a " \
                "version"
    raise TokenError.local(text)


def _number(state: Mapping[str, Any], field: str, most: int) -> int:
    value = state.get(field)
    if type(value) is not int or not 0 <= value <= most:
        raise TokenError.local(f"{field}: {short(value)} is not a number from 0 to {most}")
    return value
