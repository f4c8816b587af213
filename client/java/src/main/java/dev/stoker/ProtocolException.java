// SPDX-License-Identifier: MIT
package dev.stoker;

/** The daemon violated the protocol. The connection is closed. */
public final class ProtocolException extends StokerException {
  private static final long serialVersionUID = 1;

  ProtocolException(String text) {
    super("broken", "stokerd violated the protocol: " + text);
  }
}
