// SPDX-License-Identifier: MIT
package dev.stoker;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Spliterator;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * A stream of batches. If the daemon dies or is restarted, it waits, and goes on behind the last
 * batch that it gave. One thread at a time.
 *
 * <p>After a {@link SampleException} the batch behind the one that is left out follows; after a
 * time-out nothing is lost.
 */
public final class Reader implements Iterable<Batch>, AutoCloseable {
  private static final long QUIET_NS = 60_000_000_000L; // ATTACH reports progress more often
  private static final long HELD_NS = 1_000_000_000L; // for END, when no batch can come
  private static final long FIRST_PAUSE_MS = 50;
  private static final long LAST_PAUSE_MS = 1000;

  private final Client client;
  private final Map<String, Object> request;
  private final String resize; // whose bytes a resize makes
  private final List<String> hashes;
  private Token token; // of the stream; null: it is not known yet
  private final long samples;
  private final long batches;
  private final Share share; // which batches are to come
  private Connection connection; // null: the daemon is lost
  private Given given; // descriptors of the dataset; null: they were not needed so far
  private Ring ring;
  private AtomicInteger held = new AtomicInteger(); // batches of this attachment
  private Place at; // the program has had everything before
  private long end; // the epoch after the last one; 0: endless
  private long inflight;
  private boolean ended;
  private boolean closed;
  private StokerException away; // how the daemon was lost, while it is
  private long until; // when to give up waiting for it
  private boolean tried; // since then
  private long pauseMs = FIRST_PAUSE_MS;
  private String stalled = "";
  private long blocking; // the lease of the program's that the next batch waits for; 0: none
  private List<Credentials> credentials;
  private Batch lent; // to a loop: closed when something else is asked for
  private Consumer<SampleException> onBadSample; // null: a loop throws it
  private long reconnects;
  private long moves;

  Reader(Client client, Options options, Duration timeout) {
    this.client = client;
    request = options.request();
    token = options.token();
    if (token != null) begin();
    inflight = (Long) request.getOrDefault("inflight", 3L);
    credentials = List.copyOf(client.credentials());
    connection = connect(timeout);
    boolean good = false;
    try {
      resize = Token.settleResize(request, token, connection.resizes, this::warn);
      Message attached = attach(request);
      connection.unlimited();
      samples = attached.number("samples");
      batches = attached.number("batches");
      share = Share.of(request, samples, ring.sized());
      hashes =
          List.of(
              attached.string("dataset_fingerprint"),
              attached.string("pipeline_hash"),
              attached.string("sampling_hash"));
      at = first(attached);
      long epochs = (Long) request.getOrDefault("epochs", 0L);
      end = epochs == 0 ? 0 : at.epoch() + epochs;
      if (!attached.text("note").isEmpty()) {
        warn("the dataset: " + attached.string("note"));
      }
      good = true;
    } finally {
      if (!good) close();
    }
  }

  private void begin() {
    token.check(request);
    request.put("epoch", token.place().epoch());
    request.put("position", token.place().position());
  }

  private Place first(Message attached) {
    if (!"live".equals(request.get("start"))) {
      return new Place(
          (Long) request.getOrDefault("epoch", 0L), (Long) request.getOrDefault("position", 0L));
    }
    long ours = (Long) request.getOrDefault("rank", 0L) * (Long) request.get("batch_size");
    long position = attached.number("position") - ours;
    if (position < 0 || position >= samples) {
      throw connection.broken("a start outside of the epoch");
    }
    return new Place(attached.number("epoch"), position);
  }

  private Message attach(Map<String, Object> fields) {
    Map<String, Object> all = new HashMap<>(fields);
    boolean descriptors = connection.passesDescriptors();
    all.put("accept_fd", descriptors);
    all.put("accept_path", !descriptors);
    all.put("accept_names", true);
    int[] shown = new int[0];
    if (connection.takesGiven()) {
      if (given == null) given = new Given(request);
      all.putAll(given.fields);
      shown = given.descriptors();
    }
    Message attached = ask(all, shown);
    follow(attached.ring);
    token = Token.of(attached, request, resize, token);
    held = new AtomicInteger();
    blocking = 0;
    return attached;
  }

