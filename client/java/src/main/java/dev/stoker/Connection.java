// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * One connection to the daemon, as messages. One thread at a time receives; any thread may give a
 * batch back. Knows no batch.
 */
final class Connection implements AutoCloseable {
  static final long REPLY_NS = 30_000_000_000L;
  private static final long GREETING_NS = 10_000_000_000L; // then the next socket is tried
  private static final int INBOX_MAX = 65_536;
  private static final int ENDING_CODE = 19; // errors up to this one end the connection
  private static final int PATH_MOST = 107; // bytes, of an address

  private final Wire wire;
  private final Path path; // of the socket, for people
  private final Consumer<String> warn;
  private final Pulse pulse = new Pulse();
  private final Object sending = new Object();
  private final Set<Long> leases = ConcurrentHashMap.newKeySet(); // not given back
  private final LinkedList<Message> inbox = new LinkedList<>();
  private ByteBuffer data = ByteBuffer.allocate((1 << 17) + 4).limit(0); // a frame and a read
  long lastLease; // that the reader took
  private long seq;
  private long partial; // when a frame began that is not whole yet; 0: none did
  private StokerException ended; // why
  private Long until; // no request waits any longer; null: no limit
  private boolean fatal; // what came before counts no more, and nobody comes back
  private boolean takesCredentials;
  boolean resizes; // it knows the word resize
  private boolean takesGiven; // descriptors of a dataset show what the daemon's user may not read

  private Connection(Wire wire, Path path, Consumer<String> warn) {
    this.wire = wire;
    this.path = path;
    this.warn = warn;
  }

  private static List<Path> places(Path given) {
    if (given != null) return List.of(given);
    String chosen = System.getenv("STOKER_SOCKET");
    if (chosen != null && !chosen.isEmpty()) return List.of(Path.of(chosen));
    List<Path> out = new ArrayList<>();
    String mine = System.getenv("XDG_RUNTIME_DIR");
    if (mine != null && !mine.isEmpty()) out.add(Path.of(mine, "stoker", "stokerd.sock"));
    out.add(Path.of("/tmp/stoker-" + owner(Path.of("/proc/self")), "stokerd.sock"));
    out.add(Path.of("/run/stoker/stokerd.sock"));
    return out;
  }

  /** The number of the user whose file it is; -1: nobody can say. */
  private static int owner(Path path) {
    try {
      return (Integer) Files.getAttribute(path, "unix:uid");
    } catch (IOException e) {
      return -1;
    }
  }

  /** Connect to the first socket that answers, and say HELLO. */
  static Connection open(Path given, Consumer<String> warn, Duration timeout) {
    Long until = timeout == null ? null : System.nanoTime() + timeout.toNanos();
    List<String> tried = new ArrayList<>();
    for (Path path : places(given)) {
      try {
        return openAt(path, warn, until);
      } catch (StokerException e) {
        if (e.reason() != Reason.UNAVAILABLE) throw e;
        tried.add(e.getMessage());
      }
    }
    String words = String.join("; ", tried);
    throw new StokerException("unavailable", "no stokerd answers: " + words);
  }

  private static Connection openAt(Path path, Consumer<String> warn, Long until) {
    Connection connection;
    try {
      connection = new Connection(wireTo(path), path, warn);
    } catch (IOException e) {
      throw new StokerException("unavailable", "cannot connect to " + path + ": " + e.getMessage());
    }
    connection.until = until;
    try {
      Map<String, Object> hello = new HashMap<>();
      hello.put("version_min", (long) Tables.VERSION);
      hello.put("version_max", (long) Tables.VERSION);
      hello.put("client", "stoker-java " + Client.VERSION);
      Message welcome = connection.request("hello", "welcome", hello, GREETING_NS);
      connection.pulse.greet();
      List<?> able = welcome.value("capabilities") instanceof List<?> list ? list : List.of();
      connection.takesCredentials = able.contains(Text.of("credentials"));
      connection.resizes = able.contains(Text.of(Token.PILLOW_13));
      connection.takesGiven =
          connection.passesDescriptors() && able.contains(Text.of("descriptors"));
      return connection;
    } catch (StokerException e) {
      connection.close();
      boolean silent = e.reason() == Reason.DISCONNECTED || e.reason() == Reason.TIMEOUT;
      if (!silent || connection.isLate() || e instanceof RequestException) throw e;
      throw new StokerException("unavailable", path + " does not answer: " + e.getMessage());
    }
  }

