// SPDX-License-Identifier: MIT
package dev.stoker;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where to resume, and of which stream. As JSON the clients of all languages understand it. It is
 * the same on all ranks after the same number of batches; batch size and world may differ when it
 * is used. Numbers of 64 bits are unsigned.
 *
 * @param dataset fingerprint
 * @param pipeline hash
 * @param sampling hash of sampler, echo and views, if there are any
 * @param resize whose bytes a resize makes; empty, of an older client: pillow-12
 * @param orderSeed of the order
 * @param augmentSeed of the random transforms
 * @param shuffle or in the order of the dataset
 * @param subset start, and stop if there is one; empty: all samples
 * @param exifOrientation of the options
 * @param place where the next batch begins
 */
public record Token(
    String dataset,
    String pipeline,
    String sampling,
    String resize,
    long orderSeed,
    long augmentSeed,
    boolean shuffle,
    List<Long> subset,
    boolean exifOrientation,
    Place place) {

  /** One of these fields of ATTACH, without what only the daemon knows. */
  static Token identity(Map<String, Object> request) {
    Long stop = (Long) request.get("subset_stop");
    Long start = (Long) request.getOrDefault("subset_start", 0L);
    List<Long> subset = stop == null ? List.of(start) : List.of(start, stop);
    return new Token(
        "",
        "",
        "",
        "",
        (Long) request.getOrDefault("order_seed", 0L),
        (Long) request.getOrDefault("augment_seed", 0L),
        (Boolean) request.getOrDefault("shuffle", true),
        start == 0 && stop == null ? List.of() : subset,
        (Boolean) request.getOrDefault("exif_orientation", false),
        new Place(0, 0));
  }

  Token at(Place place, String dataset, String pipeline, String sampling, String resize) {
    return new Token(
        dataset,
        pipeline,
        sampling,
        resize,
        orderSeed,
        augmentSeed,
        shuffle,
        subset,
        exifOrientation,
        place);
  }

  /** Is it for these options? The daemon compares the rest. */
  void check(Token ours) {
    same("order_seed", orderSeed, ours.orderSeed);
    same("augment_seed", augmentSeed, ours.augmentSeed);
    same("shuffle", shuffle, ours.shuffle);
    same("subset", subset, ours.subset);
    same("exif_orientation", exifOrientation, ours.exifOrientation);
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
      must = token.resize.isEmpty() ? PILLOW_12 : token.resize;
      if (!asked.isEmpty()) same("resize", must, asked);
      else if (token.resize.isEmpty()) warn.accept(OLD_TOKEN);
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
    if (!Objects.equals(theirs, ours)) throw RequestException.token(what, theirs, ours);
  }

  /** As JSON. */
  public String toJson() {
    String part = "null";
    if (!subset.isEmpty()) {
      String stop = subset.size() > 1 ? Long.toUnsignedString(subset.get(1)) : "null";
      part = "[" + Long.toUnsignedString(subset.get(0)) + ", " + stop + "]";
    }
    return """
    {"version": 1, "dataset": "%s", "pipeline": "%s", "sampling": "%s", "resize": "%s", \
    "order_seed": %s, "augment_seed": %s, "shuffle": %b, "subset": %s, "exif_orientation": %b, "epoch": %s, \
    "position": %s}\
    """
        .formatted(
            dataset,
            pipeline,
            sampling,
            resize,
            Long.toUnsignedString(orderSeed),
            Long.toUnsignedString(augmentSeed),
            shuffle,
            part,
            exifOrientation,
            Long.toUnsignedString(place.epoch()),
            Long.toUnsignedString(place.position()));
  }

  /** Of what any client wrote: one flat map. */
  public static Token parse(String json) {
    if (!member(json, "version").equals("1")) {
      throw new IllegalArgumentException("the token is not of version 1");
    }
    return new Token(
        member(json, "dataset"),
        member(json, "pipeline"),
        member(json, "sampling"),
        json.contains("\"resize\"") ? member(json, "resize") : "",
        Long.parseUnsignedLong(member(json, "order_seed")),
        Long.parseUnsignedLong(member(json, "augment_seed")),
        Boolean.parseBoolean(member(json, "shuffle")),
        subsetOf(member(json, "subset")),
        Boolean.parseBoolean(member(json, "exif_orientation")),
        new Place(
            Long.parseUnsignedLong(member(json, "epoch")),
            Long.parseUnsignedLong(member(json, "position"))));
  }

  private static List<Long> subsetOf(String text) {
    if (text.equals("null")) return List.of();
    Matcher numbers = Pattern.compile("\\d+").matcher(text);
    return numbers.results().map(found -> Long.parseUnsignedLong(found.group())).toList();
  }

  private static String member(String json, String key) {
    String value = "(?:\"([^\"\\\\]*)\"|(\\[[^\\]]*\\]|[^,}\\s]+))";
    Matcher found = Pattern.compile("\"" + key + "\"\\s*:\\s*" + value).matcher(json);
    if (!found.find()) throw new IllegalArgumentException("the token has no " + key);
    return found.group(1) != null ? found.group(1) : found.group(2);
  }
}