  /** For the stream that the token is of. A daemon that knows more fields has other digests. */
  private Message ask(Map<String, Object> fields, int[] shown) {
    if (token != null) fields.putAll(token.expected());
    try {
      return connection.request("attach", "attached", fields, shown, QUIET_NS);
    } catch (RequestException e) {
      if (token == null) throw e;
      token.allow(e, request);
      fields.remove("expect_description");
      return connection.request("attach", "attached", fields, shown, QUIET_NS);
    }
  }

  /** Later batches are in this ring; those that are held keep theirs. */
  private void follow(Ring next) {
    if (ring != null && !next.like(ring)) {
      next.drop();
      throw connection.broken("a ring of other samples");
    }
    if (ring != null) ring.drop();
    ring = next;
  }

  /** False behind the last epoch. */
  private boolean attachAt(Place place) {
    if (end > 0 && place.epoch() >= end) return false;
    Map<String, Object> fields = new HashMap<>(request);
    fields.remove("start");
    fields.put("epoch", place.epoch());
    fields.put("position", place.position());
    fields.put("epochs", end > 0 ? end - place.epoch() : 0L);
    fields.put("inflight", inflight);
    attach(fields);
    return true;
  }

  /** {@return how many samples an epoch has, over all ranks} */
  public long samples() {
    return samples;
  }

  /** {@return how many batches a whole epoch has, for this rank} */
  public long batches() {
    return batches;
  }

  /** {@return what each sample has, in the order of the ring} */
  public List<Field> fields() {
    return ring.fields();
  }

  /** {@return how often it has attached again to a daemon that came back} */
  public long reconnects() {
    return reconnects;
  }

  /** {@return how often it went on in another ring} */
  public long moves() {
    return moves;
  }

  /**
   * What the stream is, as the daemon said at the attach.
   *
   * @return the fingerprint of the dataset, which is empty if only the names of a large folder are
   *     known yet; the hash of transforms, dtype and layout; that of order, sampler, echo and
   *     views, which is empty if there are none
   */
  public List<String> hashes() {
    return hashes;
  }

  /** {@return where to resume behind the last batch that was given} */
  public Token token() {
    return token.at(at);
  }

  private Connection connect(Duration timeout) {
    Connection fresh = Connection.open(client.socket(), this::warn, timeout);
    try {
      Credentials.send(fresh, credentials);
    } catch (StokerException e) {
      fresh.close();
      throw e;
    }
    return fresh;
  }

  /**
   * Other credentials in the place of those of the client, some minutes before these expire. If the
   * daemon is away, the next one gets them.
   *
   * @param others of which a copy is made
   * @throws StokerException with {@link Reason#OPTION} if the daemon takes none
   */
  public void credentials(List<Credentials> others) {
    check();
    if (connection != null) {
      try {
        Credentials.send(connection, others);
      } catch (StokerException e) {
        if (!connection.lost()) throw e;
        lose(e);
      }
    }
    credentials = List.copyOf(others);
  }

  /**
   * Go on at another place of the same stream, on the same connection. If the daemon refuses the
   * place, the stream goes on where it was. Batches that are held stay as they are.
   *
   * @param place where the next batch begins
   * @throws RequestException if there is no such place
   */
  public void seek(Place place) {
    check();
    if (connection != null) {
      try {
        connection.request("detach", "ok", new HashMap<>(), Connection.REPLY_NS);
        connection.forget();
        ended = !move(place);
      } catch (StokerException e) {
        if (!connection.lost()) throw e;
        lose(e);
      }
    }
    if (connection == null) ended = false;
    at = place;
  }

  private boolean move(Place place) {
    try {
      return attachAt(place);
    } catch (RequestException e) {
      if (!connection.isOver()) ended = !attachAt(at);
      throw e;
    }
  }

  /**
   * The next batch; waits for it, and for a daemon that is away.
   *
   * @return a batch, which is the caller's to close; null at the end of the last epoch
   * @throws SampleException if it is left out: the one behind it follows
   * @throws StokerException with {@link Reason#HELD} if the program holds what it needs, {@link
   *     Reason#DISCONNECTED} if the daemon did not come back, {@link Reason#CLOSED}
   */
  public Batch next() {
    return next(null);
  }

  /**
   * The same within this time.
   *
   * @param timeout how long to wait; null: without limit
   * @return a batch, which is the caller's to close; null at the end of the last epoch
   * @throws SampleException if it is left out: the one behind it follows
   * @throws StokerException as without a limit, and with {@link Reason#TIMEOUT}: nothing is lost
   */
  public Batch next(Duration timeout) {
    long limit = timeout == null ? 0 : System.nanoTime() + timeout.toNanos();
    check();
    takeBack();
    while (!ended) {
      recover(limit, timeout != null);
      Batch batch = ended ? null : step(limit, timeout != null);
      if (batch != null) return batch;
    }
    return null;
  }

