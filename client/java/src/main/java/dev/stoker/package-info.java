// SPDX-License-Identifier: MIT
/**
 * Batches of decoded and augmented samples from stokerd, the data-loading daemon of this machine,
 * read in place.
 *
 * <pre>{@code
 * Options options = new Options(Dataset.of(Path.of("/data/train")), 64).epochs(1);
 * try (Reader reader = new Client().attach(options)) {
 *   for (Batch batch : reader) {
 *     train(batch.segment("image"));
 *   }
 * }
 * }</pre>
 */
package dev.stoker;
