// SPDX-License-Identifier: MIT
package dev.stoker;

import java.util.Map;

/**
 * Which positions are a reader's batches (PROTOCOL.md, section 7), to check what the daemon says.
 * Knows no connection.
 *
 * @param samples of an epoch, over all ranks
 * @param size of a batch
 * @param all the batch of all ranks together
 * @param offset where that of this rank begins in it
 * @param last last_batch
 * @param sized with Buckets: which run of one size is where, only the daemon knows
 */
record Share(long samples, long size, long all, long offset, String last, boolean sized) {
  static Share of(Map<String, Object> request, long samples, boolean sized) {
    long size = (Long) request.get("batch_size");
    long all = size * (Long) request.getOrDefault("world", 1L);
    long offset = size * (Long) request.getOrDefault("rank", 0L);
    Object last = request.getOrDefault("last_batch", "");
    return new Share(
        samples, size, all, offset, last.toString().isEmpty() ? "short" : (String) last, sized);
  }

  /** Where the next batch begins, when everything before this place was had. */
  Place next(Place at) {
    if (sized) return at;
    long least =
        switch (last) {
          case "drop" -> all;
          case "short" -> offset + 1;
          default -> 1;
        };
    if (samples - at.position() >= least) return new Place(at.epoch(), at.position() + offset);
    long over = last.equals("wrap") ? Math.max(0, at.position() - samples) : 0;
    return new Place(at.epoch() + 1, over + offset);
  }

  /** The place behind the batch that begins here, the same for all ranks. */
  private Place after(Place first) {
    long begin = first.position() - offset;
    long left = samples - begin;
    if (left > all && !(last.equals("drop") && left < 2 * all)) {
      return new Place(first.epoch(), begin + all);
    }
    return new Place(first.epoch() + 1, last.equals("wrap") ? all - left : 0);
  }

  /** Is this BATCH or BAD_SAMPLE the next one? */
  boolean has(Place at, Message message) {
    if (sized) return goesOn(at, message);
    Place first = next(at);
    long inside = message.number("position") - first.position();
    boolean good = inside >= 0 && inside < size;
    if (message.name.equals("batch")) {
      long count = last.equals("short") ? Math.min(size, samples - first.position()) : size;
      good = inside == 0 && message.number("count") == count;
    }
    Place said = new Place(message.number("next_epoch"), message.number("next_position"));
    return good && message.number("epoch") == first.epoch() && said.equals(after(first));
  }

  /** Is it behind this place, in its epoch, and before where it goes on? */
  private boolean goesOn(Place at, Message message) {
    long position = message.number("position");
    Place next = new Place(message.number("next_epoch"), message.number("next_position"));
    boolean forth =
        next.epoch() == at.epoch()
            ? next.position() > position
            : next.equals(new Place(at.epoch() + 1, 0));
    boolean few = !message.name.equals("batch") || message.number("count") <= size;
    return message.number("epoch") == at.epoch() && position >= at.position() && forth && few;
  }

  /** What a message is where another one is due. */
  String disorder(String what, Place at, Message message) {
    Place next = next(at);
    return ("batches out of order: %s of epoch %s, position %s, where the batch of epoch %d, "
            + "position %d is next")
        .formatted(
            what,
            Long.toUnsignedString(message.number("epoch")),
            Long.toUnsignedString(message.number("position")),
            next.epoch(),
            next.position());
  }
}