  private Batch step(long limit, boolean limited) {
    Message message;
    try {
      message = await(limit, limited);
    } catch (StokerException e) {
      if (!connection.lost()) throw e;
      lose(e);
      return null;
    }
    away = null;
    tried = false;
    pauseMs = FIRST_PAUSE_MS;
    return handle(message);
  }

  private Message await(long limit, boolean limited) {
    boolean holdsAll = held.get() >= inflight;
    boolean inVain = holdsAll || connection.holds(blocking);
    long soon = System.nanoTime() + HELD_NS;
    long until = inVain && !(limited && limit - soon < 0) ? soon : limit;
    Message message = connection.receive(until, limited || inVain, other -> true);
    if (message != null) return message;
    if (inVain) {
      String all = "all batches of inflight are held: close one, or raise inflight";
      throw new StokerException("held", holdsAll ? all : stalled.substring(2));
    }
    throw new StokerException("timeout", "no batch came in time" + stalled);
  }

  private Batch handle(Message message) {
    switch (message.name) {
      case "batch" -> {
        List<Message.Run> runs = message.runs();
        long count = message.number("count");
        boolean fits = !ring.sized() || ring.hasSize(runs, message.size());
        if (count > (Long) request.get("batch_size") || !ring.has(runs, count) || !fits) {
          throw connection.broken("a batch that is too large or outside of the ring");
        }
        advance(message);
        String found = message.string("dataset_fingerprint");
        if (!found.isEmpty()) token = token.with(found);
        return new Batch(message, ring, connection, held);
      }
      case "bad_sample" -> {
        advance(message);
        throw new SampleException(message);
      }
      case "ring" -> {
        follow(message.ring);
        moves++;
      }
      case "stalled" -> stall(message);
      case "end" -> {
        if (share.next(at).epoch() < end) {
          throw connection.broken(share.disorder("the end", at, message));
        }
        ended = true;
      }
      // It fills no more slots: held batches stay as they are without their leases.
      case "goaway" ->
          lose(
              new StokerException(
                  "disconnected", "stokerd is stopping: " + message.string("text")));
      case "error" -> throw RequestException.of(message);
      default -> {
        message.drop();
        throw connection.broken(message.name + " instead of a batch");
      }
    }
    return null;
  }

  private void advance(Message message) {
    boolean isBatch = message.name.equals("batch");
    boolean again =
        isBatch && Long.compareUnsigned(message.number("lease"), connection.lastLease) <= 0;
    if (again || !share.has(at, message)) {
      throw connection.broken(share.disorder("a batch", at, message));
    }
    if (isBatch) connection.lastLease = message.number("lease");
    at = new Place(message.number("next_epoch"), message.number("next_position"));
    stalled = "";
    blocking = 0;
  }

  private void stall(Message message) {
    String why = message.string("why");
    long seconds = message.number("read_ms") / 1000;
    stalled = ": " + why;
    blocking = message.number("lease");
    if (why.isEmpty()) {
      stalled = ": the read of %s has taken %d s so far".formatted(message.text("path"), seconds);
    }
    warn("a batch waits" + stalled);
  }

  /**
   * One batch after the other; each is closed when the next one is asked for, also by {@link
   * #next}, or the reader is closed. After a {@link SampleException}, a time-out or "held" it goes
   * on; after any other exception it is at its end.
   */
  @Override
  public Iterator<Batch> iterator() {
    return new Batches(this);
  }

  /** {@return the same as a stream, which closes the reader when it is closed} */
  public Stream<Batch> stream() {
    Iterator<Batch> batches = iterator();
    Spliterator<Batch> one = new Batches.Each(batches);
    return StreamSupport.stream(one, false).onClose(this::close);
  }

  /**
   * With this, a loop or stream goes on behind a batch that is left out; {@link #next} throws all
   * the same.
   *
   * @param told is called for each, in the thread that reads; null: loops throw it
   * @return this reader
   */
  public Reader onBadSample(Consumer<SampleException> told) {
    onBadSample = told;
    return this;
  }

  /** The next batch of a loop. */
  Batch lend() {
    while (true) {
      try {
        lent = next();
        return lent;
      } catch (SampleException e) {
        if (onBadSample == null) throw e;
        onBadSample.accept(e);
      }
    }
  }

