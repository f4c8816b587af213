// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A socket that passes descriptors, for a daemon of another user.
 *
 * <p>Any thread may close it while others read and write. The number of a closed descriptor goes to
 * the next one that the process opens, so it is closed only when nobody is in a call with it: calls
 * hold {@code sending} or {@code receiving}, and a shutdown ends those that wait.
 */
final class PosixWire implements Wire {
  private static final int RECEIVED_MAX = 8;
  private static final int SENT_MAX = 34;
  private static final int CHUNK = 1 << 16;
  private static final int ADDRESS_BYTES = 110;
  private static final int SLICE_MS = 100; // an interrupt of the thread is seen after so long
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

  /** struct msghdr with one struct iovec, and room for descriptors behind a struct cmsghdr. */
  private static final class Letter {
    private static final long HEADER = 56;
    private static final long CONTROL_HEAD = 16;
    final MemorySegment header;
    final MemorySegment body;
    private final MemorySegment control;

    Letter(Arena arena, long bytes, int descriptors) {
      header = arena.allocate(HEADER, 8);
      body = arena.allocate(bytes, 8);
      control = arena.allocate(CONTROL_HEAD + (4L * descriptors + 7) / 8 * 8, 8);
      MemorySegment part = arena.allocate(16, 8);
      part.set(ValueLayout.ADDRESS, 0, body);
      part.set(LONG, 8, bytes);
      header.set(ValueLayout.ADDRESS, 16, part);
      header.set(LONG, 24, 1L);
      reset();
    }

    void reset() {
      header.set(ValueLayout.ADDRESS, 32, control);
      header.set(LONG, 40, control.byteSize());
      header.set(INT, 48, 0);
    }

    void put(int[] descriptors) {
      control.set(LONG, 0, CONTROL_HEAD + 4L * descriptors.length);
      control.set(INT, 8, Posix.SOL_SOCKET);
      control.set(INT, 12, Posix.SCM_RIGHTS);
      MemorySegment.copy(descriptors, 0, control, INT, CONTROL_HEAD, descriptors.length);
    }

    /** The descriptors that came. */
    int[] take() {
      boolean some = header.get(LONG, 40) >= CONTROL_HEAD;
      if (!some || control.get(INT, 8) != Posix.SOL_SOCKET) return new int[0];
      if (control.get(INT, 12) != Posix.SCM_RIGHTS) return new int[0];
      long bytes = control.get(LONG, 0) - CONTROL_HEAD;
      return control.asSlice(CONTROL_HEAD, bytes).toArray(INT);
    }

    boolean isCut() {
      return (header.get(INT, 48) & Posix.MSG_CTRUNC) != 0;
    }
  }

  private final Object sending = new Object();
  private final Object receiving = new Object(); // taken after sending
  private final Arena arena = Arena.ofAuto();
  private final Letter incoming = new Letter(arena, CHUNK, RECEIVED_MAX);
  private final Deque<Integer> received = new ArrayDeque<>();
  private final int peer;
  private final int fd;
  private final AtomicBoolean closed = new AtomicBoolean();

  PosixWire(Path path) throws IOException {
    byte[] name = path.toString().getBytes();
    if (name.length > ADDRESS_BYTES - 3) throw new IOException(path + " is too long for a socket");
    fd = Posix.socket();
    try (Arena once = Arena.ofConfined()) {
      MemorySegment address = once.allocate(ADDRESS_BYTES, 2);
      address.set(ValueLayout.JAVA_SHORT, 0, (short) Posix.AF_UNIX);
      MemorySegment.copy(name, 0, address, ValueLayout.JAVA_BYTE, 2, name.length);
      Posix.connect(fd, address);
      peer = Posix.peer(fd);
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  int uid() {
    return peer;
  }

  @Override
  public int read(ByteBuffer data) throws IOException {
    synchronized (receiving) {
      if (!isOpen()) throw new ClosedChannelException();
      return receive(data);
    }
  }

  private int receive(ByteBuffer data) throws IOException {
    incoming.reset();
    int size;
    try {
      size = Posix.recvmsg(fd, incoming.header, Posix.MSG_DONTWAIT | Posix.MSG_CMSG_CLOEXEC);
    } catch (Posix.Failure e) {
      if (e.errno == Posix.EAGAIN || e.errno == Posix.EINTR) return 0;
      throw e;
    }
    for (int descriptor : incoming.take()) received.add(descriptor);
    if (incoming.isCut() || received.size() > RECEIVED_MAX) {
      throw new ProtocolException("unexpected descriptors");
    }
    data.put(incoming.body.asSlice(0, size).asByteBuffer());
    return size == 0 ? -1 : size;
  }

  @Override
  public void write(ByteBuffer frame, int[] descriptors) throws IOException {
    synchronized (sending) {
      int[] left = descriptors;
      while (frame.hasRemaining() && isOpen()) {
        left = send(frame, left);
      }
    }
  }

  /** Some of it; the descriptors that are still to be sent. */
  private int[] send(ByteBuffer frame, int[] descriptors) throws IOException {
    try (Arena once = Arena.ofConfined()) {
      Letter letter = new Letter(once, frame.remaining(), SENT_MAX);
      letter.body.copyFrom(MemorySegment.ofBuffer(frame));
      letter.put(descriptors);
      long control = descriptors.length == 0 ? 0 : Letter.CONTROL_HEAD + 4L * descriptors.length;
      letter.header.set(LONG, 40, control);
      int sent = Posix.sendmsg(fd, letter.header, Posix.MSG_NOSIGNAL | Posix.MSG_DONTWAIT);
      frame.position(frame.position() + sent);
      return new int[0];
    } catch (Posix.Failure e) {
      if (e.errno != Posix.EAGAIN && e.errno != Posix.EINTR) throw e;
      Posix.poll(fd, Posix.POLLOUT, SLICE_MS);
      return descriptors;
    }
  }

  @Override
  public void await(long ms) throws IOException {
    long until = System.nanoTime() + ms * 1_000_000;
    while (!Thread.currentThread().isInterrupted()) {
      long left = ms == 0 ? SLICE_MS : (until - System.nanoTime()) / 1_000_000;
      synchronized (receiving) {
        if (left <= 0 || !isOpen()) return;
        if (Posix.poll(fd, Posix.POLLIN, (int) Math.min(left, SLICE_MS))) return;
      }
    }
    close(); // as a channel of Java is
  }

  @Override
  public boolean passesDescriptors() {
    return true;
  }

  @Override
  public int takeDescriptor() {
    synchronized (receiving) {
      Integer first = received.poll();
      return first == null ? -1 : first;
    }
  }

  @Override
  public String peer() {
    return Integer.toString(peer);
  }

  @Override
  public boolean isOpen() {
    return !closed.get();
  }

  @Override
  public void close() {
    if (closed.getAndSet(true)) return;
    try {
      Posix.shutdown(fd);
    } catch (Posix.Failure e) {
      // It was not connected.
    }
    synchronized (sending) {
      synchronized (receiving) {
        Posix.close(fd);
        received.forEach(Posix::close);
        received.clear();
      }
    }
  }
}
