// SPDX-License-Identifier: MIT

use std::ffi::OsString;
use std::fmt;

use crate::message::Message;
use crate::msgpack::Value;

/// What a call can fail with.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// No daemon answers, or it is not trusted.
    Unavailable(String),
    /// The daemon went away, and did not come back in time.
    Disconnected(String),
    /// The daemon violated the protocol. The connection is closed.
    Protocol(String),
    /// No batch came in time; nothing is lost.
    Timeout(String),
    /// An option is wrong; the daemon was not asked.
    Option(String),
    /// No other batch can come before one is dropped: this says which.
    Held(String),
    /// The daemon refused a request, or ended the connection.
    Refused(Refusal),
    /// A sample cannot be made. Its batch is left out, and the next one follows. With `bad_samples`
    /// "substitute" a neighbour replaces the sample instead.
    Sample(Box<BadSample>),
}

/// Why the daemon refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub code: u32,
    /// In the protocol's table: "dataset", "pipeline", "limit", ...
    pub name: String,
    /// What happened, to what, what to do.
    pub text: String,
    /// Of "token": of what was asked for.
    pub(crate) description: Value,
}

/// Which sample is bad.
#[derive(Clone, Debug, PartialEq)]
pub struct BadSample {
    pub code: u32,
    pub name: String,
    pub text: String,
    pub epoch: u64,
    /// Over all ranks.
    pub position: u64,
    /// Its index in the dataset.
    pub sample: u64,
    pub path: OsString,
}

impl Error {
    /// The protocol's name, or a word of this crate: unavailable, disconnected, broken, timeout,
    /// option, held.
    pub fn name(&self) -> &str {
        match self {
            Error::Unavailable(_) => "unavailable",
            Error::Disconnected(_) => "disconnected",
            Error::Protocol(_) => "broken",
            Error::Timeout(_) => "timeout",
            Error::Option(_) => "option",
            Error::Held(_) => "held",
            Error::Refused(refusal) => &refusal.name,
            Error::Sample(bad) => &bad.name,
        }
    }

    pub(crate) fn of(message: &Message) -> Error {
        Error::Refused(Refusal {
            code: message.uint("code") as u32,
            name: message.text("name"),
            text: message.text("text"),
            description: message.value("description").clone(),
        })
    }

    pub(crate) fn of_sample(message: &Message) -> Error {
        Error::Sample(Box::new(BadSample {
            code: message.uint("code") as u32,
            name: message.text("name"),
            text: message.text("text"),
            epoch: message.uint("epoch"),
            position: message.uint("position"),
            sample: message.uint("sample"),
            path: message.os_string("path"),
        }))
    }

    pub(crate) fn token(what: &str, theirs: &str, ours: &str) -> Error {
        let short = |text: &str| text.chars().take(300).collect::<String>();
        let (theirs, ours) = (short(theirs), short(ours));
        let text = format!("{what}: the token is for {theirs}, these options have {ours}");
        Error::Refused(Refusal { code: 25, name: "token".into(), text, description: Value::Nil })
    }

    /// Can the next call give a batch?
    pub(crate) fn goes_on(&self) -> bool {
        matches!(self, Error::Sample(_) | Error::Timeout(_) | Error::Held(_))
    }

    /// Can another attempt to attach succeed?
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Error::Unavailable(_) | Error::Disconnected(_) | Error::Timeout(_))
            || matches!(self.name(), "stopping" | "too_many_connections")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unavailable(text)
            | Error::Disconnected(text)
            | Error::Timeout(text)
            | Error::Held(text)
            | Error::Option(text) => f.write_str(text),
            Error::Protocol(text) => write!(f, "stokerd violated the protocol: {text}"),
            Error::Refused(refusal) => {
                write!(f, "{} ({})", plain(&refusal.text), plain(&refusal.name))
            }
            Error::Sample(bad) => write!(
                f,
                "epoch {}, position {}: sample {} ({:?}): {} ({})",
                bad.epoch,
                bad.position,
                bad.sample,
                bad.path,
                plain(&bad.text),
                plain(&bad.name)
            ),
        }
    }
}

/// Terminals obey control characters, which names of files and a peer's texts may have.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

impl std::error::Error for Error {}
