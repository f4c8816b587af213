// SPDX-License-Identifier: MIT
//! Descriptors of a dataset, for a daemon of another user: they show what this one may read, so
//! that it needs no rule for us (PROTOCOL.md, section 6). What cannot be opened is left out: a rule
//! may allow it. Knows no socket.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{fstat, open, FileType, Mode, OFlags};

use crate::msgpack::Value;

/// That the daemon takes with a message.
pub(crate) const GIVEN_MAX: usize = 34;

type Map = Vec<(Vec<u8>, Value)>;

#[derive(Default)]
pub(crate) struct Given {
    pub descriptors: Vec<OwnedFd>,
    /// Of ATTACH: dataset and sampler, with the numbers of the descriptors.
    pub fields: HashMap<&'static str, Value>,
}

impl Given {
    pub fn new(request: &HashMap<&'static str, Value>) -> Given {
        let mut out = Given::default();
        if let Some(Value::Map(dataset)) = request.get("dataset") {
            let dataset = out.joined(dataset);
            out.fields.insert("dataset", dataset);
        }
        if let Some(Value::Map(sampler)) = request.get("sampler") {
            let sampler = out.sampler(sampler);
            out.fields.insert("sampler", sampler);
        }
        out
    }

    fn joined(&mut self, map: &Map) -> Value {
        let Some(Value::List(parts)) = find(map, "parts") else { return self.dataset(map) };
        let parts = parts.iter().map(|part| match part {
            Value::Map(part) => self.dataset(part),
            other => other.clone(),
        });
        Value::Map(vec![(b"parts".to_vec(), Value::List(parts.collect()))])
    }

    fn dataset(&mut self, map: &Map) -> Value {
        let mut out = map.clone();
        let path = path_of(map, "path").unwrap_or_default();
        if let Some(folder) = pattern_folder(&path) {
            // Of shards.
            let both = self.add(&mut out, "path_fd", &folder).is_some()
                && self.add(&mut out, "root_fd", &folder).is_some();
            if both && find(map, "kind").is_none() {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let kind = if name.contains(".tfrecord") { "tfrecord" } else { "tar" };
                out.push((b"kind".to_vec(), kind.into()));
            }
            return Value::Map(out);
        }
        if self.add(&mut out, "path_fd", &path) == Some(FileType::RegularFile) {
            let root = path_of(map, "root").or_else(|| path.parent().map(PathBuf::from));
            self.add(&mut out, "root_fd", &root.unwrap_or_default());
        }
        if let Some(labels) = path_of(map, "labels").filter(|labels| labels.is_absolute()) {
            self.add(&mut out, "labels_fd", &labels);
        }
        Value::Map(out)
    }

    fn sampler(&mut self, map: &Map) -> Value {
        let mut out = map.clone();
        for key in ["indices", "weights"] {
            if let Some(path) = path_of(map, key) {
                self.add(&mut out, "list_fd", &path);
            }
        }
        Value::Map(out)
    }

    /// Open it and put its number into a map. Its type; None: it was left out.
    fn add(&mut self, out: &mut Map, key: &str, path: &Path) -> Option<FileType> {
        if self.descriptors.len() == GIVEN_MAX || is_url(path) {
            return None;
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let descriptor = open(path, flags, Mode::empty()).ok()?;
        let kind = FileType::from_raw_mode(fstat(&descriptor).ok()?.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::Directory) {
            return None;
        }
        out.push((key.into(), self.descriptors.len().into()));
        self.descriptors.push(descriptor);
        Some(kind)
    }
}

fn find<'a>(map: &'a Map, key: &str) -> Option<&'a Value> {
    map.iter().find(|(name, _)| name == key.as_bytes()).map(|(_, value)| value)
}

fn path_of(map: &Map, key: &str) -> Option<PathBuf> {
    match find(map, key) {
        Some(Value::Text(text)) => Some(OsStr::from_bytes(text).into()),
        _ => None,
    }
}

/// It would be opened as a file, beneath a folder "s3:".
fn is_url(path: &Path) -> bool {
    path.as_os_str().as_bytes().windows(3).any(|part| part == b"://")
}

/// The folder that a pattern of shards begins at; None: the path is no pattern.
fn pattern_folder(path: &Path) -> Option<PathBuf> {
    let text = path.as_os_str().as_bytes();
    if is_url(path) {
        return None;
    }
    let special = text.iter().position(|byte| b"{*?[".contains(byte))?;
    let folder = text[..special].iter().rposition(|byte| *byte == b'/')?;
    let is_none = path.symlink_metadata().is_err();
    is_none.then(|| OsStr::from_bytes(&text[..folder.max(1)]).into())
}
