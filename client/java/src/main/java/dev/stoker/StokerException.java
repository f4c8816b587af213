// SPDX-License-Identifier: MIT
package dev.stoker;

/** The base of what the calls of this package throw. */
public class StokerException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final String reason;

  StokerException(String reason, String text) {
    super(plain(text));
    this.reason = reason;
  }

  /** Terminals obey control characters, which names of files and a peer's texts may have. */
  static String plain(String text) {
    return text.replaceAll("[\\x00-\\x1f\\x7f-\\x9f]", "?");
  }

  /**
   * The protocol's name of why the daemon refused, such as "dataset"; or unavailable, disconnected,
   * broken, timeout, option, held, closed.
   */
  public String reason() {
    return reason;
  }

  /** Can the next call give a batch? */
  boolean goesOn() {
    return this instanceof SampleException || reason.equals("timeout") || reason.equals("held");
  }

  /** Can another attempt to attach succeed? */
  boolean passes() {
    return switch (reason) {
      case "unavailable", "disconnected", "timeout", "stopping", "too_many_connections" ->
          !(this instanceof RequestException) || !reason.equals("timeout");
      default -> false;
    };
  }
}