  private void takeBack() {
    if (lent != null) lent.close();
    lent = null;
  }

  // When the daemon goes away

  private void lose(StokerException error) {
    connection.close();
    if (client.reconnect().isZero()) throw error;
    connection = null;
    if (away != null) return;
    away = error;
    until = System.nanoTime() + client.reconnect().toNanos();
    warn(error.getMessage() + "; waiting for it to come back");
  }

  /**
   * Wait for a daemon and attach where the program is. The time counts up to the first message of
   * the next daemon, so one that dies again and again is given up, too.
   */
  private void recover(long limit, boolean limited) {
    while (connection == null && !ended) {
      if (tried) rest(limit, limited);
      tried = true;
      try {
        connection = connect(null);
        ended = !attachAt(at);
        reconnects++;
        warn("stokerd is back at epoch " + at.epoch());
      } catch (StokerException e) {
        if (connection != null) connection.close();
        connection = null;
        if (!e.passes()) throw e;
      }
    }
  }

  private void rest(long limit, boolean limited) {
    long now = System.nanoTime();
    if (now - until >= 0) {
      tried = false; // another call tries again
      String text = away.getMessage() + "; it did not come back; token() says where to resume";
      throw new StokerException("disconnected", text);
    }
    if (limited && now - limit >= 0) {
      throw new StokerException("timeout", "no batch came in time: " + away.getMessage());
    }
    long left = Math.min(until - now, limited ? limit - now : Long.MAX_VALUE) / 1_000_000 + 1;
    try {
      Thread.sleep(Math.min(pauseMs, left));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StokerException("interrupted", "the thread was interrupted while it waited");
    }
    pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS);
  }

  // Asking between batches

  /**
   * Change the largest number of batches that are announced or held.
   *
   * @param most 1 to 1024
   * @throws StokerException with {@link Reason#OPTION} if it is out of range
   */
  public void inflight(int most) {
    if (most < 1 || most > 1024) {
      throw new StokerException("option", "inflight is " + most + ", not 1 to 1024");
    }
    inflight = most;
    if (connection != null) connection.send("credit", Map.of("inflight", inflight));
  }

  /** {@return the names of the classes by label; none if the labels are not classes} */
  public List<Text> classes() {
    List<Text> names = new ArrayList<>();
    for (long after = 0; ; ) {
      Message page = list("classes", after);
      names.addAll(texts(page));
      long next = page.number("next");
      if (next == 0) return names;
      if (next <= after) throw connection.broken("a listing without end");
      after = next;
    }
  }

  /**
   * Where samples come from.
   *
   * @param indices of samples in the dataset
   * @return their paths, relative to its root
   * @throws StokerException with {@link Reason#OPTION} if there is no such sample
   */
  public List<Text> paths(long... indices) {
    Map<Long, Text> found = new HashMap<>();
    List<Text> out = new ArrayList<>();
    for (long index : indices) {
      if (!found.containsKey(index)) {
        List<Text> names = texts(list("paths", index));
        for (int i = 0; i < names.size(); i++) found.put(index + i, names.get(i));
      }
      if (!found.containsKey(index)) {
        throw new StokerException("option", "the dataset has no sample " + index);
      }
      out.add(found.get(index));
    }
    return out;
  }

  private Message list(String what, long after) {
    check();
    while (true) {
      recover(0, false);
      if (connection == null) throw new StokerException("closed", "the reader is at its end");
      try {
        Map<String, Object> fields = new HashMap<>(Map.of("what", what, "after", after));
        return connection.request("list", "listing", fields, Connection.REPLY_NS);
      } catch (StokerException e) {
        if (!connection.lost()) throw e;
        lose(e);
      }
    }
  }

  private List<Text> texts(Message page) {
    List<Text> out = page.texts("items");
    if (out == null) throw connection.broken("names that are not a list of texts");
    return out;
  }

  private void warn(String text) {
    client.warn().accept(StokerException.plain(text));
  }

  private void check() {
    if (closed) throw new StokerException("closed", "the reader is closed");
  }

  /** Disconnect. Close held batches first: the daemon may use their slots again. */
  @Override
  public void close() {
    if (closed) return;
    closed = true;
    takeBack();
    if (connection != null) connection.close();
    if (ring != null) ring.drop();
    if (given != null) given.close();
  }
}
