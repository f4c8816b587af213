// SPDX-License-Identifier: MIT
package dev.stoker;

/** The base of what the calls of this package throw. Its text has no control characters. */
public class StokerException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** By the protocol, or of this client. */
  private final Reason reason;

  StokerException(String reason, String text) {
    super(plain(text));
    this.reason = Reason.of(reason);
  }

  /** Terminals obey control characters, which names of files and a peer's texts may have. */
  static String plain(String text) {
    return text.replaceAll("[\\x00-\\x1f\\x7f-\\x9f]", "?");
  }

  /** {@return why the call failed, for a switch} */
  public Reason reason() {
    return reason;
  }

  /** Can the next call give a batch? */
  boolean goesOn() {
    return this instanceof SampleException || reason == Reason.TIMEOUT || reason == Reason.HELD;
  }

  /** Can another attempt to attach succeed? */
  boolean passes() {
    return switch (reason) {
      case UNAVAILABLE, DISCONNECTED, TIMEOUT, STOPPING, TOO_MANY_CONNECTIONS ->
          !(this instanceof RequestException) || reason != Reason.TIMEOUT;
      default -> false;
    };
  }
}
