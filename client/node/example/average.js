// SPDX-License-Identifier: MIT
// Feeds the batches of an image folder: as tensors to a dense layer of TensorFlow.js, if that is
// installed, else to a sum that says the average colour. Arguments: the folder, and the epochs.
import { attach } from "../lib/index.js";

const [dataset = ".", epochs = "3"] = process.argv.slice(2);
const size = 16;

async function learner(classes) {
  const tf = await import("@tensorflow/tfjs").catch(() => null);
  if (!tf) return null;
  const model = tf.sequential();
  model.add(tf.layers.flatten({ inputShape: [size, size, 3] }));
  model.add(tf.layers.dense({ units: classes, activation: "softmax" }));
  model.compile({ optimizer: "adam", loss: "sparseCategoricalCrossentropy" });
  return async (batch) => {
    const images = tf.tensor(batch.array("image"), batch.shape("image"));
    const labels = tf.tensor1d(Float32Array.from(batch.labels, Number));
    const loss = await model.trainOnBatch(images, labels);
    tf.dispose([images, labels]);
    return loss;
  };
}

function average() {
  let sum = 0;
  let count = 0;
  return (batch) => {
    const images = batch.array("image");
    for (const value of images) sum += value;
    count += images.length;
    return sum / count;
  };
}

const reader = await attach({
  dataset,
  transforms: [{ name: "Resize", size: [size, size] }, { name: "RandomHorizontalFlip" }],
  layout: "NHWC",
  batchSize: 16,
  epochs: Number(epochs),
});
const step = (await learner((await reader.classes()).length)) ?? average();
for await (const batch of reader) {
  console.log(batch.epoch, batch.position, await step(batch));
}
reader.close();