  /**
   * A daemon of one's own is reached without native code, and its rings by path; descriptors are
   * for those of others.
   */
  private static Wire wireTo(Path path) throws IOException {
    int size = path.toString().getBytes(StandardCharsets.UTF_8).length;
    if (size > PATH_MOST) {
      throw new IOException(
          "it has " + size + " bytes; a socket's path can have at most " + PATH_MOST);
    }
    int mine = owner(Path.of("/proc/self"));
    int theirs = owner(path);
    if (mine == 0 || theirs == mine || theirs < 0) {
      return checked(new ChannelWire(path), path);
    }
    return checked(new PosixWire(path), path, mine);
  }

  private static Wire checked(ChannelWire wire, Path path) throws IOException {
    boolean good = false;
    try {
      String peer = wire.peer();
      good =
          peer.equals("root")
              || peer.equals(me())
              || trusted(path, Files.getOwner(folder(path)).getName().equals(peer));
    } finally {
      if (!good) wire.close();
    }
    if (good) return wire;
    throw new IOException("it is served by " + wire.peer() + ", who is not trusted");
  }

  private static Wire checked(PosixWire wire, Path path, int mine) throws IOException {
    boolean good = false;
    int peer = wire.uid();
    try {
      good = peer == 0 || peer == mine || trusted(path, owner(folder(path)) == peer);
    } finally {
      if (!good) wire.close();
    }
    if (good) return wire;
    throw new IOException("it is served by the user " + peer + ", who is not trusted");
  }

  private static String me() throws IOException {
    return Files.getOwner(Path.of("/proc/self")).getName();
  }

  private static Path folder(Path path) throws IOException {
    return path.toRealPath().getParent();
  }

  /** Root and this user are; so is the owner of the directory, if nobody else could make that. */
  private static boolean trusted(Path path, boolean owner) throws IOException {
    Path folder = folder(path);
    boolean good = owner;
    for (Path at = folder; at != null; at = at.getParent()) {
      good &= !Files.getPosixFilePermissions(at).contains(PosixFilePermission.OTHERS_WRITE);
    }
    return good;
  }

  boolean isOver() {
    return ended != null;
  }

  /** Did the daemon go away, so that another one may be waited for? */
  boolean lost() {
    return ended != null && !fatal;
  }

  /** Any thread. If the daemon has hung up, reading says why. */
  void send(String name, Map<String, ?> values) {
    send(name, values, new int[0]);
  }

  private void send(String name, Map<String, ?> values, int[] descriptors) {
    ByteBuffer frame = Message.encode(name, values);
    synchronized (sending) {
      try {
        wire.write(frame, descriptors);
      } catch (IOException e) {
        return;
      }
    }
  }

  /** The program has this one now. */
  void hold(long lease) {
    leases.add(lease);
  }

  boolean holds(long lease) {
    return leases.contains(lease);
  }

  /** Any thread. */
  void release(long lease) {
    leases.remove(lease);
    send("release", Map.of("lease", lease));
  }

  /** Do rings come as descriptors? */
  boolean passesDescriptors() {
    return wire.passesDescriptors();
  }

  /** Is it worth to show descriptors of a dataset? */
  boolean takesCredentials() {
    return takesCredentials;
  }

  boolean takesGiven() {
    return takesGiven;
  }

  /** Requests wait as long as the daemon reports progress. */
  void unlimited() {
    until = null;
  }

  private boolean isLate() {
    return until != null && System.nanoTime() - until >= 0;
  }

  /**
   * Send a request and wait for its reply; other messages stay. The daemon may say nothing for
   * {@code quiet} ns. A reply that is given up may still come, so the connection is then closed.
   */
  Message request(String name, String reply, Map<String, Object> values, long quiet) {
    return request(name, reply, values, new int[0], quiet);
  }

  /** ... with descriptors, which stay the caller's. */
  Message request(
      String name, String reply, Map<String, Object> values, int[] descriptors, long quiet) {
    long number = ++seq;
    values.put("seq", number);
    send(name, values, descriptors);
    while (true) {
      long silent = System.nanoTime() + quiet;
      long most = until != null && until - silent < 0 ? until : silent;
      Message message = receive(most, true, other -> other.number("seq") == number);
      if (message == null) {
        throw end(new StokerException("timeout", "stokerd did not answer " + name));
      }
      if (message.name.equals("error")) throw RequestException.of(message);
      if (message.name.equals(reply)) return message;
      if (!message.name.equals("progress")) {
        message.drop();
        throw broken(message.name + " as the answer to " + name);
      }
    }
  }

  /**
   * The next message that is wanted; null at {@code until}, if that is limited. All that has come
   * is looked at first, so that an error that ended the connection is told before batches that came
   * before it.
   */
  Message receive(long until, boolean limited, Predicate<Message> wanted) {
    pulse.begin();
    while (true) {
      while (ended == null && readSome()) pulse.begin();
      if (fatal) throw ended;
      for (Iterator<Message> at = inbox.iterator(); at.hasNext(); ) {
        Message message = at.next();
        if (wanted.test(message)) {
          at.remove();
          return message;
        }
      }
      if (ended != null) throw ended;
      if (limited && System.nanoTime() - until >= 0) return null;
      feel();
      await(until, limited);
    }
  }

