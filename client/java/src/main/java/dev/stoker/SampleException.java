// SPDX-License-Identifier: MIT
package dev.stoker;

/**
 * A sample cannot be made. Its batch is left out, and the next one follows. With badSamples
 * "substitute" a neighbour replaces the sample instead.
 */
public final class SampleException extends StokerException {
  private static final long serialVersionUID = 1;

  /** Of the sample. */
  public final long epoch;

  /** Over all ranks. */
  public final long position;

  /** Its index in the dataset. */
  public final long sample;

  /** Of its file. */
  public final transient Text path;

  SampleException(Message message) {
    super(message.string("name"), words(message));
    epoch = message.number("epoch");
    position = message.number("position");
    sample = message.number("sample");
    path = message.text("path");
  }

  private static String words(Message m) {
    return "epoch %d, position %d: sample %d (%s): %s (%s)"
        .formatted(
            m.number("epoch"),
            m.number("position"),
            m.number("sample"),
            m.text("path"),
            m.text("text"),
            m.text("name"));
  }
}
