// SPDX-License-Identifier: MIT
package dev.stoker;

import java.util.List;

/**
 * An array that every sample has, in C order and the byte order of the machine.
 *
 * @param name image, label, index, or a further one of the dataset
 * @param dtype uint8, float16, bfloat16, float32 or int64
 * @param shape of one sample; empty: one number
 * @param bytes of one sample
 */
public record Field(String name, String dtype, List<Integer> shape, long bytes) {}
