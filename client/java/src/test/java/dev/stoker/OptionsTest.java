// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Options as an ATTACH has them. */
final class OptionsTest {
  private static Options options() {
    return new Options(Dataset.of(Path.of("/data")), 4);
  }

  private static Message sent(Options options) {
    Map<String, Object> fields = new HashMap<>(options.request());
    fields.put("seq", 1L);
    ByteBuffer frame = Message.encode("attach", fields);
    return Message.decode(frame.position(4).slice());
  }

  private static Reason refused(Options options) {
    return assertThrows(StokerException.class, () -> sent(options)).reason();
  }

  @Test
  void eachFieldThatAProgramChoosesHasAMethod() {
    Set<String> own =
        Set.of(
            "seq",
            "dataset",
            "batch_size",
            "accept_fd",
            "accept_path",
            "accept_moves",
            "accept_names",
            "accept_sizes",
            "like",
            "page");
    Set<String> methods =
        Arrays.stream(Options.class.getMethods())
            .filter(method -> method.getReturnType() == Options.class)
            .map(method -> method.getName().toLowerCase())
            .collect(Collectors.toSet());
    for (Tables.Field field : Message.type("attach").fields()) {
      boolean there = methods.contains(field.key().replace("_", ""));
      assertEquals(
          !own.contains(field.key()) && !field.key().startsWith("given"), there, field.key());
    }
  }

  @Test
  void whatIsNotSetHasItsDefault() {
    Message attach = sent(options());
    assertEquals(3, attach.number("inflight"));
    assertEquals(-1, attach.number("subset_stop"));
    assertEquals(true, attach.value("shuffle"));
    assertEquals("", attach.string("pace"));
    assertEquals(Text.EMPTY, attach.text("secret"));
  }

  @Test
  void numbersOf64BitsAreUnsigned() {
    assertEquals(-2, sent(options().orderSeed(-2)).number("order_seed"));
  }

  @Test
  void wordsAreThoseOfTheProtocol() {
    Message attach =
        sent(options().dtype(DType.UINT8).lastBatch(LastBatch.WRAP).resize(Resize.PILLOW_12));
    assertEquals(
        List.of("uint8", "wrap", "pillow-12"),
        Stream.of("dtype", "last_batch", "resize").map(attach::string).toList());
  }

  static Stream<Function<String, Enum<?>>> words() {
    return Stream.of(
        BadSamples::of,
        DType::of,
        LastBatch::of,
        Layout::of,
        Order::of,
        Pace::of,
        Resize::of,
        Start::of);
  }

  @ParameterizedTest
  @MethodSource("words")
  void eachWordGivesItsConstant(Function<String, Enum<?>> of) {
    StokerException e = assertThrows(StokerException.class, () -> of.apply("sideways"));
    assertEquals(Reason.OPTION, e.reason());
    String type = e.getMessage().replaceAll("there is no (\\w+) sideways", "$1");
    for (Object one : constants(type)) assertEquals(one, of.apply(one.toString()));
  }

  private static Object[] constants(String type) {
    try {
      return Class.forName("dev.stoker." + type).getEnumConstants();
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aSecretIsAny16Bytes() {
    byte[] secret = new byte[16];
    for (int i = 0; i < 16; i++) secret[i] = (byte) (0xf8 + i); // as UTF-8 they are nothing
    byte[] wanted = secret.clone();
    Options options = options().secret(secret);
    secret[0] = 'x'; // the options have a copy
    assertArrayEquals(wanted, sent(options).text("secret").bytes());
    assertEquals(Reason.OPTION, refused(options().secret(new byte[17])));
  }

  static Stream<Options> wrong() {
    return Stream.of(
        new Options(Dataset.of(Path.of("/data")), 0),
        options().rank(1), // of a world of 1
        options().inflight(0),
        options().inflight(1025),
        options().priority(0),
        options().echo(17),
        options().epoch(1L << 32),
        options().job("x".repeat(256)),
        options().transforms(List.of(Call.of("Pad").with("padding", Double.NaN))),
        options().sampler(Call.of("subset").with("indices", new int[] {1})));
  }

  @ParameterizedTest
  @MethodSource("wrong")
  void aValueOutOfRangeIsRefused(Options options) {
    assertEquals(Reason.OPTION, refused(options));
  }

  @Test
  void theDaemonIsNotAskedForWhatIsWrong() {
    Options options = options().rank(1);
    StokerException e = assertThrows(StokerException.class, () -> new Client().attach(options));
    assertTrue(e.getMessage().contains("rank"), e.getMessage());
  }
}
