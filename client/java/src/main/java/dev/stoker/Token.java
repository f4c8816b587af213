// SPDX-License-Identifier: MIT
package dev.stoker;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Where to resume, and of which stream. As JSON the clients of all languages understand it. It is
 * the same on all ranks after the same number of batches; batch size and world size may differ when
 * it is used.
 *
 * @param place where the next batch begins
 * @param description the fields of ATTACH that decide about bytes
 * @param digest of the description, by the daemon; empty: it has some fields only, as they were
 *     asked for
 * @param fingerprints what stands for the rest, by kind; there may be kinds that this client does
 *     not know
 */
public record Token(
    Place place, Map<String, Object> description, String digest, Map<String, String> fingerprints) {

  /** Fields of ATTACHED that are fingerprints, by their kinds. */
  private static final Map<String, String> KINDS =
      Map.of(
          "dataset",
          "dataset_fingerprint",
          "names",
          "names_fingerprint",
          "pipeline",
          "pipeline_hash",
          "sampling",
          "sampling_hash");

  /** That of a stream that was attached to as {@code was} says, if there is one. */
  static Token of(Message attached, Map<String, Object> request, String resize, Token was) {
    boolean described = attached.value("description") instanceof Map<?, ?>;
    String digest = described ? attached.string("digest") : "";
    Map<String, String> kinds = new TreeMap<>(was == null ? Map.of() : was.fingerprints);
    KINDS.forEach(
        (kind, field) -> {
          String own = attached.string(field);
          boolean ofDataset = kind.equals("dataset") || kind.equals("names");
          if (own.isEmpty() && ofDataset) return; // there is none, or not yet
          String theirs = kinds.put(kind, own);
          if (theirs != null) same(kind, theirs, own);
          if (!digest.isEmpty() && !ofDataset) kinds.remove(kind);
        });
    if (was != null
        && was.fingerprints.containsKey("names")
        && !was.fingerprints.containsKey("dataset")
        && attached.text("names_fingerprint").isEmpty()) {
      throw RequestException.token("names", was.fingerprints.get("names"), "none");
    }
    Map<String, Object> description = asked(request, resize);
    if (!digest.isEmpty()) {
      description = Json.map(Json.of(attached.value("description"), false));
    } else if (was != null && !was.digest.isEmpty()) {
      throw RequestException.token(
          "digest", was.digest, "none: this stokerd is older than the token, update it");
    }
    return new Token(new Place(0, 0), description, digest, kinds);
  }

  /** With what the dataset is, which a batch says once it is known. */
  Token with(String datasetFingerprint) {
    Map<String, String> kinds = new TreeMap<>(fingerprints);
    kinds.putIfAbsent("dataset", datasetFingerprint);
    return new Token(place, description, digest, kinds);
  }

  Token at(Place place) {
    return new Token(place, description, digest, fingerprints);
  }

  private String resize() {
    return (String) description.getOrDefault("resize", "");
  }

  /** The fields of an ATTACH that is to be of this stream. */
  Map<String, Object> expected() {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("expect_description", digest);
    for (String kind : KINDS.keySet()) {
      if (fingerprints.containsKey(kind)) out.put("expect_" + kind, fingerprints.get(kind));
    }
    return out;
  }

  /** Is it for this request, as far as the daemon does not compare it? */
  void check(Map<String, Object> request) {
    if (fingerprints.keySet().stream().noneMatch(KINDS::containsKey)) {
      throw RequestException.token("fingerprints", fingerprints.keySet(), KINDS.keySet());
    }
    if (digest.isEmpty()) compare(asked(request, description.get("resize")), null);
  }

  /** The numbers and truths of a request that decide about bytes. */
  private static Map<String, Object> asked(Map<String, Object> request, Object resize) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("resize", resize);
    for (Tables.Field field : Message.type("attach").fields()) {
      if (Tables.BYTES.contains(field.key())
          && (field.kind() == Tables.Kind.UINT || field.kind() == Tables.Kind.BOOLEAN)) {
        Object value = request.getOrDefault(field.key(), Message.empty(field));
        out.put(field.key(), Json.of(value, true));
      }
    }
    return out;
  }

  /**
   * Finds the first field that differs. What the token does not say, because its client or daemon
   * knew fewer fields, is equal unless this request says it.
   */
  private void compare(Map<String, Object> ours, Map<String, Object> request) {
    new TreeMap<>(description).forEach((key, theirs) -> same(key, theirs, ours.get(key)));
    if (request == null) return;
    for (Tables.Field field : Message.type("attach").fields()) {
      String key = field.key();
      Object own = request.get(key);
      boolean said = own != null && !own.equals("") && !own.equals(Message.empty(field));
      if (said && Tables.BYTES.contains(key) && !description.containsKey(key)) {
        throw RequestException.token(key, "nothing", Json.write(Json.of(own, true)));
      }
    }
  }

  /** Throws the error, with the field that differs, unless the daemon only knows more fields. */
  void allow(RequestException error, Map<String, Object> request) {
    if (digest.isEmpty() || error.description() == null) throw error;
    compare(error.description(), request);
  }

  private static final String PILLOW_12 = "pillow-12";
  static final String PILLOW_13 = "pillow-13";
  private static final String OLD_TOKEN =
      "the token is of a client that knew the resizes of Pillow 12 alone: the stream goes on with"
          + " these";
  private static final String OLD_DAEMON =
      "this stokerd is older than the client and makes the resizes of Pillow 12 alone";

  /**
   * Whose bytes a resize makes, by the options or the token, is put into the ATTACH: a daemon that
   * does not know the word would make other bytes. Absence means Pillow 12, to any daemon.
   */
  static String settleResize(
      Map<String, Object> request, Token token, boolean known, Consumer<String> warn) {
    String asked = (String) request.getOrDefault("resize", "");
    String must = asked;
    if (token != null) {
      String said = token.resize();
      must = said.isEmpty() ? PILLOW_12 : said;
      if (!asked.isEmpty() && !asked.equals(must)) {
        throw RequestException.token("resize", must, asked);
      }
      if (asked.isEmpty() && said.isEmpty()) warn.accept(OLD_TOKEN);
    }
    String resize = must.isEmpty() ? PILLOW_13 : must;
    if (resize.equals(PILLOW_13) && !known) {
      if (!must.isEmpty()) {
        throw new StokerException("option", OLD_DAEMON + ": update it, or ask for " + PILLOW_12);
      }
      warn.accept(OLD_DAEMON);
      resize = PILLOW_12;
    }
    if (resize.equals(PILLOW_12)) request.remove("resize");
    else request.put("resize", resize);
    return resize;
  }

  private static void same(String what, Object theirs, Object ours) {
    if (!isSame(theirs, ours)) {
      throw RequestException.token(what, words(theirs), words(ours));
    }
  }

  private static String words(Object tree) {
    String words = tree instanceof String string ? string : Json.write(tree);
    return words.length() > 300 ? words.substring(0, 300) + "..." : words;
  }

  /** The first of them may have been JSON of another language, which writes 1.0 as 1. */
  private static boolean isSame(Object theirs, Object ours) {
    return switch (theirs) {
      case Number number when ours instanceof Number own ->
          decimal(number).compareTo(decimal(own)) == 0;
      case String digits when ours instanceof Number own && digits.matches("\\d+") ->
          new BigDecimal(digits).compareTo(decimal(own)) == 0;
      case List<?> list when ours instanceof List<?> own -> {
        boolean same = list.size() == own.size();
        for (int i = 0; same && i < list.size(); i++) same = isSame(list.get(i), own.get(i));
        yield same;
      }
      case Map<?, ?> map when ours instanceof Map<?, ?> own ->
          map.keySet().equals(own.keySet())
              && map.keySet().stream().allMatch(key -> isSame(map.get(key), own.get(key)));
      case null, default -> Objects.equals(theirs, ours);
    };
  }

  private static BigDecimal decimal(Number number) {
    return new BigDecimal(number.toString());
  }

  /** {@return the token as JSON of one line, for the clients of all languages} */
  public String toJson() {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("version", 2L);
    out.put("epoch", Json.of(place.epoch(), true));
    out.put("position", Json.of(place.position(), true));
    out.put("description", description);
    out.put("digest", digest);
    out.put("fingerprints", fingerprints);
    return Json.write(out);
  }

  /**
   * Of what a client of any language and version wrote.
   *
   * @param json that {@link #toJson} gave, or what another language calls it
   * @return where that client was
   * @throws IllegalArgumentException if it is no token
   */
  public static Token parse(String json) {
    try {
      Map<String, Object> all = Json.map(Json.parse(json));
      Place place = new Place(whole(all.get("epoch")), whole(all.get("position")));
      long version = whole(all.get("version"));
      if (version == 1) return first(all, place);
      if (version != 2) {
        throw new IllegalArgumentException("the token is of version " + version + ", not 1 or 2");
      }
      Map<String, String> kinds = new TreeMap<>();
      Json.map(all.get("fingerprints")).forEach((kind, value) -> kinds.put(kind, (String) value));
      Map<String, Object> description = Json.map(all.get("description"));
      return new Token(
          place,
          new TreeMap<>(description),
          Objects.requireNonNull((String) all.get("digest")),
          kinds);
    } catch (ClassCastException | NullPointerException e) {
      throw new IllegalArgumentException("the token lacks a field, or one has another type", e);
    }
  }

  /** Version 1, which has some fields, and hashes of the rest. */
  private static Token first(Map<String, Object> all, Place place) {
    Map<String, String> kinds = new TreeMap<>();
    KINDS.forEach((kind, field) -> kinds.put(kind, (String) all.getOrDefault(kind, "")));
    Map<String, Object> description = new TreeMap<>();
    for (String key : Tables.BYTES) {
      if (all.containsKey(key)) description.put(key, all.get(key));
    }
    List<Object> subset = new ArrayList<>();
    if (all.get("subset") instanceof List<?> list) subset.addAll(list);
    Object start = subset.isEmpty() ? Long.valueOf(0) : subset.get(0);
    Object stop = subset.size() > 1 ? subset.get(1) : null;
    description.put("subset_start", start);
    description.put("subset_stop", stop == null ? Json.of(-1L, true) : stop);
    return new Token(place, description, "", kinds);
  }

  /** JavaScript's JSON.stringify() writes a number beyond 2^53 as a text. */
  private static long whole(Object value) {
    return new BigInteger(Objects.requireNonNull(value).toString()).longValue();
  }
}
