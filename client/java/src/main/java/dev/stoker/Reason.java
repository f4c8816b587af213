// SPDX-License-Identifier: MIT
// Made by tests/golden/languages.py from proto/tables.h.
package dev.stoker;

/** Why a call failed: the protocol's names, and those of this client. */
public enum Reason {
  /** The length of a frame is 0 or above the limit. */
  FRAME("frame"),

  /** The bytes are not one well-formed msgpack map within the limits. */
  STRUCTURE("structure"),

  /** No message has this number, or it does not belong on this socket. */
  MESSAGE("message"),

  /** A key is missing, occurs twice, has a wrong type or is out of range. */
  FIELD("field"),

  /** The message is not allowed in this state of the connection. */
  WRONG_STATE("wrong_state"),

  /** No common protocol version. */
  VERSION("version"),

  /** No such lease: never granted, or already released. */
  LEASE("lease"),

  /** A frame, HELLO or RELEASE did not come in time. */
  TIMEOUT("timeout"),

  /** The daemon has reached its limit of connections. */
  TOO_MANY_CONNECTIONS("too_many_connections"),

  /** The peer does not read what the daemon sends. */
  OVERRUN("overrun"),

  /** The dataset cannot be opened or read. */
  DATASET("dataset"),

  /** A transform or a parameter is wrong. */
  PIPELINE("pipeline"),

  /** Another value of the request is wrong. */
  ARGUMENT("argument"),

  /** The ring does not fit into ring-memory or the machine. */
  MEMORY("memory"),

  /** No transport that both sides can use. */
  TRANSPORT("transport"),

  /** The resume token is for another dataset or pipeline. */
  TOKEN("token"),

  /** The peer may not do this. */
  PERMISSION("permission"),

  /** The daemon is stopping. */
  STOPPING("stopping"),

  /** No such setting, or a wrong value. */
  SETTING("setting"),

  /** The daemon failed; its log says more. */
  INTERNAL("internal"),

  /** This user has reached a limit. */
  LIMIT("limit"),

  /** This user's own credentials of a storage are refused, or have expired. */
  CREDENTIALS("credentials"),

  /** The sample's bytes cannot be read. */
  SAMPLE_READ("sample_read"),

  /** The image format is not supported. */
  SAMPLE_FORMAT("sample_format"),

  /** The image is damaged or truncated. */
  SAMPLE_CORRUPT("sample_corrupt"),

  /** The image exceeds a limit (bytes, pixels, scans). */
  SAMPLE_LIMIT("sample_limit"),

  /** A transform cannot be applied to this image. */
  SAMPLE_TRANSFORM("sample_transform"),

  /** The file has changed since it was first read. */
  SAMPLE_CHANGED("sample_changed"),

  /** The user's code failed at it. */
  SAMPLE_USER("sample_user"),

  /** It does not fit into the slots of a ragged field. */
  SAMPLE_LARGER("sample_larger"),

  /** No daemon answers, or it is not trusted. */
  UNAVAILABLE("unavailable"),

  /** The daemon went away, and did not come back in time. */
  DISCONNECTED("disconnected"),

  /** The daemon violated the protocol. */
  BROKEN("broken"),

  /** An option or argument is wrong; the daemon was not asked. */
  OPTION("option"),

  /** The program holds what the next batch needs. */
  HELD("held"),

  /** The reader or batch was closed. */
  CLOSED("closed"),

  /** The thread was interrupted while it waited. */
  INTERRUPTED("interrupted"),

  /** A newer daemon's, which this client does not know. */
  UNKNOWN("unknown");

  private final String word;

  Reason(String word) {
    this.word = word;
  }

  /** The word of the protocol. */
  @Override
  public String toString() {
    return word;
  }

  static Reason of(String word) {
    for (Reason one : values()) {
      if (one.word.equals(word)) return one;
    }
    return UNKNOWN;
  }
}
