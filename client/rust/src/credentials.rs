// SPDX-License-Identifier: MIT

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::connection::Connection;
use crate::error::Error;
use crate::msgpack::Value;

const REPLY: Duration = Duration::from_secs(30);

/// One's own of S3, for what lies beneath a URL: a daemon of another user reads with them.
#[derive(Clone, Default, PartialEq)]
pub struct Credentials {
    /// `s3://BUCKET` or `s3://BUCKET/PREFIX`.
    pub url: String,
    /// `AWS_ACCESS_KEY_ID`.
    pub key: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret: String,
    /// Of a session; may be empty.
    pub token: String,
    /// None: never.
    pub expires: Option<SystemTime>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Credentials").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Credentials {
    fn fields(&self) -> HashMap<&'static str, Value> {
        let since = self.expires.map(|at| at.duration_since(UNIX_EPOCH).unwrap_or_default());
        HashMap::from([
            ("url", self.url.as_str().into()),
            ("key", self.key.as_str().into()),
            ("secret", self.secret.as_str().into()),
            ("token", self.token.as_str().into()),
            ("expires", since.map_or(0, |since| since.as_secs().max(1)).into()),
        ])
    }
}

pub fn send(connection: &mut Connection, credentials: &[Credentials]) -> Result<(), Error> {
    if !credentials.is_empty() && !connection.takes_credentials {
        let text = "this stokerd is too old to take credentials: update it";
        return Err(Error::Option(text.into()));
    }
    for one in credentials {
        connection.request("credentials", "ok", one.fields(), REPLY)?;
    }
    Ok(())
}
