// SPDX-License-Identifier: MIT
//! The part of msgpack that the protocol uses.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

use crate::tables::{DEPTH_MAX, NODES_MAX};

/// A value of a parameter. Whole numbers and floats are different things: `2` is not `2.0` for
/// `width_shift_range`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// None, as in Python.
    Nil,
    /// A truth.
    Bool(bool),
    /// Zero or more.
    Uint(u64),
    /// Below zero.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Bytes, mostly UTF-8.
    Text(Vec<u8>),
    /// Values in order.
    List(Vec<Value>),
    /// Pairs in order; no key comes twice.
    Map(Vec<(Vec<u8>, Value)>),
}

impl Value {
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(pairs) => pairs.iter().find(|(k, _)| k == key.as_bytes()).map(|(_, v)| v),
            _ => None,
        }
    }
}

macro_rules! from_whole {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                match u64::try_from(value) {
                    Ok(whole) => Value::Uint(whole),
                    #[allow(clippy::unnecessary_cast)]
                    Err(_) => Value::Int(value as i64),
                }
            }
        }
    )*};
}
from_whole!(i32, i64, u32, u64, usize);

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.into())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Nil, Into::into)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value.into())
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

/// As JSON and the like; what is no UTF-8 is replaced.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Nil => out.serialize_unit(),
            Value::Bool(truth) => out.serialize_bool(*truth),
            Value::Uint(number) => out.serialize_u64(*number),
            Value::Int(number) => out.serialize_i64(*number),
            Value::Float(number) => out.serialize_f64(*number),
            Value::Text(text) => out.serialize_str(&String::from_utf8_lossy(text)),
            Value::List(items) => out.collect_seq(items),
            Value::Map(pairs) => {
                out.collect_map(pairs.iter().map(|(key, v)| (String::from_utf8_lossy(key), v)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Value, D::Error> {
        input.deserialize_any(Visitor)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Uint(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(item) = list.next_element()? {
            out.push(item);
        }
        Ok(Value::List(out))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            out.push((key.into(), value));
        }
        Ok(Value::Map(out))
    }
}

/// For people.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("none"),
            Value::Bool(truth) => truth.fmt(f),
            Value::Uint(number) => number.fmt(f),
            Value::Int(number) => number.fmt(f),
            Value::Float(number) => number.fmt(f),
            Value::Text(text) => String::from_utf8_lossy(text).fmt(f),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Map(pairs) => {
                let pair = |(key, value): &(Vec<u8>, Value)| {
                    format!("{}: {value}", String::from_utf8_lossy(key))
                };
                write!(f, "{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn put_head(out: &mut Vec<u8>, short: u8, short_max: usize, long: [u8; 3], count: usize) {
    if count <= short_max {
        out.push(short | count as u8);
    } else if long[0] != 0 && count < 1 << 8 {
        out.extend([long[0], count as u8]);
    } else if count < 1 << 16 {
        out.push(long[1]);
        out.extend((count as u16).to_be_bytes());
    } else {
        out.push(long[2]);
        out.extend((count as u32).to_be_bytes());
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_head(out, 0xa0, 31, [0xd9, 0xda, 0xdb], text.len());
    out.extend(text);
}

fn put_uint(out: &mut Vec<u8>, value: u64) {
    if value < 128 {
        out.push(value as u8);
    } else if let Ok(short) = u8::try_from(value) {
        out.extend([0xcc, short]);
    } else if let Ok(short) = u16::try_from(value) {
        out.push(0xcd);
        out.extend(short.to_be_bytes());
    } else if let Ok(short) = u32::try_from(value) {
        out.push(0xce);
        out.extend(short.to_be_bytes());
    } else {
        out.push(0xcf);
        out.extend(value.to_be_bytes());
    }
}

fn put_int(out: &mut Vec<u8>, value: i64) {
    if value >= 0 {
        put_uint(out, value as u64);
    } else if value >= -32 {
        out.push(value as u8);
    } else if let Ok(short) = i8::try_from(value) {
        out.extend([0xd0, short as u8]);
    } else if let Ok(short) = i16::try_from(value) {
        out.push(0xd1);
        out.extend(short.to_be_bytes());
    } else if let Ok(short) = i32::try_from(value) {
        out.push(0xd2);
        out.extend(short.to_be_bytes());
    } else {
        out.push(0xd3);
        out.extend(value.to_be_bytes());
    }
}

/// Append the shortest form of a value. The error says what cannot be sent.
pub(crate) fn encode(out: &mut Vec<u8>, value: &Value) -> Result<(), String> {
    match value {
        Value::Nil => out.push(0xc0),
        Value::Bool(truth) => out.push(0xc2 | u8::from(*truth)),
        Value::Uint(number) => put_uint(out, *number),
        Value::Int(number) => put_int(out, *number),
        Value::Float(number) if number.is_finite() => {
            out.push(0xcb);
            out.extend(number.to_be_bytes());
        }
        Value::Float(number) => return Err(format!("{number} is not finite")),
        Value::Text(text) => put_text(out, text),
        Value::List(items) => {
            put_head(out, 0x90, 15, [0, 0xdc, 0xdd], items.len());
            for item in items {
                encode(out, item)?;
            }
        }
        Value::Map(pairs) => {
            put_head(out, 0x80, 15, [0, 0xde, 0xdf], pairs.len());
            for (key, item) in pairs {
                put_text(out, key);
                encode(out, item)?;
            }
        }
    }
    Ok(())
}

/// The map of one frame. Each count is checked against the bytes that are left before memory is
/// allocated for it.
pub(crate) fn decode(data: &[u8]) -> Result<Value, String> {
    let mut decoder = Decoder { data, nodes: 0 };
    let value = decoder.value(1)?;
    match value {
        Value::Map(_) if decoder.data.is_empty() => Ok(value),
        Value::Map(_) => Err("bytes after the map".into()),
        _ => Err("the frame is no map".into()),
    }
}

struct Decoder<'a> {
    data: &'a [u8],
    nodes: u64,
}

impl<'a> Decoder<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], String> {
        if count > self.data.len() as u64 {
            return Err("the frame is cut short".into());
        }
        let (taken, rest) = self.data.split_at(count as usize);
        self.data = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: u64) -> Result<u64, String> {
        Ok(self.take(bytes)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn signed(&mut self, bytes: u64) -> Result<Value, String> {
        let shift = 64 - 8 * bytes as u32;
        let value = (self.number(bytes)? << shift) as i64 >> shift;
        Ok(Value::from(value))
    }

    fn float(&mut self, single: bool) -> Result<Value, String> {
        let value = match single {
            true => f64::from(f32::from_bits(self.number(4)? as u32)),
            false => f64::from_bits(self.number(8)?),
        };
        match value.is_finite() {
            true => Ok(Value::Float(value)),
            false => Err("a number is not finite".into()),
        }
    }

    fn text(&mut self, bytes: u64) -> Result<Value, String> {
        Ok(Value::Text(self.take(bytes)?.to_vec()))
    }

    fn enter(&self, least: u64, depth: u64) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("the frame is nested deeper than {DEPTH_MAX}"));
        }
        if least > self.data.len() as u64 {
            return Err("the frame is cut short".into());
        }
        Ok(())
    }

    fn list(&mut self, count: u64, depth: u64) -> Result<Value, String> {
        self.enter(count, depth)?;
        let items: Result<_, _> = (0..count).map(|_| self.value(depth + 1)).collect();
        Ok(Value::List(items?))
    }

    fn map(&mut self, count: u64, depth: u64) -> Result<Value, String> {
        self.enter(2 * count, depth)?;
        let mut pairs: Vec<(Vec<u8>, Value)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..count {
            // A list or a map is too deep here.
            let Value::Text(key) = self.value(DEPTH_MAX + 1)? else {
                return Err("a key is not a text".into());
            };
            if !seen.insert(key.clone()) {
                return Err(format!("the key {:?} occurs twice", String::from_utf8_lossy(&key)));
            }
            let value = self.value(depth + 1)?;
            pairs.push((key, value));
        }
        Ok(Value::Map(pairs))
    }

    fn value(&mut self, depth: u64) -> Result<Value, String> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(format!("more than {NODES_MAX} values in a frame"));
        }
        let head = self.take(1)?[0];
        match head {
            0..=0x7f => Ok(Value::Uint(head.into())),
            0x80..=0x8f => self.map((head & 15).into(), depth),
            0x90..=0x9f => self.list((head & 15).into(), depth),
            0xa0..=0xbf => self.text((head & 31).into()),
            0xe0..=0xff => Ok(Value::Int((head as i8).into())),
            _ => self.long(head, depth),
        }
    }

    /// The formats with a byte for themselves.
    fn long(&mut self, head: u8, depth: u64) -> Result<Value, String> {
        match head {
            0xc0 => Ok(Value::Nil),
            0xc2 | 0xc3 => Ok(Value::Bool(head == 0xc3)),
            0xc4..=0xc6 => self.number(1 << (head - 0xc4)).and_then(|n| self.text(n)),
            0xca | 0xcb => self.float(head == 0xca),
            0xcc..=0xcf => self.number(1 << (head - 0xcc)).map(Value::Uint),
            0xd0..=0xd3 => self.signed(1 << (head - 0xd0)),
            0xd9..=0xdb => self.number(1 << (head - 0xd9)).and_then(|n| self.text(n)),
            0xdc | 0xdd => self.number(2 << (head - 0xdc)).and_then(|n| self.list(n, depth)),
            0xde | 0xdf => self.number(2 << (head - 0xde)).and_then(|n| self.map(n, depth)),
            _ => Err("a format that the protocol does not use".into()),
        }
    }
}
