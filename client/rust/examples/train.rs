// SPDX-License-Identifier: MIT
//! A training loop that can be killed at any time: two epochs, whose batches another thread uses.
//!
//!     train DATASET STATE [BATCHES [STEP_MS]]
//!
//! After each batch it writes to the file STATE where to go on, and begins there if there is such a
//! file. A batch with a bad sample is left out. The daemon may be killed and started again. It stops
//! after BATCHES (0: at the end); a step takes STEP_MS.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::time::Duration;
use std::{env, fs, io, thread};

use stoker::{Batch, Call, Client, DType, Options, Reader, Token};

const EPOCHS: u64 = 2;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// What the reading thread hands to the training one: a batch, and where to go on once it is used.
type Step = (Batch, Token);

/// What is learnt of a batch: the sums of its pixels, labels and weights, if it has any.
fn learn(what: &str, batch: &Batch) -> Outcome {
    let pixels: u64 = batch.array::<u8>("image")?.iter().copied().map(u64::from).sum();
    let labels: i64 = batch.array::<i64>("label")?.iter().sum();
    let mut weights = 0.0;
    if batch.fields().iter().any(|field| field.name == "weight") {
        weights += batch.array::<f32>("weight")?.iter().copied().map(f64::from).sum::<f64>();
    }
    let Batch { epoch, position, count, .. } = batch;
    println!("{what} {epoch} {position} {count} {pixels} {labels} {weights}");
    Ok(())
}

/// Writes a file that is whole at any time, even if the program is killed here.
fn save(token: &Token, state: &Path) -> Outcome {
    let next = state.with_extension("next");
    fs::write(&next, serde_json::to_string(token)?)?;
    Ok(fs::rename(next, state)?)
}

fn load(state: &Path) -> Result<Option<Token>, Box<dyn Error + Send + Sync>> {
    match fs::read_to_string(state) {
        Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Uses one batch after the other; each is given back where it is dropped.
fn train(steps: Receiver<Step>, state: &Path, pause: Duration) -> Outcome {
    for (batch, token) in steps {
        learn("batch", &batch)?;
        drop(batch);
        thread::sleep(pause);
        save(&token, state)?;
    }
    Ok(())
}

/// Takes batches up to the end, or so many, and hands them over; the first one is kept.
fn read(reader: &mut Reader, steps: SyncSender<Step>, state: &Path, batches: usize) -> Outcome {
    let mut kept: Option<Batch> = None;
    let mut taken = 0;
    while batches == 0 || taken < batches {
        let batch = match reader.next_batch() {
            Ok(Some(batch)) if batch.epoch < EPOCHS => batch,
            Ok(_) => break,
            Err(error @ stoker::Error::Sample(_)) => {
                println!("left out: {error}");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        taken += 1;
        if kept.is_some() {
            if steps.send((batch, reader.token())).is_err() {
                break; // the other thread has ended, and says why
            }
        } else {
            learn("first", &batch)?;
            save(&reader.token(), state)?;
            kept = Some(batch);
        }
    }
    kept.map_or(Ok(()), |batch| learn("kept", &batch))
}

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().collect();
    let [_, dataset, state, numbers @ ..] = &arguments[..] else {
        return Err("usage: train DATASET STATE [BATCHES [STEP_MS]]".into());
    };
    let state = PathBuf::from(state);
    let batches = numbers.first().map_or(Ok(0), |text| text.parse())?;
    let pause = Duration::from_millis(numbers.get(1).map_or(Ok(0), |text| text.parse())?);
    let mut reader = Client::default().attach(Options {
        dataset: dataset.as_str().into(),
        transforms: vec![
            Call::new("RandomResizedCrop").with("size", 32),
            Call::new("RandomHorizontalFlip"),
        ],
        dtype: DType::Uint8,
        batch_size: 8,
        inflight: 4, // one kept, one in use, one handed over, one to come
        token: load(&state)?,
        ..Options::default()
    })?;
    for field in reader.fields() {
        println!("field {} {}", field.name, field.dtype);
    }
    let (steps, received) = sync_channel(0);
    thread::scope(|scope| {
        let trainer = scope.spawn(|| train(received, &state, pause));
        let outcome = read(&mut reader, steps, &state, batches);
        trainer.join().expect("it does not panic").and(outcome)
    })?;
    println!("reconnects {}", reader.reconnects());
    Ok(())
}
