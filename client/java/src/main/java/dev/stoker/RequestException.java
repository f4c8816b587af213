// SPDX-License-Identifier: MIT
package dev.stoker;

import java.util.Map;

/** The daemon refused a request, or ended the connection. */
public final class RequestException extends StokerException {
  private static final long serialVersionUID = 1;
  private static final int TOKEN = 25;

  /** By the protocol. */
  private final long code;

  private transient Map<String, Object> description; // of "token": of what was asked for

  RequestException(long code, String name, String text) {
    super(name, text.isEmpty() ? name : text);
    this.code = code;
  }

  static RequestException of(Message message) {
    RequestException out =
        new RequestException(
            message.number("code"), message.string("name"), message.string("text"));
    if (Json.of(message.value("description"), false) instanceof Map<?, ?> map) {
      out.description = Json.map(map);
    }
    return out;
  }

  static RequestException token(String what, Object theirs, Object ours) {
    String text = what + ": the token is for " + theirs + ", these options have " + ours;
    return new RequestException(TOKEN, "token", text);
  }

  Map<String, Object> description() {
    return description;
  }

  /** {@return the number of the error in the protocol's table} */
  public long code() {
    return code;
  }
}
