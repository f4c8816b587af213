// SPDX-License-Identifier: MIT
package dev.stoker;

/** The daemon refused a request, or ended the connection. */
public final class RequestException extends StokerException {
  private static final long serialVersionUID = 1;
  private static final int TOKEN = 25;
  private final long code;

  RequestException(long code, String name, String text) {
    super(name, text.isEmpty() ? name : text);
    this.code = code;
  }

  static RequestException of(Message message) {
    return new RequestException(
        message.number("code"), message.string("name"), message.string("text"));
  }

  static RequestException token(String what, Object theirs, Object ours) {
    String text = what + ": the token is for " + theirs + ", these options have " + ours;
    return new RequestException(TOKEN, "token", text);
  }

  /** Its number in the protocol's table. */
  public long code() {
    return code;
  }
}
