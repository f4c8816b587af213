// SPDX-License-Identifier: MIT
//! When the daemon goes away.

use std::time::Instant;

use super::{Reader, LAST_PAUSE};
use crate::error::Error;
use crate::token::Place;

impl Reader {
    pub(super) fn lose(&mut self, error: Error) -> Result<(), Error> {
        self.connection = None;
        if self.client.reconnect.is_zero() {
            return Err(error);
        }
        if self.away.is_none() {
            let wait = self.client.reconnect;
            (self.client.warn)(&format!("{error}; waiting up to {wait:?} for it to come back"));
            self.away = Some((error, Instant::now() + wait));
        }
        Ok(())
    }

    /// Wait for a daemon and attach where the program is. The time counts up to the first message of
    /// the next daemon, so one that dies again and again is given up, too.
    pub(super) fn recover(&mut self, until: Option<Instant>) -> Result<(), Error> {
        while self.connection.is_none() && !self.ended {
            if self.tried {
                self.rest(until)?;
            }
            self.tried = true;
            match self.reattach() {
                Ok(more) => {
                    self.ended = !more;
                    self.reconnects += 1;
                    let Place { epoch, position } = self.at;
                    let text = format!("stokerd is back at epoch {epoch}, position {position}");
                    (self.client.warn)(&text);
                }
                Err(error) if error.passes() => self.connection = None,
                Err(error) => {
                    self.connection = None;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn reattach(&mut self) -> Result<bool, Error> {
        self.connection = Some(self.client.connect(None)?);
        self.attach_at(self.at)
    }

    fn rest(&mut self, until: Option<Instant>) -> Result<(), Error> {
        let now = Instant::now();
        let unknown = || (Error::Disconnected("stokerd went away".into()), now);
        let (why, last) = self.away.clone().unwrap_or_else(unknown);
        if now >= last {
            self.tried = false; // another call tries again
            let text = format!(
                "{why}; it did not come back within {:?}; token() says where to resume",
                self.client.reconnect
            );
            return Err(why.with_text(text));
        }
        if until.is_some_and(|until| now >= until) {
            return Err(Error::Timeout(format!("no batch came in time: {why}")));
        }
        let next = until.into_iter().chain([last, now + self.pause]).min().unwrap_or(last);
        std::thread::sleep(next.saturating_duration_since(now));
        self.pause = (2 * self.pause).min(LAST_PAUSE);
        Ok(())
    }
}
