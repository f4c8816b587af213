// SPDX-License-Identifier: MIT
//! The bytes on the wire that tests/golden/frames.json has for every client.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::{decode, encode, frame_size, type_of};
use crate::msgpack::Value;

fn golden(list: &str) -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/frames.json");
    let text = std::fs::read_to_string(path).expect("the golden frames");
    let mut all: Json = serde_json::from_str(&text).expect("JSON");
    match all[list].take() {
        Json::Array(rows) if rows.len() > 5 => rows,
        _ => panic!("few golden {list}"),
    }
}

fn bytes_of(hex: &Json) -> Vec<u8> {
    let hex = hex.as_str().expect("hexadecimal digits");
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::String(text) => Value::Text(text.clone().into()),
        Json::Array(items) => Value::List(items.iter().map(value_of).collect()),
        Json::Number(number) => {
            let digits = number.to_string();
            match (digits.parse::<u64>(), digits.parse::<i64>()) {
                (Ok(whole), _) => Value::Uint(whole),
                (_, Ok(whole)) => Value::Int(whole),
                _ => Value::Float(digits.parse().expect("a number")),
            }
        }
        Json::Object(map) => match (map.get("hex"), map.get("uint")) {
            (Some(hex), _) => Value::Text(bytes_of(hex)),
            (_, Some(digits)) => {
                Value::Uint(digits.as_str().and_then(|d| d.parse().ok()).expect("digits"))
            }
            _ => Value::Map(
                map.iter().map(|(key, item)| (key.clone().into(), value_of(item))).collect(),
            ),
        },
    }
}

fn check_decoded(row: &Json) {
    let message = decode(&bytes_of(&row["hex"])[4..]).expect("a message");
    assert_eq!(message.name, row["message"]);
    for field in type_of(message.name).fields {
        let given = row["fields"].get(field.key).map_or_else(|| field.empty(), value_of);
        assert_eq!(message.value(field.key), &given, "{}: {}", row["name"], field.key);
    }
}

#[test]
fn frames() {
    for row in golden("frames") {
        check_decoded(&row);
        let name = row["message"].as_str().expect("a name");
        let fields = row["fields"].as_object().expect("fields");
        let mut values: HashMap<&str, Value> = HashMap::new();
        values.extend(fields.iter().map(|(key, json)| (key.as_str(), value_of(json))));
        let frame = encode(name, values).expect("a frame");
        assert_eq!(frame, bytes_of(&row["hex"]), "{}", row["name"]);
    }
}

#[test]
fn accepted_frames() {
    golden("accepted").iter().for_each(check_decoded);
}

#[test]
fn bad_frames() {
    for row in golden("bad") {
        assert!(decode(&bytes_of(&row["hex"])[4..]).is_err(), "{}", row["name"]);
    }
}

#[test]
fn lengths() {
    for row in golden("lengths") {
        let good = frame_size(&bytes_of(&row["hex"])).is_ok();
        assert_eq!(good, row["good"], "{}", row["hex"]);
    }
}
