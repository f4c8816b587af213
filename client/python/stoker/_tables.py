# SPDX-License-Identifier: MIT
"""The part of proto/tables.h that a reader needs, in Python: data only.

tests/python/test_wire.py compares it with the header.
"""
from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

VERSION = 1
FRAME_MAX = 65536
DEPTH_MAX = 16
NODES_MAX = 8192
RUNS_MAX = 4

U32 = 2**32 - 1
U64 = 2**64 - 1
NAME = 255
TEXT = 4096


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


def _must(type: str, min: int, max: int) -> Field:
    return Field(type, None, min, max)


def _may(type: str, default: int, min: int, max: int) -> Field:
    return Field(type, default, min, max)


_SEQ = _must("uint", 0, U32)

_MESSAGES: Tuple[Message, ...] = (
    Message(1, "hello", {
        "seq": _SEQ,
        "version_min": _must("uint", 1, U32),
        "version_max": _must("uint", 1, U32),
        "client": _may("text", 0, 0, NAME),
    }),
    Message(2, "welcome", {
        "seq": _SEQ,
        "version": _must("uint", 1, U32),
        "daemon": _may("text", 0, 0, NAME),
        "pid": _may("uint", 0, 0, U32),
        "capabilities": _may("any", 0, 0, 0),
    }),
    Message(3, "error", {
        "seq": _SEQ,
        "code": _must("uint", 1, U32),
        "name": _must("text", 1, NAME),
        "text": _must("text", 0, TEXT),
    }),
    Message(4, "ok", {"seq": _SEQ}),
    Message(10, "attach", {
        "seq": _SEQ,
        "dataset": _must("any", 0, 0),
        "transforms": _may("any", 0, 0, 0),
        "dtype": _may("text", 0, 0, 16),
        "layout": _may("text", 0, 0, 16),
        "shuffle": _may("boolean", 1, 0, 1),
        "order_seed": _may("uint", 0, 0, U64),
        "augment_seed": _may("uint", 0, 0, U64),
        "subset_start": _may("uint", 0, 0, U64),
        "subset_stop": _may("uint", U64, 0, U64),
        "bad_samples": _may("text", 0, 0, 16),
        "exif_orientation": _may("boolean", 0, 0, 1),
        "job": _may("text", 0, 0, NAME),
        "rank": _may("uint", 0, 0, 1048575),
        "world": _may("uint", 1, 1, 1048576),
        "batch_size": _must("uint", 1, 1048576),
        "last_batch": _may("text", 0, 0, 16),
        "epoch": _may("uint", 0, 0, U32),
        "position": _may("uint", 0, 0, U64),
        "epochs": _may("uint", 0, 0, U32),
        "inflight": _may("uint", 3, 0, 1024),
        "prefetch": _may("uint", 0, 0, 1024),
        "accept_fd": _may("boolean", 0, 0, 1),
        "accept_path": _may("boolean", 0, 0, 1),
        "expect_dataset": _may("text", 0, 0, 32),
        "expect_pipeline": _may("text", 0, 0, 32),
        "start": _may("text", 0, 0, 16),
        "pace": _may("text", 0, 0, 16),
        "priority": _may("uint", 10, 1, 100),
        "accept_moves": _may("boolean", 0, 0, 1),
        "draft": _may("boolean", 0, 0, 1),
        "fields": _may("any", 0, 0, 0),
        "one_hot": _may("boolean", 0, 0, 1),
        "sampler": _may("any", 0, 0, 0),
        "echo": _may("uint", 1, 1, 16),
        "echo_window": _may("uint", 32, 2, 1048576),
        "views": _may("uint", 1, 1, 32),
        "expect_sampling": _may("text", 0, 0, 32),
        "order": _may("text", 0, 0, 16),
        "window": _may("uint", 16384, 1, U32),
        "resize": _may("text", 0, 0, 16),
    }),
    Message(11, "progress", {
        "seq": _SEQ,
        "what": _must("text", 0, NAME),
        "done": _must("uint", 0, U64),
        "total": _may("uint", 0, 0, U64),
    }),
    Message(12, "attached", {
        "seq": _SEQ,
        "reader": _must("uint", 0, U64),
        "stream": _must("uint", 0, U64),
        "ring": _must("uint", 0, U64),
        "dataset_fingerprint": _must("text", 32, 32),
        "pipeline_hash": _must("text", 32, 32),
        "samples": _must("uint", 1, U64),
        "batches": _must("uint", 0, U64),
        "transport": _must("text", 2, 16),
        "path": _may("text", 0, 0, TEXT),
        "bytes": _must("uint", 4096, U64),
        "epoch": _may("uint", 0, 0, U32),
        "position": _may("uint", 0, 0, U64),
        "sampling_hash": _may("text", 0, 0, 32),
        "note": _may("text", 0, 0, TEXT),
    }),
    Message(13, "credit", {"inflight": _must("uint", 0, 1024)}),
    Message(14, "batch", {
        "lease": _must("uint", 1, U64),
        "epoch": _must("uint", 0, U32),
        "position": _must("uint", 0, U64),
        "count": _must("uint", 1, 1048576),
        "runs": _must("runs", 1, RUNS_MAX),
        "padded": _may("uint", 0, 0, 1048576),
        "substituted": _may("uint", 0, 0, 1048576),
        "next_epoch": _must("uint", 0, U64),
        "next_position": _must("uint", 0, U64),
        "ready_ns": _may("uint", 0, 0, U64),
        "wrapped": _may("uint", 0, 0, 1048576),
    }),
    Message(15, "release", {"lease": _must("uint", 0, U64)}),
    Message(16, "bad_sample", {
        "epoch": _must("uint", 0, U32),
        "position": _must("uint", 0, U64),
        "sample": _must("uint", 0, U64),
        "code": _must("uint", 1, U32),
        "name": _must("text", 1, NAME),
        "path": _may("text", 0, 0, TEXT),
        "text": _must("text", 0, TEXT),
        "next_epoch": _must("uint", 0, U64),
        "next_position": _must("uint", 0, U64),
    }),
    Message(17, "end", {"epoch": _must("uint", 0, U64)}),
    Message(18, "detach", {"seq": _SEQ}),
    Message(19, "goaway", {
        "text": _must("text", 0, TEXT),
        "deadline_ms": _must("uint", 0, U32),
    }),
    Message(20, "ring", {
        "ring": _must("uint", 0, U64),
        "transport": _must("text", 2, 16),
        "path": _may("text", 0, 0, TEXT),
        "bytes": _must("uint", 4096, U64),
    }),
    Message(21, "stalled", {
        "epoch": _must("uint", 0, U32),
        "position": _must("uint", 0, U64),
        "sample": _must("uint", 0, U64),
        "path": _may("text", 0, 0, TEXT),
        "read_ms": _must("uint", 0, U64),
        "why": _may("text", 0, 0, TEXT),
        "lease": _may("uint", 0, 0, U64),
    }),
    Message(22, "credentials", {
        "seq": _SEQ,
        "url": _must("text", 1, TEXT),
        "key": _must("text", 1, NAME),
        "secret": _must("text", 1, NAME),
        "token": _may("text", 0, 0, 8191),
        "expires": _may("uint", 0, 0, U64),
    }),
    Message(30, "ping", {"seq": _SEQ}),
    Message(32, "report", {"seq": _SEQ, "values": _must("any", 0, 0)}),
    Message(33, "list", {
        "seq": _SEQ,
        "what": _must("text", 1, 32),
        "after": _may("uint", 0, 0, U64),
    }),
    Message(34, "listing", {
        "seq": _SEQ,
        "items": _must("any", 0, 0),
        "next": _must("uint", 0, U64),
    }),
    Message(38, "fit", {
        "seq": _SEQ,
        "dataset": _must("any", 0, 0),
        "transforms": _may("any", 0, 0, 0),
        "name": _may("text", 0, 0, 63),
        "per_pixel": _may("boolean", 0, 0, 1),
        "zca": _may("boolean", 0, 0, 1),
        "zca_epsilon": _may("any", 0, 0, 0),
        "rescale": _may("any", 0, 0, 0),
        "resize": _may("text", 0, 0, 16),
    }),
)

BY_NUMBER: Dict[int, Message] = {message.number: message for message in _MESSAGES}
BY_NAME: Dict[str, Message] = {message.name: message for message in _MESSAGES}
