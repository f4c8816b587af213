// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.lang.ref.Cleaner;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Descriptors of a dataset, for a daemon of another user: they show what this one may read, so that
 * it needs no rule for us (PROTOCOL.md, section 6). What cannot be opened is left out: a rule may
 * allow it. Knows no socket.
 */
final class Given {
  private static final int MOST = 34; // that the daemon takes with a message
  private static final Cleaner CLEANER = Cleaner.create();

  /** They end with this, or with whoever forgot to close it. */
  private static final class Open implements Runnable {
    final List<Integer> descriptors = new ArrayList<>();

    @Override
    public void run() {
      descriptors.forEach(Posix::close);
      descriptors.clear();
    }
  }

  private final Open open = new Open();
  private final Cleaner.Cleanable cleaning = CLEANER.register(this, open);

  /** Of ATTACH: dataset and sampler, with the numbers of the descriptors. */
  final Map<String, Object> fields = new HashMap<>();

  Given(Map<String, Object> request) {
    if (request.get("dataset") instanceof Map<?, ?> map) fields.put("dataset", joined(map));
    if (request.get("sampler") instanceof Call call) fields.put("sampler", sampler(call.map()));
  }

  int[] descriptors() {
    return open.descriptors.stream().mapToInt(Integer::intValue).toArray();
  }

  void close() {
    cleaning.clean();
  }

  private Map<String, Object> joined(Map<?, ?> map) {
    if (!(map.get("parts") instanceof List<?> parts)) return dataset(map);
    return Map.of("parts", parts.stream().map(part -> dataset((Map<?, ?>) part)).toList());
  }

  private static Map<String, Object> copy(Map<?, ?> map) {
    Map<String, Object> out = new HashMap<>();
    map.forEach((key, value) -> out.put((String) key, value));
    return out;
  }

  private Map<String, Object> dataset(Map<?, ?> map) {
    Map<String, Object> out = copy(map);
    byte[] path = bytes(out.get("path"));
    byte[] folder = patternFolder(path);
    if (folder != null) { // of shards
      boolean both = add(out, "path_fd", folder) != null && add(out, "root_fd", folder) != null;
      String name = new String(path, StandardCharsets.UTF_8);
      boolean records = name.indexOf(".tfrecord", name.lastIndexOf('/')) >= 0;
      if (both) out.putIfAbsent("kind", records ? "tfrecord" : "tar");
      return out;
    }
    if (Boolean.FALSE.equals(add(out, "path_fd", path))) {
      add(out, "root_fd", out.containsKey("root") ? bytes(out.get("root")) : parent(path));
    }
    byte[] labels = out.containsKey("labels") ? bytes(out.get("labels")) : new byte[0];
    if (labels.length > 0 && labels[0] == '/') add(out, "labels_fd", labels);
    return out;
  }

  private Map<String, Object> sampler(Map<?, ?> map) {
    Map<String, Object> out = copy(map);
    for (String key : List.of("indices", "weights")) {
      Object path = out.get(key);
      if (path instanceof String || path instanceof Text) add(out, "list_fd", bytes(path));
    }
    return out;
  }

  /** Open it and put its number into a map. Is it a folder? null: it was left out. */
  private Boolean add(Map<String, Object> out, String key, byte[] path) {
    if (open.descriptors.size() == MOST || isUrl(path)) return null;
    int descriptor;
    try {
      descriptor = Posix.open(path);
    } catch (IOException e) {
      return null;
    }
    Path shown = Path.of("/proc/self/fd/" + descriptor);
    boolean folder = Files.isDirectory(shown);
    if (!folder && !Files.isRegularFile(shown)) {
      Posix.close(descriptor);
      return null;
    }
    out.put(key, (long) open.descriptors.size());
    open.descriptors.add(descriptor);
    return folder;
  }

  private static byte[] bytes(Object text) {
    return text instanceof Text bytes ? bytes.bytes() : ((String) text).getBytes();
  }

  /** It would be opened as a file, beneath a folder "s3:". */
  private static boolean isUrl(byte[] path) {
    return new String(path, StandardCharsets.ISO_8859_1).contains("://");
  }

  private static byte[] parent(byte[] path) {
    int end = path.length;
    while (end > 1 && path[end - 1] != '/') end--;
    return Arrays.copyOf(path, end);
  }

  /** The folder that a pattern of shards begins at; null: the path is no pattern. */
  static byte[] patternFolder(byte[] path) {
    int special = 0;
    while (special < path.length && "{*?[".indexOf(path[special]) < 0) special++;
    if (special == path.length || isUrl(path) || Posix.exists(path)) return null;
    return parent(Arrays.copyOf(path, special));
  }
}
