// SPDX-License-Identifier: MIT
//! What a reader asks the daemon for beside batches: names of classes, paths, statistics.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::{Reader, REPLY};
use crate::error::Error;
use crate::message::Message;
use crate::msgpack::Value;

impl Reader {
    /// Names of the classes by label; none if the labels are not classes. Bytes, not always UTF-8.
    pub fn classes(&mut self) -> Result<Vec<OsString>, Error> {
        let (mut names, mut after) = (Vec::new(), 0);
        loop {
            let page = self.list("classes", after)?;
            names.extend(self.texts(&page)?);
            let next = page.uint("next");
            if next == 0 {
                return Ok(names);
            }
            if next <= after {
                return Err(self.connection()?.broken("a listing without end"));
            }
            after = next;
        }
    }

    /// Paths of samples by their indices in the dataset, relative to its root.
    pub fn paths(&mut self, indices: &[u64]) -> Result<Vec<OsString>, Error> {
        let mut found: HashMap<u64, OsString> = HashMap::new();
        for index in indices {
            if !found.contains_key(index) {
                let page = self.list("paths", *index)?;
                found.extend((*index..).zip(self.texts(&page)?));
            }
            if !found.contains_key(index) {
                return Err(Error::Option(format!("the dataset has no sample {index}")));
            }
        }
        Ok(indices.iter().map(|index| found[index].clone()).collect())
    }

    /// What this reader waits for, as `stokerctl readers` shows it: pairs of a map.
    pub fn stats(&mut self) -> Result<Value, Error> {
        let page = self.list("reader", 0)?;
        match page.value("items") {
            Value::List(items) if items.len() == 1 => Ok(items[0].clone()),
            _ => Err(self.connection()?.broken("statistics that are not a map")),
        }
    }

    fn list(&mut self, what: &str, after: u64) -> Result<Message, Error> {
        loop {
            self.recover(None)?;
            let request = HashMap::from([("what", what.into()), ("after", after.into())]);
            match self.connection()?.request("list", "listing", request, REPLY) {
                Err(error) if self.connection()?.lost() => self.lose(error)?,
                other => return other,
            }
        }
    }

    fn texts(&mut self, page: &Message) -> Result<Vec<OsString>, Error> {
        let names: Option<Vec<_>> = match page.value("items") {
            Value::List(items) => items
                .iter()
                .map(|item| match item {
                    Value::Text(text) => Some(OsString::from_vec(text.clone())),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        match names {
            Some(names) => Ok(names),
            None => Err(self.connection()?.broken("names that are not texts")),
        }
    }
}
