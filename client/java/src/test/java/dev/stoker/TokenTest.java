// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tokens as JSON of any language, and what they are compared with. */
final class TokenTest {
  private static final String WHOLE =
      """
      {"version": 2, "epoch": 3, "position": 18446744073709551615,
       "description": {"order_seed": 18446744073709551614, "transforms": [{"name": "A", "x": 1.5}]},
       "digest": "00ff", "fingerprints": {"dataset": "aa", "of_tomorrow": "bb"}}
      """;
  private static final String FIRST =
      """
      {"version": 1, "epoch": 1, "position": 20, "dataset": "aa", "pipeline": "bb",
       "order_seed": 7, "augment_seed": 0, "shuffle": true, "subset": [0, null]}
      """;

  @Test
  void whatIsWrittenIsReadAgain() {
    Token token = Token.parse(WHOLE);
    assertEquals(new Place(3, -1), token.place()); // unsigned
    assertEquals(Map.of("dataset", "aa", "of_tomorrow", "bb"), token.fingerprints());
    assertEquals(List.of(Map.of("name", "A", "x", 1.5)), token.description().get("transforms"));
    assertEquals(token, Token.parse(token.toJson()));
    assertTrue(token.toJson().contains("18446744073709551614"), token.toJson());
  }

  @Test
  void aPlaceMayBeTextAsJavaScriptWritesLargeNumbers() {
    String text = WHOLE.replace("18446744073709551615", "\"18446744073709551615\"");
    assertEquals(Token.parse(WHOLE), Token.parse(text));
  }

  @Test
  void version1IsReadToo() {
    Token token = Token.parse(FIRST);
    assertEquals(new Place(1, 20), token.place());
    assertEquals("", token.digest());
    assertEquals(7L, token.description().get("order_seed"));
    assertEquals("bb", token.fingerprints().get("pipeline"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"version\": 3, \"epoch\": 0, \"position\": 0}",
        "{\"version\": 2, \"epoch\": 0, \"position\": 0}",
        "{\"version\": 2, \"epoch\": \"x\", \"position\": 0}"
      })
  void whatIsNoTokenIsRefused(String json) {
    assertThrows(IllegalArgumentException.class, () -> Token.parse(json));
  }

  private static Options options(long seed) {
    return new Options(Dataset.of(Path.of("/data")), 4).orderSeed(seed);
  }

  @Test
  void anotherStreamIsRefusedByTheFieldThatDiffers() {
    Token token = Token.parse(FIRST);
    token.check(options(7).request());
    RequestException e =
        assertThrows(RequestException.class, () -> token.check(options(8).request()));
    assertEquals(Reason.TOKEN, e.reason());
    assertEquals("order_seed: the token is for 7, these options have 8", e.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"'', '', pillow-13", "pillow-12, '', pillow-12", "'', pillow-12, pillow-12"})
  void aResizeIsThatOfOptionsOrToken(String asked, String said, String wanted) {
    Options options = options(7);
    if (!asked.isEmpty()) options.resize(Resize.of(asked));
    String json =
        WHOLE.replace("\"order_seed\"", "\"resize\": \"%s\", \"order_seed\"".formatted(said));
    Token token = said.isEmpty() ? null : Token.parse(json);
    assertEquals(wanted, Token.settleResize(options.request(), token, true, text -> {}));
  }
}
