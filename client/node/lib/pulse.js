// SPDX-License-Identifier: MIT
/** Whether a daemon that is waited for lives. Knows no socket. */

const ASK_MS = 2000; // of silence, after which PING is sent
export const SAY_MS = 5000; // of silence, after which it is said
const FAIR_MS = 2500; // that an answer to PING has: this process may have been stopped itself

export class Pulse {
  greeted = false; // PING is allowed
  #ping = 0; // the number of one without an answer; 0: there is none ...
  #asked = 0; // ... sent at this time
  #silent = 0; // since when, within this wait
  #said = false; // in this wait

  /** A wait begins, or something has come. */
  begin() {
    this.#silent = performance.now();
    this.#said = false;
  }

  /** How many ms until the next step; infinite: there is none. */
  left() {
    if (this.#said) return Number.POSITIVE_INFINITY;
    const now = performance.now();
    if (this.greeted && !this.#ping) return this.#silent + ASK_MS - now;
    const fair = this.greeted ? this.#asked + FAIR_MS : 0;
    return Math.max(this.#silent + SAY_MS, fair) - now;
  }

  /** "ask", "say", or nothing. `next`: the number that a PING would have. */
  step(next) {
    if (this.left() > 0) return "";
    if (this.greeted && !this.#ping) {
      this.#ping = next;
      this.#asked = performance.now();
      return "ask";
    }
    this.#said = true;
    return "say";
  }

  /** The answer to the PING? Nobody else waits for it. */
  takes({ type, seq }) {
    if (!this.#ping || type !== "ok" || seq !== this.#ping) return false;
    this.#ping = 0;
    return true;
  }
}
