// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::msgpack::Value;
use crate::options::{absolute, choices, Call};
use crate::secret::Secret;
use crate::token::Token;

pub(crate) const VERSION: u64 = 1;
pub(crate) const FRAME_MAX: u64 = 65536;
pub(crate) const DEPTH_MAX: u64 = 16;
pub(crate) const NODES_MAX: u64 = 8192;

/// Size of a number of this type.
#[rustfmt::skip]
pub(crate) fn dtype_bytes(dtype: DType) -> u64 {
    match dtype {
        DType::Bool => 1,
        DType::Int8 => 1,
        DType::Uint8 => 1,
        DType::Int16 => 2,
        DType::Uint16 => 2,
        DType::Float16 => 2,
        DType::Bfloat16 => 2,
        DType::Int32 => 4,
        DType::Uint32 => 4,
        DType::Float32 => 4,
        DType::Int64 => 8,
        DType::Uint64 => 8,
        DType::Float64 => 8,
        DType::Complex64 => 8,
        DType::Complex128 => 16,
        DType::Text => 1,
        DType::Bytes => 1,
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Uint,
    Boolean,
    Text,
    Runs,
    Any,
}

pub(crate) struct Field {
    pub key: &'static str,
    pub kind: Kind,
    pub required: bool,
    pub default: u64,
    pub min: u64,
    pub max: u64,
}

pub(crate) struct MessageType {
    pub number: u64,
    pub name: &'static str,
    pub fields: &'static [Field],
}

#[rustfmt::skip]
pub(crate) const MESSAGES: &[MessageType] = &[
    MessageType { number: 1, name: "hello", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "version_min", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u32::MAX as u64 },
        Field { key: "version_max", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u32::MAX as u64 },
        Field { key: "client", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 255 },
    ] },
    MessageType { number: 2, name: "welcome", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "version", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u32::MAX as u64 },
        Field { key: "daemon", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 255 },
        Field { key: "pid", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "capabilities", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
    ] },
    MessageType { number: 3, name: "error", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "code", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u32::MAX as u64 },
        Field { key: "name", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 255 },
        Field { key: "text", kind: Kind::Text, required: true,
            default: 0, min: 0, max: 4096 },
        Field { key: "description", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
    ] },
    MessageType { number: 4, name: "ok", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
    ] },
    MessageType { number: 10, name: "attach", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "dataset", kind: Kind::Any, required: true,
            default: 0, min: 0, max: 0 },
        Field { key: "transforms", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
        Field { key: "dtype", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "layout", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "shuffle", kind: Kind::Boolean, required: false,
            default: 1, min: 0, max: 1 },
        Field { key: "order_seed", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "augment_seed", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "subset_start", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "subset_stop", kind: Kind::Uint, required: false,
            default: u64::MAX, min: 0, max: u64::MAX },
        Field { key: "bad_samples", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "exif_orientation", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "job", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 255 },
        Field { key: "rank", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 1048575 },
        Field { key: "world", kind: Kind::Uint, required: false,
            default: 1, min: 1, max: 1048576 },
        Field { key: "batch_size", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: 1048576 },
        Field { key: "last_batch", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "epoch", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "position", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "epochs", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "inflight", kind: Kind::Uint, required: false,
            default: 3, min: 0, max: 1024 },
        Field { key: "prefetch", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 1024 },
        Field { key: "accept_fd", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "accept_path", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "expect_dataset", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 32 },
        Field { key: "expect_names", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 32 },
        Field { key: "accept_names", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "expect_pipeline", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 32 },
        Field { key: "start", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "pace", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "priority", kind: Kind::Uint, required: false,
            default: 10, min: 1, max: 100 },
        Field { key: "accept_moves", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "draft", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "fields", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
        Field { key: "one_hot", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "sampler", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
        Field { key: "echo", kind: Kind::Uint, required: false,
            default: 1, min: 1, max: 16 },
        Field { key: "echo_window", kind: Kind::Uint, required: false,
            default: 32, min: 2, max: 1048576 },
        Field { key: "views", kind: Kind::Uint, required: false,
            default: 1, min: 1, max: 32 },
        Field { key: "expect_sampling", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 32 },
        Field { key: "order", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "window", kind: Kind::Uint, required: false,
            default: 16384, min: 1, max: u32::MAX as u64 },
        Field { key: "resize", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "like", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "expect_description", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 32 },
        Field { key: "secret", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
        Field { key: "page", kind: Kind::Uint, required: false,
            default: 1, min: 1, max: u32::MAX as u64 },
        Field { key: "accept_sizes", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
    ] },
    MessageType { number: 11, name: "progress", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "what", kind: Kind::Text, required: true,
            default: 0, min: 0, max: 255 },
        Field { key: "done", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "total", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 12, name: "attached", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "reader", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "stream", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "ring", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "dataset_fingerprint", kind: Kind::Text, required: false,
            default: 0, min: 32, max: 32 },
        Field { key: "names_fingerprint", kind: Kind::Text, required: false,
            default: 0, min: 32, max: 32 },
        Field { key: "pipeline_hash", kind: Kind::Text, required: true,
            default: 0, min: 32, max: 32 },
        Field { key: "samples", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u64::MAX },
        Field { key: "batches", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "transport", kind: Kind::Text, required: true,
            default: 0, min: 2, max: 16 },
        Field { key: "path", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 4096 },
        Field { key: "bytes", kind: Kind::Uint, required: true,
            default: 0, min: 4096, max: u64::MAX },
        Field { key: "epoch", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "position", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "sampling_hash", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 32 },
        Field { key: "note", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 4096 },
        Field { key: "description", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
        Field { key: "digest", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 32 },
        Field { key: "sizes", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
    ] },
    MessageType { number: 13, name: "credit", fields: &[
        Field { key: "inflight", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: 1024 },
    ] },
    MessageType { number: 14, name: "batch", fields: &[
        Field { key: "lease", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u64::MAX },
        Field { key: "epoch", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "position", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "count", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: 1048576 },
        Field { key: "runs", kind: Kind::Runs, required: true,
            default: 0, min: 1, max: 4 },
        Field { key: "padded", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 1048576 },
        Field { key: "substituted", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 1048576 },
        Field { key: "next_epoch", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "next_position", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "ready_ns", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "wrapped", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 1048576 },
        Field { key: "dataset_fingerprint", kind: Kind::Text, required: false,
            default: 0, min: 32, max: 32 },
        Field { key: "height", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 16384 },
        Field { key: "width", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 16384 },
        Field { key: "origin", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "exact", kind: Kind::Boolean, required: false,
            default: 1, min: 0, max: 1 },
        Field { key: "differing", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 15, name: "release", fields: &[
        Field { key: "lease", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 16, name: "bad_sample", fields: &[
        Field { key: "epoch", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "position", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "sample", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "code", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u32::MAX as u64 },
        Field { key: "name", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 255 },
        Field { key: "path", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 4096 },
        Field { key: "text", kind: Kind::Text, required: true,
            default: 0, min: 0, max: 4096 },
        Field { key: "next_epoch", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "next_position", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "field", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 255 },
        Field { key: "needed", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 17, name: "end", fields: &[
        Field { key: "epoch", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 18, name: "detach", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
    ] },
    MessageType { number: 19, name: "goaway", fields: &[
        Field { key: "text", kind: Kind::Text, required: true,
            default: 0, min: 0, max: 4096 },
        Field { key: "deadline_ms", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
    ] },
    MessageType { number: 20, name: "ring", fields: &[
        Field { key: "ring", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "transport", kind: Kind::Text, required: true,
            default: 0, min: 2, max: 16 },
        Field { key: "path", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 4096 },
        Field { key: "bytes", kind: Kind::Uint, required: true,
            default: 0, min: 4096, max: u64::MAX },
    ] },
    MessageType { number: 21, name: "stalled", fields: &[
        Field { key: "epoch", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "position", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "sample", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "path", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 4096 },
        Field { key: "read_ms", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "why", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 4096 },
        Field { key: "lease", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 22, name: "credentials", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "url", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 4096 },
        Field { key: "key", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 255 },
        Field { key: "secret", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 255 },
        Field { key: "token", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 8191 },
        Field { key: "expires", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 23, name: "produce", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "code", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 64 },
        Field { key: "secret", kind: Kind::Text, required: true,
            default: 0, min: 16, max: 16 },
        Field { key: "name", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 255 },
        Field { key: "deadline_ms", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "check", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 1000000 },
    ] },
    MessageType { number: 24, name: "producer", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "producer", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "bytes", kind: Kind::Uint, required: true,
            default: 0, min: 4096, max: u64::MAX },
        Field { key: "deadline_ms", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "nice", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: 19 },
    ] },
    MessageType { number: 25, name: "work", fields: &[
        Field { key: "group", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u64::MAX },
        Field { key: "offset", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "bytes", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "seed", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "samples", kind: Kind::Any, required: true,
            default: 0, min: 0, max: 0 },
    ] },
    MessageType { number: 26, name: "made", fields: &[
        Field { key: "group", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u64::MAX },
        Field { key: "samples", kind: Kind::Any, required: true,
            default: 0, min: 0, max: 0 },
    ] },
    MessageType { number: 27, name: "failed", fields: &[
        Field { key: "group", kind: Kind::Uint, required: true,
            default: 0, min: 1, max: u64::MAX },
        Field { key: "sample", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "text", kind: Kind::Text, required: true,
            default: 0, min: 0, max: 4096 },
        Field { key: "needed", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 30, name: "ping", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
    ] },
    MessageType { number: 31, name: "status", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
    ] },
    MessageType { number: 32, name: "report", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "values", kind: Kind::Any, required: true,
            default: 0, min: 0, max: 0 },
    ] },
    MessageType { number: 33, name: "list", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "what", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 32 },
        Field { key: "after", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "id", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 34, name: "listing", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "items", kind: Kind::Any, required: true,
            default: 0, min: 0, max: 0 },
        Field { key: "next", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 35, name: "set", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "name", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 64 },
        Field { key: "value", kind: Kind::Text, required: true,
            default: 0, min: 1, max: 255 },
    ] },
    MessageType { number: 36, name: "stop", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "upgrade", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
    ] },
    MessageType { number: 37, name: "index", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "dataset", kind: Kind::Any, required: true,
            default: 0, min: 0, max: 0 },
        Field { key: "transforms", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
        Field { key: "exif_orientation", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
    ] },
    MessageType { number: 38, name: "fit", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "dataset", kind: Kind::Any, required: true,
            default: 0, min: 0, max: 0 },
        Field { key: "transforms", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
        Field { key: "name", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 63 },
        Field { key: "per_pixel", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "zca", kind: Kind::Boolean, required: false,
            default: 0, min: 0, max: 1 },
        Field { key: "zca_epsilon", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
        Field { key: "rescale", kind: Kind::Any, required: false,
            default: 0, min: 0, max: 0 },
        Field { key: "resize", kind: Kind::Text, required: false,
            default: 0, min: 0, max: 16 },
    ] },
    MessageType { number: 39, name: "reload", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
    ] },
    MessageType { number: 40, name: "drop", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "id", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
    ] },
    MessageType { number: 41, name: "pin", fields: &[
        Field { key: "seq", kind: Kind::Uint, required: true,
            default: 0, min: 0, max: u32::MAX as u64 },
        Field { key: "id", kind: Kind::Uint, required: false,
            default: 0, min: 0, max: u64::MAX },
        Field { key: "pinned", kind: Kind::Boolean, required: false,
            default: 1, min: 0, max: 1 },
    ] },
];

/// The fields of ATTACH that decide about bytes: those of a token's description.
#[rustfmt::skip]
pub(crate) const BYTES: &[&str] = &[
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
];

choices! {
    /// The type of a field's numbers, as NumPy calls it; of pictures uint8, uint16, float16, bfloat16, or float32.
    DType, Float32;
    /// Of a field.
    Bool = "bool",
    /// Of a field.
    Int8 = "int8",
    /// Bytes, as in the picture.
    Uint8 = "uint8",
    /// Of a field.
    Int16 = "int16",
    /// Numbers of 16 bits, as in the file.
    Uint16 = "uint16",
    /// Numbers of 2 bytes.
    Float16 = "float16",
    /// Numbers of 2 bytes, with the range of float32.
    Bfloat16 = "bfloat16",
    /// Of a field.
    Int32 = "int32",
    /// Of a field.
    Uint32 = "uint32",
    /// Numbers of 4 bytes.
    Float32 = "float32",
    /// Of a field.
    Int64 = "int64",
    /// Of a field.
    Uint64 = "uint64",
    /// Of a field.
    Float64 = "float64",
    /// Of a field.
    Complex64 = "complex64",
    /// Of a field.
    Complex128 = "complex128",
    /// Of a field.
    Text = "text",
    /// Of a field.
    Bytes = "bytes",
}

choices! {
    /// NCHW (default) or NHWC.
    Layout, NCHW;
    /// Channels first.
    NCHW = "NCHW",
    /// Channels last.
    NHWC = "NHWC",
}

choices! {
    /// Error (default) or substitute.
    BadSamples, Error;
    /// A batch with a bad sample is left out, with an error.
    Error = "error",
    /// A neighbour takes the place of a bad sample.
    Substitute = "substitute",
}

choices! {
    /// Short (default), drop, pad or wrap.
    LastBatch, Short;
    /// The last batch of an epoch has what is left.
    Short = "short",
    /// A last batch that is not whole is left out.
    Drop = "drop",
    /// It is filled up with the start of the epoch.
    Pad = "pad",
    /// It is filled up with the start of the next epoch.
    Wrap = "wrap",
}

choices! {
    /// Position (default), or live: where the stream is now.
    Start, Position;
    /// At epoch and position.
    Position = "position",
    /// Where the stream is now.
    Live = "live",
}

choices! {
    /// Auto (default), free or together.
    Pace, Auto;
    /// Goes on without a slower reader after a moment.
    Auto = "auto",
    /// Goes on without a slower reader at once.
    Free = "free",
    /// Waits for slower readers, and they for it.
    Together = "together",
}

choices! {
    /// Global (default) or shards: how it is shuffled.
    Order, Global;
    /// Shuffled over all samples.
    Global = "global",
    /// Shards are shuffled, then runs of samples within them.
    Shards = "shards",
}

choices! {
    /// Whose bytes a resize makes: pillow-12 (absent) or pillow-13.
    Resize, Pillow12;
    /// As Pillow 12.3 and all before it.
    Pillow12 = "pillow-12",
    /// As Pillow 13.
    Pillow13 = "pillow-13",
}

/// What the daemon opens. Only `path` is required, or `parts`. A relative path is made
/// absolute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// What to open: absolute, or a URL; of shards a pattern.
    pub path: PathBuf,
    /// Its kind; empty: by the path.
    pub kind: String,
    /// Folder of its paths; empty: the manifest's own (manifest).
    pub root: PathBuf,
    /// Lines, tsv, csv or jsonl; empty: by the file's ending (manifest).
    pub format: String,
    /// Name of the array of images (npz).
    pub images: String,
    /// Path of an array (npy), name of one (npz), fine or coarse (npy, npz, cifar100).
    pub labels: String,
    /// Train or test; empty: train (npz, cifar10, cifar100, mnist).
    pub split: String,
    /// What its column of paths is called; empty: path (manifest).
    pub path_column: String,
    /// ... of labels; empty: label, or what is nothing else (manifest).
    pub label_column: String,
    /// Component, or feature, that is the picture (tar, tfrecord).
    pub image: String,
    /// ... that is the label (tar, tfrecord).
    pub label: String,
    /// Those that become fields, with blanks between (tar, tfrecord).
    pub components: String,
    /// Labels are numbers of so many classes (tar, tfrecord, code).
    pub classes: String,
    /// What a sample is without one: error or skip (tar, tfrecord).
    pub missing_component: String,
    /// Identity of the code that makes the samples (code).
    pub code: String,
    /// How many there are (code).
    pub samples: String,
    /// No: samples may differ at each visit; empty: by the index alone (code).
    pub pure: String,
    /// What it gives: NAME:DTYPE:SHAPE of each, with blanks between; empty: bytes of pictures (code).
    pub arrays: String,
    /// For order shards: sizes of those that samples lie in, runs of equal ones as SIZExTIMES, with blanks between (code).
    pub shards: String,
    /// Instead of a path: 2 to 16 datasets that are joined.
    pub parts: Vec<Dataset>,
}

