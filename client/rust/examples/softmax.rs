// SPDX-License-Identifier: MIT
//! Trains a softmax classifier on small pictures by stochastic gradient descent, with plain loops.
//! Arguments: a folder with one subfolder per class, and the number of epochs.

use stoker::{Call, Client, Options};

const EDGE: usize = 16;
const INPUTS: usize = 3 * EDGE * EDGE;
const RATE: f32 = 0.005;

struct Softmax {
    /// Of each class: one for each input, and one for the bias.
    weights: Vec<[f32; INPUTS + 1]>,
}

impl Softmax {
    /// One step for one sample; its loss.
    fn learn(&mut self, pixels: &[f32], label: usize) -> f64 {
        let score = |row: &[f32; INPUTS + 1]| {
            row.iter().zip(pixels).map(|(w, x)| w * x).sum::<f32>() + row[INPUTS]
        };
        let scores: Vec<f32> = self.weights.iter().map(|row| score(row).exp()).collect();
        let sum: f32 = scores.iter().sum();
        for (class, row) in self.weights.iter_mut().enumerate() {
            let step = RATE * (scores[class] / sum - f32::from(u8::from(class == label)));
            row.iter_mut().zip(pixels).for_each(|(w, x)| *w -= step * x);
            row[INPUTS] -= step;
        }
        -f64::from(scores[label] / sum).ln()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| ".".into());
    let epochs = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let mut reader = Client::default().attach(Options {
        dataset: folder.as_str().into(),
        transforms: vec![
            Call::new("RandomResizedCrop").with("size", EDGE).with("scale", [0.5, 1.0]),
            Call::new("RandomHorizontalFlip"),
        ],
        batch_size: 16,
        epochs,
        ..Options::default()
    })?;
    let mut model = Softmax { weights: vec![[0.0; INPUTS + 1]; reader.classes()?.len()] };
    let samples = reader.samples() as f64;
    let mut losses = vec![0.0; epochs as usize];
    for batch in reader {
        let batch = batch?;
        let (images, labels) = (batch.array::<f32>("image")?, batch.array::<i64>("label")?);
        for (pixels, label) in images.chunks_exact(INPUTS).zip(labels.iter()) {
            losses[batch.epoch as usize] += model.learn(pixels, *label as usize);
        }
    }
    for (epoch, loss) in losses.iter().enumerate() {
        println!("epoch {epoch}: loss {}", loss / samples);
    }
    Ok(())
}
