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

  /** A folder, a manifest, shards, arrays, or a published dataset; code:NAME stays as it is. */
  public static Dataset of(Path path) {
    String text = path.toString();
    return of(Text.of(text.startsWith("code:") ? text : path.toAbsolutePath().toString()));
  }

  /** The same, by the bytes of an absolute path, or by a URL: s3://bucket/train-{000..146}.tar. */
  public static Dataset of(Text path) {
    Dataset out = new Dataset();
    out.map.put("path", path);
    return out;
  }

  /** 2 to 16 datasets that are joined. */
  public static Dataset joined(List<Dataset> parts) {
    Dataset out = new Dataset();
    out.map.put("parts", parts.stream().map(part -> part.map).toList());
    return out;
  }

  /**
   * ... with one more key of the protocol: kind, root, format, path_column, label_column, images,
   * labels, split; of shards image, label, classes, components, missing_component.
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
