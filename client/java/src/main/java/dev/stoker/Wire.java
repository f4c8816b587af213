// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A connected socket. One thread reads and waits; any thread may write. Knows no message. */
interface Wire {
  /** Bytes that were read; 0: there are none now; -1: the daemon has hung up. */
  int read(ByteBuffer data) throws IOException;

  /** All of it; descriptors go with the first byte. */
  void write(ByteBuffer frame, int[] descriptors) throws IOException;

  /** Until there is something to read, or so many ms; 0: without limit. */
  void await(long ms) throws IOException;

  /** Do rings come as descriptors, and may those of a dataset be sent? */
  boolean passesDescriptors();

  /** What came with the oldest message that brought one; -1: none did. The caller's to close. */
  int takeDescriptor();

  /** The user who serves the socket, as Java calls it. */
  String peer();

  boolean isOpen();

  void close();
}
