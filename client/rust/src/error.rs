// SPDX-License-Identifier: MIT

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::message::Message;
use crate::msgpack::Value;

/// What a call can fail with. Its source is the error of the system, if one was the reason:
///
/// ```
/// use std::{error::Error as _, io};
/// use stoker::{Client, Options};
///
/// let client = Client { socket: Some("/nowhere/stokerd.sock".into()), ..Client::default() };
/// let options = Options { dataset: "/data/train".into(), batch_size: 64, ..Options::default() };
/// let error = client.attach(options).unwrap_err();
/// let system = error.source().and_then(|error| error.downcast_ref::<io::Error>());
/// assert_eq!(system.unwrap().kind(), io::ErrorKind::NotFound);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// No daemon answers, or it is not trusted.
    Unavailable(Cause),
    /// The daemon went away, and did not come back in time.
    Disconnected(Cause),
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

/// Why there is no connection: a text, and the error of the system if one was the reason.
#[derive(Clone, Debug)]
pub struct Cause {
    text: String,
    system: Option<Arc<io::Error>>,
}

impl Cause {
    /// The same reason in other words.
    pub(crate) fn with_text(&self, text: String) -> Cause {
        Cause { text, system: self.system.clone() }
    }
}

impl From<String> for Cause {
    fn from(text: String) -> Cause {
        Cause { text, system: None }
    }
}

impl From<&str> for Cause {
    fn from(text: &str) -> Cause {
        text.to_owned().into()
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Cause {
        Cause { text: error.to_string(), system: Some(Arc::new(error)) }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why the daemon refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Its number in the protocol's table.
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
    /// The number of the reason in the protocol's table.
    pub code: u32,
    /// The name of the reason there: "sample_corrupt", "sample_limit", ...
    pub name: String,
    /// What is wrong with it.
    pub text: String,
    /// The epoch that it was asked for in.
    pub epoch: u64,
    /// Over all ranks.
    pub position: u64,
    /// Its index in the dataset.
    pub sample: u64,
    /// The file, beneath the dataset's folder, or the member of an archive.
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

    /// The same error in other words.
    pub(crate) fn with_text(&self, text: String) -> Error {
        match self {
            Error::Disconnected(cause) => Error::Disconnected(cause.with_text(text)),
            _ => Error::Disconnected(text.into()),
        }
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
            Error::Unavailable(cause) | Error::Disconnected(cause) => cause.fmt(f),
            Error::Timeout(text) | Error::Held(text) | Error::Option(text) => f.write_str(text),
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Unavailable(cause) | Error::Disconnected(cause) => {
                cause.system.as_deref().map(|error| error as _)
            }
            _ => None,
        }
    }
}
