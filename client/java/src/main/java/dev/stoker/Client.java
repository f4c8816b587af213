// SPDX-License-Identifier: MIT
package dev.stoker;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * How to find the daemon.
 *
 * @param socket of the daemon; null: $STOKER_SOCKET, else the usual places
 * @param reconnect how long to wait for a daemon that went away; zero: not at all
 * @param warn is told what people should know, in the thread that reads: that the daemon is away or
 *     back, which read hangs
 * @param credentials sent over each connection, before the dataset is asked for
 */
public record Client(
    Path socket, Duration reconnect, Consumer<String> warn, List<Credentials> credentials) {
  /** Of this client. */
  public static final String VERSION = "0.1.0";

  /** With the defaults: a minute, and a logger of java.lang.System. */
  public Client() {
    this(null, Duration.ofMinutes(1), Client::log);
  }

  /**
   * Without credentials.
   *
   * @param socket of the daemon; null: $STOKER_SOCKET, else the usual places
   * @param reconnect how long to wait for a daemon that went away; zero: not at all
   * @param warn is told what people should know, in the thread that reads
   */
  public Client(Path socket, Duration reconnect, Consumer<String> warn) {
    this(socket, reconnect, warn, List.of());
  }

  private static void log(String text) {
    System.getLogger("stoker").log(System.Logger.Level.WARNING, text);
  }

  /**
   * Attach to a stream; waits while the daemon indexes the dataset.
   *
   * @param options what to read
   * @return a reader, which is the caller's to close
   * @throws StokerException with {@link Reason#UNAVAILABLE} if no daemon answers, {@link
   *     Reason#OPTION} if the options are wrong; a {@link RequestException} if the daemon refuses
   */
  public Reader attach(Options options) {
    return new Reader(this, options, null);
  }

  /**
   * The same within this time.
   *
   * @param options what to read
   * @param timeout of all of it, from the socket to the answer; null: without limit
   * @return a reader, which is the caller's to close
   * @throws StokerException as without a limit, and with {@link Reason#TIMEOUT}
   */
  public Reader attach(Options options, Duration timeout) {
    return new Reader(this, options, timeout);
  }
}