impl Dataset {
    /// The keys and values of one that is not joined.
    #[rustfmt::skip]
    pub(crate) fn texts(&self) -> [(&'static str, OsString); 19] {
        [
            ("path", absolute(&self.path).into()),
            ("kind", self.kind.clone().into()),
            ("root", absolute(&self.root).into()),
            ("format", self.format.clone().into()),
            ("images", self.images.clone().into()),
            ("labels", self.labels.clone().into()),
            ("split", self.split.clone().into()),
            ("path_column", self.path_column.clone().into()),
            ("label_column", self.label_column.clone().into()),
            ("image", self.image.clone().into()),
            ("label", self.label.clone().into()),
            ("components", self.components.clone().into()),
            ("classes", self.classes.clone().into()),
            ("missing_component", self.missing_component.clone().into()),
            ("code", self.code.clone().into()),
            ("samples", self.samples.clone().into()),
            ("pure", self.pure.clone().into()),
            ("arrays", self.arrays.clone().into()),
            ("shards", self.shards.clone().into()),
        ]
    }
}

/// What to read, and how: the fields of ATTACH. An empty text is a default.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Map: path, and the keys of its kind.
    pub dataset: Dataset,
    /// List of maps: name, and its parameters.
    pub transforms: Vec<Call>,
    /// Uint8, uint16, float16, bfloat16, or float32.
    pub dtype: DType,
    /// NCHW (default) or NHWC.
    pub layout: Layout,
    /// A new order in each epoch.
    pub shuffle: bool,
    /// Seed of the order.
    pub order_seed: u64,
    /// Seed of the random transforms.
    pub augment_seed: u64,
    /// First sample of the dataset to use.
    pub subset_start: u64,
    /// One past the last sample to use; a larger value means the end.
    pub subset_stop: u64,
    /// Error (default) or substitute.
    pub bad_samples: BadSamples,
    /// Rotate images as their EXIF tag says.
    pub exif_orientation: bool,
    /// Name shared by the ranks of one training run.
    pub job: String,
    /// Rank of this reader, below world.
    pub rank: u32,
    /// Number of ranks.
    pub world: u32,
    /// Samples in a batch of one rank.
    pub batch_size: u32,
    /// Short (default), drop, pad or wrap.
    pub last_batch: LastBatch,
    /// Epoch to start in.
    pub epoch: u32,
    /// Global position in that epoch to start at.
    pub position: u64,
    /// Epochs to deliver before END; 0: endless.
    pub epochs: u32,
    /// Largest number of batches announced and not released.
    pub inflight: u32,
    /// Batches of all ranks that the ring holds; 0: the daemon chooses.
    pub prefetch: u32,
    /// Dataset fingerprint in the resume token.
    pub expect_dataset: String,
    /// Fingerprint of names in the resume token.
    pub expect_names: String,
    /// Pipeline hash in the resume token.
    pub expect_pipeline: String,
    /// Position (default), or live: where the stream is now.
    pub start: Start,
    /// Auto (default), free or together.
    pub pace: Pace,
    /// Weight among the streams of this user.
    pub priority: u32,
    /// JPEGs may be decoded at 1/2, 1/4 or 1/8 size.
    pub draft: bool,
    /// List of texts: further fields of the dataset to deliver; nil: all.
    pub fields: Option<Vec<String>>,
    /// Label as a float32 vector with a 1 at its class.
    pub one_hot: bool,
    /// Map: name, and its parameters; nil: all samples.
    pub sampler: Option<Call>,
    /// Number of times that each sample comes in an epoch.
    pub echo: u32,
    /// Largest run of samples that is repeated together.
    pub echo_window: u32,
    /// Images made of each sample, each with its own random draws.
    pub views: u32,
    /// Sampling hash in the resume token.
    pub expect_sampling: String,
    /// Global (default) or shards: how it is shuffled.
    pub order: Order,
    /// Of the order shards: largest run of samples that is shuffled as one.
    pub window: u32,
    /// Whose bytes a resize makes, pillow-12 or pillow-13; empty: pillow-13, or what the token says.
    pub resize: Option<Resize>,
    /// Digest of the description in the resume token.
    pub expect_description: String,
    /// Of a dataset of kind code: 16 bytes that its producers show, too.
    pub secret: Option<Secret>,
    /// Begin where this token says; it must be of the same stream.
    pub token: Option<Token>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            dataset: Default::default(),
            transforms: Default::default(),
            dtype: Default::default(),
            layout: Default::default(),
            shuffle: true,
            order_seed: Default::default(),
            augment_seed: Default::default(),
            subset_start: Default::default(),
            subset_stop: u64::MAX,
            bad_samples: Default::default(),
            exif_orientation: false,
            job: Default::default(),
            rank: Default::default(),
            world: 1,
            batch_size: Default::default(),
            last_batch: Default::default(),
            epoch: Default::default(),
            position: Default::default(),
            epochs: Default::default(),
            inflight: 3,
            prefetch: Default::default(),
            expect_dataset: Default::default(),
            expect_names: Default::default(),
            expect_pipeline: Default::default(),
            start: Default::default(),
            pace: Default::default(),
            priority: 10,
            draft: false,
            fields: Default::default(),
            one_hot: false,
            sampler: Default::default(),
            echo: 1,
            echo_window: 32,
            views: 1,
            expect_sampling: Default::default(),
            order: Default::default(),
            window: 16384,
            resize: Default::default(),
            expect_description: Default::default(),
            secret: Default::default(),
            token: None,
        }
    }
}

