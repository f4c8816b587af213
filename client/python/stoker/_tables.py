# SPDX-License-Identifier: MIT
"""The part of proto/tables.h that a reader needs, in Python: data only,
made by tests/golden/languages.py from proto/tables.h.
"""
from __future__ import annotations

from typing import Dict, Literal, NamedTuple, Optional, Tuple

VERSION = 1
FRAME_MAX = 65536
DEPTH_MAX = 16
NODES_MAX = 8192
RUNS_MAX = 4

U32 = 2**32 - 1
U64 = 2**64 - 1


class Field(NamedTuple):
    """One field of a message. ``default`` None: it is required."""

    type: str  # uint, boolean, text (min and max are its bytes), runs, any
    default: Optional[int]
    min: int
    max: int


class Message(NamedTuple):
    """One message and its fields, by key."""

    number: int
    name: str
    fields: Dict[str, Field]


_MESSAGES: Tuple[Message, ...] = (
    Message(1, "hello", {
        "seq": Field("uint", None, 0, U32),
        "version_min": Field("uint", None, 1, U32),
        "version_max": Field("uint", None, 1, U32),
        "client": Field("text", 0, 0, 255),
    }),
    Message(2, "welcome", {
        "seq": Field("uint", None, 0, U32),
        "version": Field("uint", None, 1, U32),
        "daemon": Field("text", 0, 0, 255),
        "pid": Field("uint", 0, 0, U32),
        "capabilities": Field("any", 0, 0, 0),
    }),
    Message(3, "error", {
        "seq": Field("uint", None, 0, U32),
        "code": Field("uint", None, 1, U32),
        "name": Field("text", None, 1, 255),
        "text": Field("text", None, 0, 4096),
        "description": Field("any", 0, 0, 0),
    }),
    Message(4, "ok", {
        "seq": Field("uint", None, 0, U32),
    }),
    Message(10, "attach", {
        "seq": Field("uint", None, 0, U32),
        "dataset": Field("any", None, 0, 0),
        "transforms": Field("any", 0, 0, 0),
        "dtype": Field("text", 0, 0, 16),
        "layout": Field("text", 0, 0, 16),
        "shuffle": Field("boolean", 1, 0, 1),
        "order_seed": Field("uint", 0, 0, U64),
        "augment_seed": Field("uint", 0, 0, U64),
        "subset_start": Field("uint", 0, 0, U64),
        "subset_stop": Field("uint", U64, 0, U64),
        "bad_samples": Field("text", 0, 0, 16),
        "exif_orientation": Field("boolean", 0, 0, 1),
        "job": Field("text", 0, 0, 255),
        "rank": Field("uint", 0, 0, 1048575),
        "world": Field("uint", 1, 1, 1048576),
        "batch_size": Field("uint", None, 1, 1048576),
        "last_batch": Field("text", 0, 0, 16),
        "epoch": Field("uint", 0, 0, U32),
        "position": Field("uint", 0, 0, U64),
        "epochs": Field("uint", 0, 0, U32),
        "inflight": Field("uint", 3, 0, 1024),
        "prefetch": Field("uint", 0, 0, 1024),
        "accept_fd": Field("boolean", 0, 0, 1),
        "accept_path": Field("boolean", 0, 0, 1),
        "expect_dataset": Field("text", 0, 0, 32),
        "expect_names": Field("text", 0, 0, 32),
        "accept_names": Field("boolean", 0, 0, 1),
        "expect_pipeline": Field("text", 0, 0, 32),
        "start": Field("text", 0, 0, 16),
        "pace": Field("text", 0, 0, 16),
        "priority": Field("uint", 10, 1, 100),
        "accept_moves": Field("boolean", 0, 0, 1),
        "draft": Field("boolean", 0, 0, 1),
        "fields": Field("any", 0, 0, 0),
        "one_hot": Field("boolean", 0, 0, 1),
        "sampler": Field("any", 0, 0, 0),
        "echo": Field("uint", 1, 1, 16),
        "echo_window": Field("uint", 32, 2, 1048576),
        "views": Field("uint", 1, 1, 32),
        "expect_sampling": Field("text", 0, 0, 32),
        "order": Field("text", 0, 0, 16),
        "window": Field("uint", 16384, 1, U32),
        "resize": Field("text", 0, 0, 16),
        "like": Field("uint", 0, 0, U64),
        "expect_description": Field("text", 0, 0, 32),
        "secret": Field("text", 0, 0, 16),
        "page": Field("uint", 1, 1, U32),
        "accept_sizes": Field("boolean", 0, 0, 1),
    }),
    Message(11, "progress", {
        "seq": Field("uint", None, 0, U32),
        "what": Field("text", None, 0, 255),
        "done": Field("uint", None, 0, U64),
        "total": Field("uint", 0, 0, U64),
    }),
    Message(12, "attached", {
        "seq": Field("uint", None, 0, U32),
        "reader": Field("uint", None, 0, U64),
        "stream": Field("uint", None, 0, U64),
        "ring": Field("uint", None, 0, U64),
        "dataset_fingerprint": Field("text", 0, 32, 32),
        "names_fingerprint": Field("text", 0, 32, 32),
        "pipeline_hash": Field("text", None, 32, 32),
        "samples": Field("uint", None, 1, U64),
        "batches": Field("uint", None, 0, U64),
        "transport": Field("text", None, 2, 16),
        "path": Field("text", 0, 0, 4096),
        "bytes": Field("uint", None, 4096, U64),
        "epoch": Field("uint", 0, 0, U32),
        "position": Field("uint", 0, 0, U64),
        "sampling_hash": Field("text", 0, 0, 32),
        "note": Field("text", 0, 0, 4096),
        "description": Field("any", 0, 0, 0),
        "digest": Field("text", 0, 0, 32),
        "sizes": Field("any", 0, 0, 0),
    }),
    Message(13, "credit", {
        "inflight": Field("uint", None, 0, 1024),
    }),
    Message(14, "batch", {
        "lease": Field("uint", None, 1, U64),
        "epoch": Field("uint", None, 0, U32),
        "position": Field("uint", None, 0, U64),
        "count": Field("uint", None, 1, 1048576),
        "runs": Field("runs", None, 1, 4),
        "padded": Field("uint", 0, 0, 1048576),
        "substituted": Field("uint", 0, 0, 1048576),
        "next_epoch": Field("uint", None, 0, U64),
        "next_position": Field("uint", None, 0, U64),
        "ready_ns": Field("uint", 0, 0, U64),
        "wrapped": Field("uint", 0, 0, 1048576),
        "dataset_fingerprint": Field("text", 0, 32, 32),
        "height": Field("uint", 0, 0, 16384),
        "width": Field("uint", 0, 0, 16384),
        "origin": Field("uint", 0, 0, U32),
        "exact": Field("boolean", 1, 0, 1),
        "differing": Field("uint", 0, 0, U64),
    }),
    Message(15, "release", {
        "lease": Field("uint", None, 0, U64),
    }),
    Message(16, "bad_sample", {
        "epoch": Field("uint", None, 0, U32),
        "position": Field("uint", None, 0, U64),
        "sample": Field("uint", None, 0, U64),
        "code": Field("uint", None, 1, U32),
        "name": Field("text", None, 1, 255),
        "path": Field("text", 0, 0, 4096),
        "text": Field("text", None, 0, 4096),
        "next_epoch": Field("uint", None, 0, U64),
        "next_position": Field("uint", None, 0, U64),
        "field": Field("text", 0, 0, 255),
        "needed": Field("uint", 0, 0, U64),
    }),
    Message(17, "end", {
        "epoch": Field("uint", None, 0, U64),
    }),
    Message(18, "detach", {
        "seq": Field("uint", None, 0, U32),
    }),
    Message(19, "goaway", {
        "text": Field("text", None, 0, 4096),
        "deadline_ms": Field("uint", None, 0, U32),
    }),
    Message(20, "ring", {
        "ring": Field("uint", None, 0, U64),
        "transport": Field("text", None, 2, 16),
        "path": Field("text", 0, 0, 4096),
        "bytes": Field("uint", None, 4096, U64),
    }),
    Message(21, "stalled", {
        "epoch": Field("uint", None, 0, U32),
        "position": Field("uint", None, 0, U64),
        "sample": Field("uint", None, 0, U64),
        "path": Field("text", 0, 0, 4096),
        "read_ms": Field("uint", None, 0, U64),
        "why": Field("text", 0, 0, 4096),
        "lease": Field("uint", 0, 0, U64),
    }),
    Message(22, "credentials", {
        "seq": Field("uint", None, 0, U32),
        "url": Field("text", None, 1, 4096),
        "key": Field("text", None, 1, 255),
        "secret": Field("text", None, 1, 255),
        "token": Field("text", 0, 0, 8191),
        "expires": Field("uint", 0, 0, U64),
    }),
    Message(23, "produce", {
        "seq": Field("uint", None, 0, U32),
        "code": Field("text", None, 1, 64),
        "secret": Field("text", None, 16, 16),
        "name": Field("text", 0, 0, 255),
        "deadline_ms": Field("uint", 0, 0, U32),
        "check": Field("uint", 0, 0, 1000000),
    }),
    Message(24, "producer", {
        "seq": Field("uint", None, 0, U32),
        "producer": Field("uint", None, 0, U64),
        "bytes": Field("uint", None, 4096, U64),
        "deadline_ms": Field("uint", None, 0, U32),
        "nice": Field("uint", 0, 0, 19),
    }),
    Message(25, "work", {
        "group": Field("uint", None, 1, U64),
        "offset": Field("uint", None, 0, U64),
        "bytes": Field("uint", None, 0, U64),
        "seed": Field("uint", None, 0, U64),
        "samples": Field("any", None, 0, 0),
    }),
    Message(26, "made", {
        "group": Field("uint", None, 1, U64),
        "samples": Field("any", None, 0, 0),
    }),
    Message(27, "failed", {
        "group": Field("uint", None, 1, U64),
        "sample": Field("uint", None, 0, U32),
        "text": Field("text", None, 0, 4096),
        "needed": Field("uint", 0, 0, U64),
    }),
    Message(30, "ping", {
        "seq": Field("uint", None, 0, U32),
    }),
    Message(32, "report", {
        "seq": Field("uint", None, 0, U32),
        "values": Field("any", None, 0, 0),
    }),
    Message(33, "list", {
        "seq": Field("uint", None, 0, U32),
        "what": Field("text", None, 1, 32),
        "after": Field("uint", 0, 0, U64),
        "id": Field("uint", 0, 0, U64),
    }),
    Message(34, "listing", {
        "seq": Field("uint", None, 0, U32),
        "items": Field("any", None, 0, 0),
        "next": Field("uint", None, 0, U64),
    }),
    Message(38, "fit", {
        "seq": Field("uint", None, 0, U32),
        "dataset": Field("any", None, 0, 0),
        "transforms": Field("any", 0, 0, 0),
        "name": Field("text", 0, 0, 63),
        "per_pixel": Field("boolean", 0, 0, 1),
        "zca": Field("boolean", 0, 0, 1),
        "zca_epsilon": Field("any", 0, 0, 0),
        "rescale": Field("any", 0, 0, 0),
        "resize": Field("text", 0, 0, 16),
    }),
)

BY_NUMBER: Dict[int, Message] = {message.number: message for message in _MESSAGES}
BY_NAME: Dict[str, Message] = {message.name: message for message in _MESSAGES}

# The fields of ATTACH that decide about bytes: those of a state's description.
BYTES: Tuple[str, ...] = (
    "transforms",
    "dtype",
    "layout",
    "shuffle",
    "order_seed",
    "augment_seed",
    "subset_start",
    "subset_stop",
    "exif_orientation",
    "draft",
    "sampler",
    "echo",
    "echo_window",
    "views",
    "order",
    "window",
    "resize",
)

# Words of options, for type checkers and editors.
Layout = Literal["NCHW", "NHWC"]
BadSamples = Literal["error", "substitute"]
LastBatch = Literal["short", "drop", "pad", "wrap"]
Start = Literal["position", "live"]
Pace = Literal["auto", "free", "together"]
Order = Literal["global", "shards"]
Resize = Literal["pillow-12", "pillow-13"]
