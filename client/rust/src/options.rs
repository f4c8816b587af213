// SPDX-License-Identifier: MIT

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::msgpack::Value;
use crate::tables::{Dataset, Options};

/// A transform, or a sampler: a name and parameters. Transforms are the classes of
/// `torchvision.transforms`; samplers are `subset`, `split`, `weighted` and `balanced`.
///
/// ```
/// use stoker::Call;
/// let crop = Call::new("RandomResizedCrop").with("size", 224).with("scale", [0.25, 1.0]);
/// let maybe = Call::new("RandomApply").with("transforms", vec![crop]).with("p", 0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    name: String,
    parameters: Vec<(String, Value)>,
}

impl Call {
    /// Without parameters.
    pub fn new(name: &str) -> Call {
        Call { name: name.into(), parameters: Vec::new() }
    }

    /// ... with this parameter.
    pub fn with(mut self, parameter: &str, value: impl Into<Value>) -> Call {
        self.parameters.push((parameter.into(), value.into()));
        self
    }

    /// A parameter that is a text; empty if it has none of this name.
    pub(crate) fn text(&self, parameter: &str) -> &str {
        match self.parameters.iter().find(|(name, _)| name == parameter) {
            Some((_, Value::Text(bytes))) => std::str::from_utf8(bytes).unwrap_or(""),
            _ => "",
        }
    }
}

impl From<Call> for Value {
    fn from(call: Call) -> Value {
        let name = (b"name".to_vec(), call.name.into());
        let rest = call.parameters.into_iter().map(|(key, value)| (key.into_bytes(), value));
        Value::Map(std::iter::once(name).chain(rest).collect())
    }
}

/// An enum whose values are words of the protocol: its name and default, then each value's.
macro_rules! choices {
    ($(#[$help:meta])* $name:ident, $default:ident;
     $($(#[$says:meta])* $value:ident = $word:literal,)*) => {
        $(#[$help])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$says])* $value,)*
        }

        impl $name {
            /// The word of the protocol.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$value => $word,)*
                }
            }

            /// ... which is absent where it is the default.
            #[allow(dead_code)] // of resize, whose default is not this one
            pub(crate) fn said(self) -> &'static str {
                if self == $name::default() { "" } else { self.name() }
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name::$default
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::error::Error;

            fn from_str(word: &str) -> Result<$name, Self::Err> {
                match word {
                    $($word => Ok($name::$value),)*
                    _ => Err(crate::error::Error::Option(format!(
                        "there is no {} {word:?}", stringify!($name)))),
                }
            }
        }
    };
}
pub(crate) use choices;

/// From a path: a text, a `String`, a `PathBuf`, or a reference to one.
///
/// ```
/// use std::path::{Path, PathBuf};
/// use stoker::Dataset;
/// let train = Dataset::from("/data/train");
/// assert_eq!(train, String::from("/data/train").into());
/// assert_eq!(train, PathBuf::from("/data/train").into());
/// assert_eq!(train, Path::new("/data/train").into());
/// assert_eq!(train, (&PathBuf::from("/data/train")).into());
/// ```
impl<P: AsRef<Path>> From<P> for Dataset {
    fn from(path: P) -> Dataset {
        Dataset { path: path.as_ref().into(), ..Dataset::default() }
    }
}

impl Dataset {
    pub(crate) fn value(&self) -> Value {
        if !self.parts.is_empty() {
            let parts = self.parts.iter().map(Dataset::value).collect();
            return Value::Map(vec![(b"parts".to_vec(), Value::List(parts))]);
        }
        let given = self.texts().into_iter().filter(|(_, text)| !text.is_empty());
        Value::Map(
            given.map(|(key, text)| (key.into(), Value::Text(text.as_bytes().to_vec()))).collect(),
        )
    }
}

pub(crate) fn absolute(path: &Path) -> PathBuf {
    let text = path.to_str().unwrap_or_default();
    let is_url = text.split_once("://").is_some_and(|(scheme, _)| !scheme.contains('/'));
    let is_name = text.starts_with("code:"); // no path: a name for people
    if is_url || is_name || path.as_os_str().is_empty() {
        return path.into();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// The fields of an ATTACH.
pub(crate) fn request_of(options: &Options) -> Result<HashMap<&'static str, Value>, Error> {
    let wrong = |text: String| Err(Error::Option(text));
    if options.dataset == Dataset::default() {
        return wrong("the option dataset is missing".into());
    }
    if options.batch_size == 0 {
        return wrong("the option batch_size is missing".into());
    }
    if options.inflight == 0 {
        return wrong("with an inflight of 0 no batch would ever come".into());
    }
    if options.rank >= options.world {
        return wrong(format!("rank is {}, and world is {}", options.rank, options.world));
    }
    let mut out = options.fields_of_attach();
    out.insert("accept_fd", true.into());
    out.insert("accept_moves", true.into());
    out.insert("accept_names", true.into());
    out.insert("accept_sizes", true.into());
    out.insert("page", crate::ring::VERSION.into());
    if let Some(token) = &options.token {
        token.check(&out)?;
        out.insert("epoch", token.epoch.into());
        out.insert("position", token.position.into());
    }
    Ok(out)
}
