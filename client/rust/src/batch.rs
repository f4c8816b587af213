// SPDX-License-Identifier: MIT

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::connection::Link;
use crate::error::Error;
use crate::message::{Message, Run};
use crate::ring::{Element, Field, Ring};
use crate::token::Place;

/// Consecutive positions of an epoch, in memory that is shared with the daemon. Its arrays borrow
/// from it; it is given back when it is dropped, in any thread. It may outlive its reader.
///
/// Less than `inflight` batches (3) can be kept while others are read. One that is kept while the
/// ring comes round to it takes the memory of its whole ring along, some `inflight` + 2 batches of
/// the daemon's ring-memory, until it is dropped: copy what is kept for long. Without room for that
/// the reader's next call is [`Error::Held`].
///
/// Its bytes stay as they are while it is held, also when the daemon dies. There is one exception: a
/// daemon with `lease-timeout` takes a batch back that is held too long, and then the next call of
/// the reader says so; what is read in between is no longer the batch.
pub struct Batch {
    /// Counts from 0.
    pub epoch: u64,
    /// Of its first sample, over all ranks.
    pub position: u64,
    /// Of samples.
    pub count: usize,
    /// Samples at its end that repeat the start of the epoch.
    pub padded: u64,
    /// Samples at its end that are the first of the next epoch.
    pub wrapped: u64,
    /// Samples that replace bad ones.
    pub substituted: u64,
    /// Where to resume once it is used.
    pub next: Place,
    /// CLOCK_MONOTONIC when a worker had made its last sample; 0: not known.
    pub ready_ns: u64,
    lease: u64,
    runs: Vec<Run>,
    fields: Option<Vec<Field>>, // of a size of its own; None: the ring's
    ring: Arc<Ring>,
    link: Arc<Link>,
    held: Arc<AtomicU64>, // of the attachment
}

impl Batch {
    pub(crate) fn new(
        m: &Message,
        ring: &Arc<Ring>,
        link: &Arc<Link>,
        held: &Arc<AtomicU64>,
    ) -> Batch {
        held.fetch_add(1, Ordering::AcqRel);
        link.hold(m.uint("lease"));
        Batch {
            epoch: m.uint("epoch"),
            position: m.uint("position"),
            count: m.uint("count") as usize,
            padded: m.uint("padded"),
            wrapped: m.uint("wrapped"),
            substituted: m.uint("substituted"),
            next: m.place(),
            ready_ns: m.uint("ready_ns"),
            lease: m.uint("lease"),
            runs: m.runs(),
            fields: ring
                .sized()
                .then(|| ring.fields.iter().map(|field| field.of(m.size())).collect()),
            ring: Arc::clone(ring),
            link: Arc::clone(link),
            held: Arc::clone(held),
        }
    }

    /// What it has. With Buckets their height and width are those of the batch.
    pub fn fields(&self) -> &[Field] {
        self.fields.as_deref().unwrap_or(&self.ring.fields)
    }

    fn field(&self, name: &str) -> Result<&Field, Error> {
        let missing = || Error::Option(format!("the samples have no field {name}"));
        self.fields().iter().find(|field| field.name == name).ok_or_else(missing)
    }

    /// A field of all samples, one after the other. Borrowed, unless the batch wraps round the end
    /// of its ring.
    pub fn array<T: Element>(&self, name: &str) -> Result<Cow<'_, [T]>, Error> {
        let parts = self.arrays(name)?;
        Ok(match parts[..] {
            [whole] => Cow::Borrowed(whole),
            _ => Cow::Owned(parts.concat()),
        })
    }

    /// A field where it is in memory: mostly one slice.
    pub fn arrays<T: Element>(&self, name: &str) -> Result<Vec<&[T]>, Error> {
        let field = self.field(name)?;
        let other = || Error::Option(format!("the field {name} is {}", field.dtype));
        let parts = self.runs.iter().map(|run| self.ring.array(field, *run));
        parts.collect::<Option<_>>().ok_or_else(other)
    }

    /// The bytes of a field of one sample, and its shape. Those of a ragged field have shapes of
    /// their own; a text is UTF-8. Borrowed.
    pub fn item(&self, name: &str, sample: usize) -> Result<(&[u8], Vec<usize>), Error> {
        let field = self.field(name)?;
        let mut at = sample as u64;
        for run in &self.runs {
            if at < run.count {
                let wrong = || Error::Protocol(format!("a shape of the field {name} does not fit"));
                return self.ring.item(field, run.first + at).ok_or_else(wrong);
            }
            at -= run.count;
        }
        Err(Error::Option(format!("the batch has no sample {sample}")))
    }

    /// The same as bytes, of any type.
    pub fn bytes(&self, name: &str) -> Result<Vec<&[u8]>, Error> {
        let field = self.field(name)?;
        Ok(self.runs.iter().map(|run| self.ring.slots_of(field, *run)).collect())
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::AcqRel);
        self.link.release(self.lease);
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Batch { epoch, position, count, .. } = self;
        write!(f, "Batch {{ epoch: {epoch}, position: {position}, count: {count} }}")
    }
}