  /** Ask a daemon that is silent for a sign of life, or say that none has come. */
  private void feel() {
    switch (pulse.step(seq + 1)) {
      case ASK -> send("ping", Map.of("seq", ++seq));
      case SAY ->
          warn.accept(
              "stokerd at %s has not answered for %d s: is it stopped, or is the machine busy? "
                      .formatted(path, Pulse.SAY_NS / 1_000_000_000)
                  + "Waiting on");
      case WAIT -> {}
    }
  }

  private void await(long until, boolean limited) {
    long now = System.nanoTime();
    long left = Math.min(limited ? until - now : Long.MAX_VALUE, pulse.left(now));
    if (partial != 0) left = Math.min(left, partial + REPLY_NS - now);
    if (partial != 0 && now - partial >= REPLY_NS) {
      throw broken("the rest of a frame did not come");
    }
    try {
      wire.await(left == Long.MAX_VALUE ? 0 : Math.max(1, left / 1_000_000));
    } catch (IOException e) {
      throw end(new StokerException("disconnected", e.toString()));
    }
    if (Thread.currentThread().isInterrupted()) {
      throw new StokerException("interrupted", "the thread was interrupted while it waited");
    }
  }

  /** Read what the socket has. False: nothing. */
  private boolean readSome() {
    data.compact();
    int got;
    try {
      got = wire.read(data);
    } catch (ProtocolException e) {
      data.flip();
      throw end(e);
    } catch (IOException e) {
      data.flip();
      end(new StokerException("disconnected", e.toString()));
      return false;
    }
    data.flip();
    if (got < 0) {
      end(new StokerException("disconnected", "stokerd closed the connection"));
      return false;
    }
    if (got == 0) return false;
    try {
      takeFrames();
    } catch (StokerException e) {
      throw end(e);
    }
    return true;
  }

  private void takeFrames() {
    int before = data.position();
    for (int size = Message.frameSize(data);
        size >= 0 && data.remaining() >= 4 + size;
        size = Message.frameSize(data)) {
      ByteBuffer payload = data.slice(data.position() + 4, size);
      data.position(data.position() + 4 + size);
      put(Message.decode(payload));
    }
    boolean news = partial == 0 || data.position() > before;
    if (!data.hasRemaining()) partial = 0;
    else if (news) partial = System.nanoTime();
  }

  private void put(Message message) {
    if (message.name.equals("error") && message.number("code") <= ENDING_CODE) {
      throw RequestException.of(message);
    }
    if (message.name.equals("attached") || message.name.equals("ring")) {
      message.ring = ringOf(message);
    }
    if (pulse.takes(message)) return;
    if (inbox.size() >= INBOX_MAX) {
      message.drop();
      throw new ProtocolException("too many messages at a time");
    }
    inbox.add(message);
  }

  /** A descriptor comes with the first byte of its message: they are in the order of messages. */
  private Ring ringOf(Message message) {
    long size = message.number("bytes");
    long number = message.number("ring");
    int descriptor = message.string("transport").equals("fd") ? wire.takeDescriptor() : -1;
    if (descriptor >= 0) {
      try {
        return new Ring(descriptor, size, number);
      } finally {
        Posix.close(descriptor);
      }
    }
    if (!message.string("transport").equals("path") || message.text("path").isEmpty()) {
      throw new ProtocolException("the announced ring is missing");
    }
    return new Ring(Path.of(message.string("path")), size, number, wire.peer());
  }

  /** Give back what was announced and not taken: leases outlive the reader. */
  void forget() {
    for (Message message : List.copyOf(inbox)) {
      if (message.name.equals("goaway")) continue;
      inbox.remove(message);
      message.drop();
      if (message.name.equals("batch")) release(message.number("lease"));
    }
  }

  /** The first reason counts. What violates the protocol makes what came before doubtful, too. */
  private StokerException end(StokerException error) {
    if (ended == null) {
      ended = error;
      boolean away = error.reason() == Reason.DISCONNECTED || error.reason() == Reason.TIMEOUT;
      fatal = !away || error instanceof RequestException;
    }
    hangUp();
    return error;
  }

  /** Close because the daemon violated the protocol; what to throw. */
  StokerException broken(String what) {
    ended = new ProtocolException(what);
    fatal = true;
    hangUp();
    return ended;
  }

  /** What came before is still there. */
  private void hangUp() {
    wire.close();
    if (ended == null) ended = new StokerException("disconnected", "the connection is closed");
  }

  @Override
  public void close() {
    hangUp();
    inbox.forEach(Message::drop);
    inbox.clear();
  }
}
