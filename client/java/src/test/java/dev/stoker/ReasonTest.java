// SPDX-License-Identifier: MIT
package dev.stoker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Why a call failed, and what can follow. */
final class ReasonTest {
  @ParameterizedTest
  @EnumSource(Reason.class)
  void eachWordGivesItsConstant(Reason reason) {
    assertEquals(reason, Reason.of(reason.toString()));
    assertEquals(reason, new StokerException(reason.toString(), "").reason());
  }

  @Test
  void aWordOfANewerDaemonIsUnknown() {
    assertEquals(Reason.UNKNOWN, new StokerException("sample_of_tomorrow", "").reason());
  }

  @Test
  void aLoopGoesOnWhereNothingIsLost() {
    Reason[] goesOn =
        Arrays.stream(Reason.values())
            .filter(reason -> new StokerException(reason.toString(), "").goesOn())
            .toArray(Reason[]::new);
    assertEquals(Arrays.asList(Reason.TIMEOUT, Reason.HELD), Arrays.asList(goesOn));
  }

  @Test
  void textsHaveNoControlCharacters() {
    String text = "a\u001b[31m\nb\u0000\u007f\u009bc\u00e9";
    assertEquals("a?[31m?b???c\u00e9", new StokerException("dataset", text).getMessage());
  }

  @Test
  void anErrorWithoutTextSaysItsName() {
    assertEquals("limit", new RequestException(28, "limit", "").getMessage());
  }
}
