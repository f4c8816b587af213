// SPDX-License-Identifier: MIT
//! Batches of decoded and augmented samples from `stokerd`, the data-loading daemon of this
//! machine, read in place: the memory of a batch is shared with the daemon, read-only.
//!
//! ```no_run
//! use stoker::{Call, Client, Options};
//!
//! let reader = Client::default().attach(Options {
//!     dataset: "/data/train".into(),
//!     transforms: vec![Call::new("RandomResizedCrop").with("size", 224)],
//!     batch_size: 64,
//!     epochs: 1,
//!     ..Options::default()
//! })?;
//! for batch in reader {
//!     let batch = batch?;
//!     let images = batch.array::<f32>("image")?; // borrows from the batch
//!     println!("{} {}", batch.position, images[0]);
//! }
//! # Ok::<(), stoker::Error>(())
//! ```
//!
//! The bytes of a batch depend on dataset, transforms, seeds, epoch and position, and on nothing
//! else. If the daemon dies or is restarted, the reader waits for it and goes on behind the last
//! batch that it gave.

#![deny(unsafe_code, missing_debug_implementations, missing_docs)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod batch;
mod connection;
mod credentials;
mod error;
mod given;
mod message;
mod msgpack;
mod options;
mod produce;
mod pulse;
mod reader;
mod record;
#[allow(unsafe_code)]
mod ring;
mod secret;
mod share;
mod tables;
mod token;

pub use batch::Batch;
pub use credentials::Credentials;
pub use error::{BadSample, Cause, Error, Refusal};
pub use msgpack::Value;
pub use options::Call;
pub use produce::{Producer, Producers, Sample};
pub use reader::{Client, Reader, Warn};
pub use record::{Array, Record};
pub use ring::{Element, Field, Picture};
pub use secret::Secret;
pub use tables::{
    BadSamples, DType, Dataset, LastBatch, Layout, Options, Order, Pace, Resize, Start,
};
pub use token::{Place, Token};
