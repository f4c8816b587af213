// SPDX-License-Identifier: MIT

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::Error;
use crate::tables::Options;

const PILLOW_12: &str = "pillow-12";
pub(crate) const PILLOW_13: &str = "pillow-13";
const OLD_TOKEN: &str = "the token is of a client that knew the resizes of Pillow 12 alone: the \
                         stream goes on with these";
const OLD_DAEMON: &str =
    "this stokerd is older than the client and makes the resizes of Pillow 12 alone";

/// A point in the sequence of epochs: everything before it was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub epoch: u64,
    /// Over all ranks.
    pub position: u64,
}

/// Where to resume, and of which stream. As JSON the clients of all languages understand it. It is
/// the same on all ranks after the same number of batches; batch size and world may differ when it
/// is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Token {
    pub version: u32,
    pub dataset: String,
    pub pipeline: String,
    pub sampling: String,
    /// Empty, of an older client: pillow-12.
    #[serde(default)]
    pub resize: String,
    #[serde(deserialize_with = "whole")]
    pub order_seed: u64,
    #[serde(deserialize_with = "whole")]
    pub augment_seed: u64,
    pub shuffle: bool,
    /// Start and stop; none: all samples.
    #[serde(deserialize_with = "whole_subset")]
    pub subset: Option<(u64, Option<u64>)>,
    pub exif_orientation: bool,
    pub epoch: u64,
    pub position: u64,
}

/// A number; beyond 2^53 a text, if JavaScript's JSON.stringify() wrote it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Whole {
    Number(u64),
    Text(String),
}

impl Whole {
    fn value<E: serde::de::Error>(self) -> Result<u64, E> {
        match self {
            Whole::Number(number) => Ok(number),
            Whole::Text(text) => text.parse().map_err(E::custom),
        }
    }
}

fn whole<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    Whole::deserialize(input)?.value()
}

fn whole_subset<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<(u64, Option<u64>)>, D::Error> {
    let Some((start, stop)) = Option::<(Whole, Option<Whole>)>::deserialize(input)? else {
        return Ok(None);
    };
    Ok(Some((start.value()?, stop.map(Whole::value).transpose()?)))
}

impl Token {
    /// One of these options, without what only the daemon knows.
    pub(crate) fn identity(options: &Options) -> Token {
        let stop = Some(options.subset_stop).filter(|stop| *stop != u64::MAX);
        Token {
            version: 1,
            order_seed: options.order_seed,
            augment_seed: options.augment_seed,
            shuffle: options.shuffle,
            subset: (options.subset_start != 0 || stop.is_some())
                .then_some((options.subset_start, stop)),
            exif_orientation: options.exif_orientation,
            ..Token::default()
        }
    }

    /// Is it for these options? The daemon compares the rest.
    pub(crate) fn check(&self, options: &Options) -> Result<(), Error> {
        let ours = Token::identity(options);
        macro_rules! same {
            ($($field:ident),*) => {$(
                if self.$field != ours.$field {
                    return Err(Error::token(stringify!($field), &self.$field, &ours.$field));
                }
            )*};
        }
        same!(version, order_seed, augment_seed, shuffle, subset, exif_orientation);
        Ok(())
    }
}

/// Whose bytes a resize makes, by the options or the token. A daemon that does not know the word
/// would make other ones.
pub(crate) fn settle_resize(
    options: &Options,
    known: bool,
    warn: fn(&str),
) -> Result<String, Error> {
    let asked = Some(options.resize.as_str()).filter(|asked| !asked.is_empty());
    let mut must = asked;
    if let Some(token) = &options.token {
        let theirs = if token.resize.is_empty() { PILLOW_12 } else { token.resize.as_str() };
        if asked.is_some_and(|asked| asked != theirs) {
            return Err(Error::token("resize", &theirs, &options.resize));
        }
        if token.resize.is_empty() && asked.is_none() {
            warn(OLD_TOKEN);
        }
        must = Some(theirs);
    }
    let whose = must.unwrap_or(PILLOW_13);
    if whose != PILLOW_13 || known {
        return Ok(whose.into());
    }
    if must.is_some() {
        return Err(Error::Option(format!("{OLD_DAEMON}: update it, or ask for {PILLOW_12}")));
    }
    warn(OLD_DAEMON);
    Ok(PILLOW_12.into())
}

/// What is sent of it: absence means Pillow 12, to any daemon.
pub(crate) fn sent(resize: &str) -> &str {
    if resize == PILLOW_12 {
        ""
    } else {
        resize
    }
}
