// SPDX-License-Identifier: MIT
//! Whether a daemon that is waited for lives. Knows no socket.

use std::time::{Duration, Instant};

use crate::message::Message;

const ASK: Duration = Duration::from_secs(2); // of silence, after which PING is sent
pub const SAY: Duration = Duration::from_secs(5); // of silence, after which it is said

/// That an answer to PING has: this process may have been stopped itself.
const FAIR: Duration = Duration::from_millis(2500);

/// What is due.
pub enum Step {
    Wait,
    Ask,
    Say,
}

pub struct Pulse {
    pub greeted: bool, // PING is allowed
    ping: u64,         // the number of one without an answer; 0: there is none ...
    asked: Instant,    // ... sent at this time
    silent: Instant,   // since when, within this wait
    said: bool,        // in this wait
}

impl Pulse {
    pub fn new() -> Pulse {
        let now = Instant::now();
        Pulse { greeted: false, ping: 0, asked: now, silent: now, said: false }
    }

    /// A wait begins, or something has come.
    pub fn begin(&mut self) {
        self.silent = Instant::now();
        self.said = false;
    }

    /// When the next step is due; None: there is none.
    pub fn due(&self) -> Option<Instant> {
        match (self.said, self.greeted) {
            (true, _) => None,
            (_, true) if self.ping == 0 => Some(self.silent + ASK),
            (_, true) => Some((self.silent + SAY).max(self.asked + FAIR)),
            (_, false) => Some(self.silent + SAY),
        }
    }

    /// `next`: the number that a PING would have.
    pub fn step(&mut self, next: u64) -> Step {
        let now = Instant::now();
        if !self.due().is_some_and(|due| now >= due) {
            return Step::Wait;
        }
        if self.greeted && self.ping == 0 {
            self.ping = next;
            self.asked = now;
            return Step::Ask;
        }
        self.said = true;
        Step::Say
    }

    /// The answer to the PING? Nobody else waits for it.
    pub fn takes(&mut self, message: &Message) -> bool {
        let pong = self.ping != 0 && message.name == "ok" && message.uint("seq") == self.ping;
        if pong {
            self.ping = 0;
        }
        pong
    }
}
