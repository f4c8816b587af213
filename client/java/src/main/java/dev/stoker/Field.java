// SPDX-License-Identifier: MIT
package dev.stoker;

import java.util.List;

/**
 * An array that every sample has, in C order and the byte order of the machine.
 *
 * @param name image, label, index, or a further one of the dataset
 * @param dtype of its numbers; a text is UTF-8
 * @param shape of one sample; empty: one number; 0: any number if ragged, else as in {@link
 *     Batch#fields}
 * @param bytes of one sample, or the largest; of a ragged one, to the next one
 * @param ragged each sample has a shape of its own, which {@link Batch#item} gives
 */
public record Field(String name, DType dtype, List<Integer> shape, long bytes, boolean ragged) {}
