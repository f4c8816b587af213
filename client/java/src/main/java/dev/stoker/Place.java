// SPDX-License-Identifier: MIT
package dev.stoker;

/**
 * A point in the sequence of epochs: everything before it was used.
 *
 * @param epoch counted from 0
 * @param position in that epoch, over all ranks
 */
public record Place(long epoch, long position) {}
