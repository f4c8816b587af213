// SPDX-License-Identifier: MIT

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;

use crate::error::Error;
use crate::msgpack::Value;

const BYTES: usize = 16;
const OTHERS_MAY_WRITE: u32 = 0o022;
const OTHERS_MAY: u32 = 0o077;

/// What readers of a dataset of kind `code` and its producers show each other.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; BYTES]);

impl Secret {
    /// The one that this user's producers and readers of all languages share: that of the file
    /// `$STOKER_SECRET`, else of `stoker-producers.secret` in `$XDG_RUNTIME_DIR` or in
    /// `/tmp/stoker-<uid>`. It is made if it is not there, and must be readable by nobody else.
    pub fn of_user() -> Result<Secret, Error> {
        let path = match std::env::var_os("STOKER_SECRET").filter(|path| !path.is_empty()) {
            Some(path) => path.into(),
            None => folder()?.join("stoker-producers.secret"),
        };
        secret_in(&path)
    }

    fn value(&self) -> Value {
        Value::Text(self.0.to_vec())
    }
}

/// As a field of a message; None: as where it is absent.
pub(crate) fn sent(secret: Option<&Secret>) -> Value {
    secret.map_or(Value::Text(Vec::new()), Secret::value)
}

impl From<[u8; BYTES]> for Secret {
    fn from(bytes: [u8; BYTES]) -> Secret {
        Secret(bytes)
    }
}

impl TryFrom<&[u8]> for Secret {
    type Error = Error;

    fn try_from(bytes: &[u8]) -> Result<Secret, Error> {
        let wrong = |_| Error::Option(format!("a secret has {BYTES} bytes, not {}", bytes.len()));
        bytes.try_into().map(Secret).map_err(wrong)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |error| Error::Option(format!("the secret: {}: {error}", path.display()))
}

fn folder() -> Result<PathBuf, Error> {
    let own = || std::env::temp_dir().join(format!("stoker-{}", geteuid().as_raw()));
    let given = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    let path = given.map_or_else(own, PathBuf::from);
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
    let status = made.and_then(|()| path.symlink_metadata()).map_err(failed(&path))?;
    let mine = status.is_dir() && status.uid() == geteuid().as_raw();
    if !mine || status.mode() & OTHERS_MAY_WRITE != 0 {
        return Err(Error::Option(format!(
            "{} must be a folder of yours that nobody else can write to: set XDG_RUNTIME_DIR to one",
            path.display()
        )));
    }
    Ok(path)
}

fn make(path: &Path, flags: i32) -> io::Result<()> {
    let mut random = [0; BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).custom_flags(flags);
    options.open(path)?.write_all(&random)
}

fn secret_in(path: &Path) -> Result<Secret, Error> {
    let flags = OFlags::NOFOLLOW.bits() as i32;
    match make(path, flags) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(path)(error)),
        _ => {}
    }
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(failed(path))?;
    let status = file.metadata().map_err(failed(path))?;
    let mut found = Vec::new();
    file.take(BYTES as u64 + 1).read_to_end(&mut found).map_err(failed(path))?;
    let mine = status.uid() == geteuid().as_raw() && status.mode() & OTHERS_MAY == 0;
    match found[..].try_into() {
        Ok(bytes) if mine => Ok(Secret(bytes)),
        _ => Err(Error::Option(format!(
            "{} must be a file of yours that only you can read, of {BYTES} bytes",
            path.display()
        ))),
    }
}
