// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Datasets as the daemon gets them. */
final class DatasetTest {
  private static final String HERE = Path.of("").toAbsolutePath().toString();

  @Test
  void aRelativePathIsMadeAbsolute() {
    assertEquals(Map.of("path", Text.of(HERE + "/train")), Dataset.of(Path.of("train")).map());
    assertEquals(Map.of("path", Text.of("/train")), Dataset.of(Path.of("/train")).map());
  }

  @Test
  void aNameOrABytewisePathStaysAsItIs() {
    assertEquals(Map.of("path", Text.of("code:own")), Dataset.of(Path.of("code:own")).map());
    Text bytes = new Text(new byte[] {'/', (byte) 0xff});
    assertEquals(Map.of("path", bytes), Dataset.of(bytes).map());
    Text url = Text.of("s3://bucket/train-{000..146}.tar");
    assertEquals(Map.of("path", url), Dataset.of(url).map());
  }

  @Test
  void keysMakeAnotherDataset() {
    Dataset plain = Dataset.of(Path.of("/m.csv"));
    Dataset more = plain.with("kind", "manifest").with("root", "pictures");
    assertEquals(Map.of("path", Text.of("/m.csv")), plain.map());
    assertEquals(
        Map.of("path", Text.of("/m.csv"), "kind", "manifest", "root", HERE + "/pictures"),
        more.map());
  }

  @Test
  void joinedDatasetsKeepTheirOrder() {
    Dataset one = Dataset.of(Path.of("/b"));
    Dataset other = Dataset.of(Path.of("/a"));
    assertEquals(
        Map.of("parts", List.of(one.map(), other.map())),
        Dataset.joined(List.of(one, other)).map());
  }
}
