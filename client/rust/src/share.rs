// SPDX-License-Identifier: MIT
//! Which positions are a reader's batches (PROTOCOL.md, section 7), to check what the daemon says.
//! Knows no connection.

use crate::message::Message;
use crate::tables::{LastBatch, Options};
use crate::token::Place;

pub(crate) struct Share {
    /// Of an epoch, over all ranks.
    samples: u64,
    size: u64,
    /// The batch of all ranks together.
    all: u64,
    /// Where that of this rank begins in it.
    offset: u64,
    last: LastBatch,
    /// With Buckets: which run of one size is where, only the daemon knows.
    sized: bool,
}

impl Share {
    pub fn new(options: &Options, samples: u64, sized: bool) -> Share {
        let size = u64::from(options.batch_size);
        Share {
            samples,
            size,
            all: size * u64::from(options.world),
            offset: size * u64::from(options.rank),
            last: options.last_batch,
            sized,
        }
    }

    /// Where the next batch begins, when everything before `at` was had.
    pub fn next(&self, mut at: Place) -> Place {
        if self.sized {
            return at;
        }
        let least = match self.last {
            LastBatch::Drop => self.all,
            LastBatch::Short => self.offset + 1,
            LastBatch::Pad | LastBatch::Wrap => 1,
        };
        if self.samples.saturating_sub(at.position) < least {
            let over = match self.last {
                LastBatch::Wrap => at.position.saturating_sub(self.samples),
                _ => 0,
            };
            at = Place { epoch: at.epoch + 1, position: over };
        }
        Place { epoch: at.epoch, position: at.position + self.offset }
    }

    /// The place behind the batch at `first`, the same for all ranks.
    fn after(&self, first: Place) -> Place {
        let begin = first.position - self.offset;
        let left = self.samples - begin;
        if left > self.all && (self.last != LastBatch::Drop || left - self.all >= self.all) {
            return Place { epoch: first.epoch, position: begin + self.all };
        }
        let position = if self.last == LastBatch::Wrap { self.all - left } else { 0 };
        Place { epoch: first.epoch + 1, position }
    }

    /// Is this BATCH or BAD_SAMPLE the next one?
    pub fn has(&self, at: Place, message: &Message) -> bool {
        if self.sized {
            return self.goes_on(at, message);
        }
        let first = self.next(at);
        let Some(inside) = message.uint("position").checked_sub(first.position) else {
            return false;
        };
        let good = if message.name == "batch" {
            let left = match self.last {
                LastBatch::Short => self.samples - first.position,
                _ => self.size,
            };
            inside == 0 && message.uint("count") == left.min(self.size)
        } else {
            inside < self.size
        };
        good && message.uint("epoch") == first.epoch && message.place() == self.after(first)
    }

    /// Is it behind `at`, in its epoch, and before where it goes on?
    fn goes_on(&self, at: Place, message: &Message) -> bool {
        let (position, next) = (message.uint("position"), message.place());
        let forth = if next.epoch == at.epoch {
            next.position > position
        } else {
            next == Place { epoch: at.epoch + 1, position: 0 }
        };
        let few = message.name != "batch" || message.uint("count") <= self.size;
        message.uint("epoch") == at.epoch && position >= at.position && forth && few
    }

    /// What a message is where another one is due.
    pub fn disorder(&self, what: &str, at: Place, message: &Message) -> String {
        let next = self.next(at);
        format!(
            "batches out of order: {what} of epoch {}, position {}, where the batch of epoch {}, \
             position {} is next",
            message.uint("epoch"),
            message.uint("position"),
            next.epoch,
            next.position
        )
    }
}
