// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sockets that are closed while others use them, and patterns of shards. */
final class WireTest {
  private static final int ROUNDS = 100;
  private static final int NEXT = 8; // sockets that may get the number of the closed one
  private static final long LATE_MS = 5000;

  @TempDir Path folder;

  private interface Opener {
    Wire open(Path path) throws IOException;
  }

  /** What a thread read that does not stop for a closed socket. */
  private static final class Reading implements Runnable {
    final Wire wire;
    final boolean waits;
    final AtomicInteger bytes = new AtomicInteger();
    volatile Throwable failed;

    Reading(Wire wire, boolean waits) {
      this.wire = wire;
      this.waits = waits;
    }

    @Override
    public void run() {
      ByteBuffer data = ByteBuffer.allocate(1 << 17);
      try {
        while (true) {
          if (waits) wire.await(0);
          int got = wire.read(data.clear());
          if (got < 0) return;
          bytes.addAndGet(got);
        }
      } catch (IOException e) {
        // It is closed.
      } catch (RuntimeException e) {
        failed = e;
      }
    }
  }

  /** The next sockets have its number, and a byte each that is not for its reader. */
  private static void checkClose(Opener opener, Path quiet, Path chatty, boolean waits)
      throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      Wire wire = opener.open(quiet);
      Reading reading = new Reading(wire, waits);
      Thread thread = Thread.ofPlatform().daemon().start(reading);
      if (waits && round % 25 == 0) Thread.sleep(20); // it is in a call
      wire.close();
      List<Wire> next = new ArrayList<>();
      for (int i = 0; i < NEXT; i++) next.add(opener.open(chatty));
      thread.join(LATE_MS);
      assertFalse(thread.isAlive(), "a reader goes on behind close()");
      assertNull(reading.failed, "close() below a reader");
      assertEquals(0, reading.bytes.get(), "it has read what came to another socket");
      next.forEach(Wire::close);
      next.forEach(Wire::close); // twice is once
    }
  }

  private static ServerSocketChannel listen(Path path) throws IOException {
    return ServerSocketChannel.open(StandardProtocolFamily.UNIX)
        .bind(UnixDomainSocketAddress.of(path), 64);
  }

  /** Accept until the server ends, and send this to each. */
  private static void serve(ServerSocketChannel server, byte[] greeting) {
    List<SocketChannel> kept = new ArrayList<>();
    Runnable work =
        () -> {
          while (server.isOpen()) {
            try {
              if (kept.size() > 2 * NEXT) kept.removeFirst().close();
              kept.add(server.accept());
              kept.getLast().write(ByteBuffer.wrap(greeting));
            } catch (IOException e) {
              // The client has gone, or the test is over.
            }
          }
        };
    Thread.ofPlatform().daemon().start(work);
  }

  private static void checkPattern(Path path, String wanted) {
    byte[] folder = Given.patternFolder(path.toString().getBytes(StandardCharsets.UTF_8));
    String got = folder == null ? null : new String(folder, StandardCharsets.UTF_8);
    assertEquals(wanted, got, path.toString());
  }

  @Test
  void patternsBeginAtAFolder() throws IOException {
    Path link = Files.createSymbolicLink(folder.resolve("a[1].tar"), folder.resolve("nothing"));
    Path locked = Files.createFile(folder.resolve("b{2}.tar"));
    Files.setPosixFilePermissions(locked, Set.of());
    checkPattern(link, null); // something stands there, though it cannot be opened
    checkPattern(locked, null);
    checkPattern(folder.resolve("plain.tar"), null);
    checkPattern(folder.resolve("c{0..3}.tar"), folder + "/");
    checkPattern(folder.resolve("d*/e.tar"), folder + "/");
    checkPattern(Path.of("/{0..1}.tar"), "/");
    checkPattern(Path.of("s3://bucket/{0..1}.tar"), "s3:/bucket/");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @Timeout(60)
  void aSocketThatIsClosedBelowItsReaderIsDone(boolean waits) throws Exception {
    Path quiet = folder.resolve("quiet");
    Path chatty = folder.resolve("chatty");
    try (ServerSocketChannel one = listen(quiet);
        ServerSocketChannel other = listen(chatty)) {
      serve(one, new byte[0]);
      serve(other, new byte[] {'x'});
      checkClose(PosixWire::new, quiet, chatty, waits);
      checkClose(ChannelWire::new, quiet, chatty, waits);
    }
  }
}
