// SPDX-License-Identifier: MIT

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::tables::Options;

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
    pub order_seed: u64,
    pub augment_seed: u64,
    pub shuffle: bool,
    /// Start and stop; none: all samples.
    pub subset: Option<(u64, Option<u64>)>,
    pub exif_orientation: bool,
    pub epoch: u64,
    pub position: u64,
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
