// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** A stokerd of a test's own, that of the build folder $STOKER_BUILD. */
final class Daemon implements AutoCloseable {
  static final String BUILD = "STOKER_BUILD";
  static final String MISSING = "STOKER_BUILD does not say where a built stokerd is";
  static final int PICTURES = 60;
  private static final long START_MS = 20_000;

  private final Path folder;
  private Process process;

  Daemon(Path folder) {
    this.folder = folder;
    start();
  }

  void start() {
    String program = Path.of(System.getenv(BUILD), "daemon", "stokerd").toString();
    try {
      process =
          new ProcessBuilder(
                  program,
                  "--socket",
                  socket().toString(),
                  "--control-socket",
                  folder.resolve("c").toString(),
                  "--workers",
                  "1")
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("log").toFile())
              .start();
      long until = System.currentTimeMillis() + START_MS;
      while (!answers()) {
        if (!process.isAlive() || System.currentTimeMillis() > until) {
          throw new AssertionError("no stokerd: " + Files.readString(folder.resolve("log")));
        }
        Thread.sleep(20);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private boolean answers() {
    try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket()))) {
      return channel.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  Path socket() {
    return folder.resolve("s");
  }

  Client client() {
    return new Client(socket(), Duration.ofSeconds(30), text -> {});
  }

  /** PICTURES of 8 x 8 of two classes; those of these numbers are cut short. */
  Path pictures(Integer... bad) throws IOException {
    Path out = folder.resolve("pictures" + Arrays.toString(bad));
    for (int i = 0; i < PICTURES; i++) {
      Path file = out.resolve(i % 2 == 0 ? "dark" : "light", "%02d.ppm".formatted(i));
      byte[] head = "P6\n8 8\n255\n".getBytes();
      byte[] whole = Arrays.copyOf(head, head.length + 3 * 8 * 8);
      Arrays.fill(whole, head.length, whole.length, (byte) (4 * i));
      Files.createDirectories(file.getParent());
      Files.write(file, Arrays.asList(bad).contains(i) ? Arrays.copyOf(whole, 20) : whole);
    }
    return out;
  }

  /** As a machine that fails would: it says nothing. */
  void kill() {
    process.destroyForcibly();
    try {
      process.waitFor(START_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    kill();
  }
}
