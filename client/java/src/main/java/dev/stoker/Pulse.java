// SPDX-License-Identifier: MIT
package dev.stoker;

/** Whether a daemon that is waited for lives. Times are of System.nanoTime(). Knows no socket. */
final class Pulse {
  private static final long ASK_NS = 2_000_000_000L; // of silence, after which PING is sent
  static final long SAY_NS = 5_000_000_000L; // of silence, after which it is said
  // That an answer to PING has: this process may have been stopped itself.
  private static final long FAIR_NS = 2_500_000_000L;

  /** What is due. */
  enum Step {
    WAIT,
    ASK,
    SAY
  }

  private boolean greeted; // PING is allowed
  private long ping; // the number of one without an answer; 0: there is none ...
  private long asked; // ... sent at this time
  private long silent; // since when, within this wait
  private boolean said; // in this wait

  /** WELCOME has come. */
  void greet() {
    greeted = true;
  }

  /** A wait begins, or something has come. */
  void begin() {
    silent = System.nanoTime();
    said = false;
  }

  /** How many ns until something is due; if nothing is, very long. */
  long left(long now) {
    if (said) return Long.MAX_VALUE;
    if (greeted && ping == 0) return silent + ASK_NS - now;
    long left = silent + SAY_NS - now;
    return greeted ? Math.max(left, asked + FAIR_NS - now) : left;
  }

  /** What to do; {@code next}: the number that a PING would have. */
  Step step(long next) {
    long now = System.nanoTime();
    if (left(now) > 0) return Step.WAIT;
    if (greeted && ping == 0) {
      ping = next;
      asked = now;
      return Step.ASK;
    }
    said = true;
    return Step.SAY;
  }

  /** The answer to the PING? Nobody else waits for it. */
  boolean takes(Message message) {
    boolean pong = ping != 0 && message.name.equals("ok") && message.number("seq") == ping;
    if (pong) ping = 0;
    return pong;
  }
}