impl Options {
    #[rustfmt::skip]
    pub(crate) fn fields_of_attach(&self) -> HashMap<&'static str, Value> {
        HashMap::from([
            ("dataset", self.dataset.value()),
            ("transforms", self.transforms.clone().into()),
            ("dtype", self.dtype.said().into()),
            ("layout", self.layout.said().into()),
            ("shuffle", self.shuffle.into()),
            ("order_seed", self.order_seed.into()),
            ("augment_seed", self.augment_seed.into()),
            ("subset_start", self.subset_start.into()),
            ("subset_stop", self.subset_stop.into()),
            ("bad_samples", self.bad_samples.said().into()),
            ("exif_orientation", self.exif_orientation.into()),
            ("job", self.job.clone().into()),
            ("rank", self.rank.into()),
            ("world", self.world.into()),
            ("batch_size", self.batch_size.into()),
            ("last_batch", self.last_batch.said().into()),
            ("epoch", self.epoch.into()),
            ("position", self.position.into()),
            ("epochs", self.epochs.into()),
            ("inflight", self.inflight.into()),
            ("prefetch", self.prefetch.into()),
            ("expect_dataset", self.expect_dataset.clone().into()),
            ("expect_names", self.expect_names.clone().into()),
            ("expect_pipeline", self.expect_pipeline.clone().into()),
            ("start", self.start.said().into()),
            ("pace", self.pace.said().into()),
            ("priority", self.priority.into()),
            ("draft", self.draft.into()),
            ("fields", self.fields.clone().into()),
            ("one_hot", self.one_hot.into()),
            ("sampler", self.sampler.clone().into()),
            ("echo", self.echo.into()),
            ("echo_window", self.echo_window.into()),
            ("views", self.views.into()),
            ("expect_sampling", self.expect_sampling.clone().into()),
            ("order", self.order.said().into()),
            ("window", self.window.into()),
            ("resize", self.resize.map_or("", Resize::name).into()),
            ("expect_description", self.expect_description.clone().into()),
            ("secret", crate::secret::sent(self.secret.as_ref())),
        ])
    }
}
