// SPDX-License-Identifier: MIT
package dev.stoker;

/** The base of what the calls of this package throw. */
public class StokerException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final String reason;

  StokerException(String reason, String text) {
    super(text);
    this.reason = reason;
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
