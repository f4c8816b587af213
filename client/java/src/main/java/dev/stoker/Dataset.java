// SPDX-License-Identifier: MIT
package dev.stoker;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the daemon opens. A relative path is made absolute here. */
public final class Dataset {
  private final Map<String, Object> map = new LinkedHashMap<>();

  private Dataset() {}

  /**
   * A folder, a manifest, shards, arrays, or a published dataset; code:NAME stays as it is.
   *
   * @param path which is opened when the daemon is asked
   * @return a dataset that never changes
   */
  public static Dataset of(Path path) {
    String text = path.toString();
    return of(Text.of(text.startsWith("code:") ? text : path.toAbsolutePath().toString()));
  }

  /**
   * The same by its bytes.
   *
   * @param path an absolute path, or a URL: s3://bucket/train-{000..146}.tar
   * @return a dataset that never changes
   */
  public static Dataset of(Text path) {
    Dataset out = new Dataset();
    out.map.put("path", path);
    return out;
  }

  /**
   * Datasets that are read as one, in this order.
   *
   * @param parts 2 to 16 of them
   * @return a dataset that never changes
   */
  public static Dataset joined(List<Dataset> parts) {
    Dataset out = new Dataset();
    out.map.put("parts", parts.stream().map(part -> part.map).toList());
    return out;
  }

  /**
   * ... with one more key of the protocol: kind, root, format, path_column, label_column, images,
   * labels, split; of shards image, label, classes, components, missing_component.
   *
   * @param key one of these
   * @param value of the key; a relative root is made absolute here
   * @return another dataset; this one stays as it is
   */
  public Dataset with(String key, String value) {
    Dataset out = new Dataset();
    out.map.putAll(map);
    boolean folder = key.equals("root");
    out.map.put(key, folder ? Path.of(value).toAbsolutePath().toString() : value);
    return out;
  }

  Map<String, Object> map() {
    return map;
  }
}
