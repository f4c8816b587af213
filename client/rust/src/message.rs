// SPDX-License-Identifier: MIT
//! Messages: maps that were checked against the tables. Knows no socket.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::error::Error;
use crate::msgpack::{self, Value};
use crate::ring::{Ring, Size, Tray};
use crate::tables::{Field, Kind, MessageType, FRAME_MAX, MESSAGES};
use crate::token::Place;

/// Slots that are one behind the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub first: u64,
    pub count: u64,
}

/// A message that was received: every field of its table is there, with its type.
pub(crate) struct Message {
    pub name: &'static str,
    fields: HashMap<&'static str, Value>,
    /// Of ATTACHED and RING.
    pub ring: Option<std::sync::Arc<Ring>>,
    /// Of PRODUCER.
    pub tray: Option<Tray>,
}

impl Message {
    pub fn uint(&self, key: &str) -> u64 {
        match self.fields.get(key) {
            Some(Value::Uint(number)) => *number,
            _ => 0,
        }
    }

    pub fn bytes(&self, key: &str) -> &[u8] {
        match self.fields.get(key) {
            Some(Value::Text(text)) => text,
            _ => &[],
        }
    }

    pub fn text(&self, key: &str) -> String {
        String::from_utf8_lossy(self.bytes(key)).into_owned()
    }

    pub fn os_string(&self, key: &str) -> OsString {
        OsString::from_vec(self.bytes(key).to_vec())
    }

    pub fn value(&self, key: &str) -> &Value {
        self.fields.get(key).unwrap_or(&Value::Nil)
    }

    pub fn runs(&self) -> Vec<Run> {
        runs_of(self.value("runs")).unwrap_or_default()
    }

    /// Does WELCOME name this capability?
    pub fn can(&self, capability: &str) -> bool {
        let named = Value::from(capability);
        matches!(self.value("capabilities"), Value::List(items) if items.contains(&named))
    }

    /// Where to resume after a BATCH or BAD_SAMPLE.
    pub fn place(&self) -> Place {
        Place { epoch: self.uint("next_epoch"), position: self.uint("next_position") }
    }

    pub fn size(&self) -> Size {
        let (height, width) = (self.uint("height"), self.uint("width"));
        Size { height, width, origin: self.uint("origin") }
    }
}

fn runs_of(value: &Value) -> Option<Vec<Run>> {
    let Value::List(items) = value else { return None };
    items
        .iter()
        .map(|item| match item {
            Value::List(pair) => match pair[..] {
                [Value::Uint(first), Value::Uint(count)]
                    if first <= u32::MAX.into() && (1..=u32::MAX.into()).contains(&count) =>
                {
                    Some(Run { first, count })
                }
                _ => None,
            },
            _ => None,
        })
        .collect()
}

pub(crate) fn type_of(name: &str) -> &'static MessageType {
    MESSAGES.iter().find(|message| message.name == name).expect("a name of the table")
}

impl Field {
    pub(crate) fn empty(&self) -> Value {
        match self.kind {
            Kind::Uint => Value::Uint(self.default),
            Kind::Boolean => Value::Bool(self.default != 0),
            Kind::Text => Value::Text(Vec::new()),
            Kind::Runs | Kind::Any => Value::Nil,
        }
    }

    fn allows(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (Kind::Uint, Value::Uint(number)) => (self.min..=self.max).contains(number),
            (Kind::Boolean, Value::Bool(_)) | (Kind::Any, _) => true,
            (Kind::Text, Value::Text(text)) => (self.min..=self.max).contains(&(text.len() as u64)),
            (Kind::Runs, value) => {
                runs_of(value).is_some_and(|runs| !runs.is_empty() && runs.len() as u64 <= self.max)
            }
            _ => false,
        }
    }
}

/// A whole frame, without the fields that have their default. The error says what is wrong.
pub(crate) fn encode(name: &str, mut values: HashMap<&str, Value>) -> Result<Vec<u8>, String> {
    let message = type_of(name);
    let mut pairs = vec![(b"type".to_vec(), Value::Uint(message.number))];
    for field in message.fields {
        let value = match values.remove(field.key) {
            None if !field.required => continue,
            given => given.unwrap_or_else(|| field.empty()),
        };
        if !field.allows(&value) {
            return Err(format!("{} is of a wrong type or out of range", field.key));
        }
        if field.required || value != field.empty() {
            pairs.push((field.key.into(), value));
        }
    }
    let mut frame = vec![0; 4];
    msgpack::encode(&mut frame, &Value::Map(pairs))?;
    let size = (frame.len() - 4) as u64;
    if size > FRAME_MAX {
        return Err(format!("the request has {size} bytes, at most {FRAME_MAX} fit"));
    }
    frame[..4].copy_from_slice(&(size as u32).to_be_bytes());
    Ok(frame)
}

/// Check the payload of one frame.
pub(crate) fn decode(payload: &[u8]) -> Result<Message, Error> {
    let broken = |text: String| Error::Protocol(text);
    let tree = msgpack::decode(payload).map_err(broken)?;
    let number = tree.get("type").cloned().unwrap_or(Value::Nil);
    let message = MESSAGES
        .iter()
        .find(|message| number == Value::Uint(message.number))
        .ok_or_else(|| broken(format!("no message has the number {number:?}")))?;
    let mut fields = HashMap::new();
    for field in message.fields {
        let value = match tree.get(field.key) {
            Some(value) if field.allows(value) => value.clone(),
            None if !field.required => field.empty(),
            Some(_) => {
                let text = "is of a wrong type or out of range";
                return Err(broken(format!("{}.{} {text}", message.name, field.key)));
            }
            None => return Err(broken(format!("{} has no {}", message.name, field.key))),
        };
        fields.insert(field.key, value);
    }
    Ok(Message { name: message.name, fields, ring: None, tray: None })
}

/// The size of the frame that begins here; None while that is not known.
pub(crate) fn frame_size(data: &[u8]) -> Result<Option<usize>, Error> {
    let Some(head) = data.first_chunk::<4>() else { return Ok(None) };
    let size = u32::from_be_bytes(*head);
    if size == 0 || u64::from(size) > FRAME_MAX {
        let text = format!("a frame of {size} bytes; valid are 1 to {FRAME_MAX}");
        return Err(Error::Protocol(text));
    }
    Ok(Some(size as usize))
}

#[cfg(test)]
#[path = "golden.rs"]
mod golden;
