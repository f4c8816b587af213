// SPDX-License-Identifier: MIT

use std::collections::{BTreeMap, HashMap};

use serde::{de, Deserialize, Deserializer, Serialize};

use crate::error::Error;
use crate::message::{type_of, Message};
use crate::msgpack::Value;
use crate::tables::{Kind, Options, Resize, BYTES};

const VERSION: u64 = 2;
const PILLOW_12: &str = "pillow-12";
pub(crate) const PILLOW_13: &str = "pillow-13";
const OLD_TOKEN: &str = "the token is of a client that knew the resizes of Pillow 12 alone: the \
                         stream goes on with these";
const OLD_DAEMON: &str =
    "this stokerd is older than the client and makes the resizes of Pillow 12 alone";
/// Fields of ATTACHED that are fingerprints, by their kinds. A token may have further kinds.
pub(crate) const KINDS: [(&str, &str, &str); 4] = [
    ("dataset", "expect_dataset", "dataset_fingerprint"),
    ("names", "expect_names", "names_fingerprint"),
    ("pipeline", "expect_pipeline", "pipeline_hash"),
    ("sampling", "expect_sampling", "sampling_hash"),
];

type Request = HashMap<&'static str, Value>;
type Map = BTreeMap<String, Value>;

/// A point in the sequence of epochs: everything before it was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Counts from 0.
    pub epoch: u64,
    /// Over all ranks.
    pub position: u64,
}

/// Where to resume, and of which stream. As JSON the clients of all languages understand it. It is
/// the same on all ranks after the same number of batches; batch size and world may differ when it
/// is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Token {
    /// Of its form: 2.
    pub version: u64,
    /// Of the next batch.
    pub epoch: u64,
    /// Of the next batch's first sample, over all ranks.
    pub position: u64,
    /// The fields of ATTACH that decide about bytes.
    pub description: BTreeMap<String, Value>,
    /// Of the description, by the daemon; empty: it has some fields only, as they were asked for.
    pub digest: String,
    /// What stands for the rest, by kind; there may be kinds that this client does not know.
    pub fingerprints: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for Token {
    /// Of any client and version.
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Token, D::Error> {
        Token::read(&Map::deserialize(input)?).map_err(de::Error::custom)
    }
}

/// A number; beyond 2^53 a text, if JavaScript's JSON.stringify() wrote it.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Uint(number) => Some(*number),
        Value::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Text(text) => String::from_utf8(text.clone()).ok(),
        _ => None,
    }
}

impl Token {
    fn read(all: &Map) -> Result<Token, String> {
        let number = |key: &str| {
            all.get(key).and_then(whole).ok_or_else(|| format!("the token has no number {key}"))
        };
        let (version, epoch, position) =
            (number("version")?, number("epoch")?, number("position")?);
        let mut out = Token { version, epoch, position, ..Token::default() };
        if version == 1 {
            out.read_first(all)?;
            return Ok(out);
        }
        let map = |key: &str| match all.get(key) {
            Some(Value::Map(pairs)) => Ok(pairs
                .iter()
                .map(|(key, value)| (String::from_utf8_lossy(key).into_owned(), value))),
            _ => Err(format!("the token has no map {key}")),
        };
        out.description = map("description")?.map(|(key, value)| (key, value.clone())).collect();
        out.digest = text(all.get("digest")).ok_or("the token has no digest")?;
        for (kind, value) in map("fingerprints")? {
            let value = text(Some(value)).ok_or("a fingerprint of the token is no text")?;
            out.fingerprints.insert(kind, value);
        }
        Ok(out)
    }

    /// Version 1, which has some fields, and hashes of the rest.
    fn read_first(&mut self, all: &Map) -> Result<(), String> {
        for (kind, ..) in KINDS.into_iter().filter(|(kind, ..)| *kind != "names") {
            let value = text(all.get(kind)).ok_or_else(|| format!("the token has no {kind}"))?;
            self.fingerprints.insert(kind.into(), value);
        }
        let subset = match all.get("subset") {
            Some(Value::List(items)) => items.as_slice(),
            _ => &[],
        };
        let start = subset.first().and_then(whole).unwrap_or(0);
        let stop = subset.get(1).and_then(whole).unwrap_or(u64::MAX);
        let said = BYTES.iter().filter_map(|key| Some((*key, all.get(*key)?.clone())));
        let subset = [("subset_start", start.into()), ("subset_stop", stop.into())];
        self.description = said.chain(subset).map(|(key, value)| (key.into(), value)).collect();
        Ok(())
    }

    /// Whose bytes a resize makes; none, of an older client: pillow-12.
    fn resize(&self) -> Option<&str> {
        match self.description.get("resize")? {
            Value::Text(text) => std::str::from_utf8(text).ok().filter(|text| !text.is_empty()),
            _ => None,
        }
    }

    /// The fields of an ATTACH that is to be of this stream.
    pub(crate) fn expected(&self) -> Request {
        let mut out = Request::from([("expect_description", self.digest.as_str().into())]);
        for (kind, field, _) in KINDS {
            if let Some(value) = self.fingerprints.get(kind) {
                out.insert(field, value.as_str().into());
            }
        }
        out
    }

    /// Is it for these options, as far as the daemon does not compare it?
    pub(crate) fn check(&self, request: &Request) -> Result<(), Error> {
        if self.version != 1 && self.version != VERSION {
            let known = format!("1 and {VERSION}");
            return Err(Error::token("version", &self.version.to_string(), &known));
        }
        if !KINDS.iter().any(|(kind, ..)| self.fingerprints.contains_key(*kind)) {
            let kinds = format!("{:?}", self.fingerprints.keys());
            return Err(Error::token("fingerprints", &kinds, "dataset"));
        }
        if !self.digest.is_empty() {
            return Ok(());
        }
        let mut ours = asked(request);
        ours.extend(self.description.get_key_value("resize").map(|(k, v)| (k.clone(), v.clone())));
        self.compare(&ours, None)
    }

    /// Finds the first field that differs. What the token does not say, because its client or daemon
    /// knew fewer fields, is equal unless this request says it.
    fn compare(&self, ours: &Map, request: Option<&Request>) -> Result<(), Error> {
        for (key, theirs) in &self.description {
            let own = ours.get(key).unwrap_or(&Value::Nil);
            if !same(theirs, own) {
                return Err(Error::token(key, &theirs.to_string(), &own.to_string()));
            }
        }
        for field in type_of("attach").fields {
            let said = request.and_then(|request| request.get(field.key));
            let said = said.filter(|said| BYTES.contains(&field.key) && **said != field.empty());
            match said {
                Some(own) if !self.description.contains_key(field.key) => {
                    return Err(Error::token(field.key, "nothing", &own.to_string()))
                }
                _ => (),
            }
        }
        Ok(())
    }

    /// Is an error of the daemon only that it knows more fields than this token has? Else it is the
    /// error, which names the field that differs.
    pub(crate) fn only_grew(&self, error: Error, request: &Request) -> Result<(), Error> {
        match &error {
            Error::Refused(refusal) if !self.digest.is_empty() => match &refusal.description {
                Value::Map(pairs) => self.compare(&map_of(pairs), Some(request)),
                _ => Err(error),
            },
            _ => Err(error),
        }
    }

    /// That of a stream that was attached to as `was` says.
    pub(crate) fn of(
        attached: &Message,
        request: &Request,
        resize: &str,
        was: Option<&Token>,
    ) -> Result<Token, Error> {
        let described = matches!(attached.value("description"), Value::Map(_));
        let digest = if described { attached.text("digest") } else { String::new() };
        let mut fingerprints = was.map(|was| was.fingerprints.clone()).unwrap_or_default();
        for (kind, _, field) in KINDS {
            let own = attached.text(field);
            let of_dataset = kind == "dataset" || kind == "names";
            if own.is_empty() && of_dataset {
                continue; // there is none, or not yet
            }
            match fingerprints.insert(kind.into(), own.clone()) {
                Some(theirs) if theirs != own => return Err(Error::token(kind, &theirs, &own)),
                _ if !of_dataset && !digest.is_empty() => fingerprints.remove(kind),
                _ => None,
            };
        }
        let was_named = was.filter(|was| !was.fingerprints.contains_key("dataset"));
        if let Some(names) = was_named.and_then(|was| was.fingerprints.get("names")) {
            if attached.bytes("names_fingerprint").is_empty() {
                return Err(Error::token("names", names, "none"));
            }
        }
        let description = match attached.value("description") {
            Value::Map(pairs) if !digest.is_empty() => map_of(pairs),
            _ if was.is_some_and(|was| !was.digest.is_empty()) => {
                let old = "none: this stokerd is older, update it";
                return Err(Error::token("digest", was.map_or("", |was| &was.digest), old));
            }
            _ => asked(request).into_iter().chain([("resize".into(), resize.into())]).collect(),
        };
        Ok(Token { version: VERSION, description, digest, fingerprints, ..Token::default() })
    }
}

/// The numbers and truths of a request that decide about bytes.
fn asked(request: &Request) -> Map {
    (type_of("attach").fields.iter())
        .filter(|field| matches!(field.kind, Kind::Uint | Kind::Boolean))
        .filter(|field| BYTES.contains(&field.key))
        .map(|field| {
            let value = request.get(field.key).cloned().unwrap_or_else(|| field.empty());
            (field.key.into(), value)
        })
        .collect()
}

fn map_of(pairs: &[(Vec<u8>, Value)]) -> Map {
    let pair =
        |(key, value): &(Vec<u8>, Value)| (String::from_utf8_lossy(key).into(), value.clone());
    pairs.iter().map(pair).collect()
}

/// The first of them may have been JSON of another language, which writes 1.0 as 1.
fn same(theirs: &Value, ours: &Value) -> bool {
    match (theirs, ours) {
        (Value::Text(_), Value::Uint(ours)) => whole(theirs) == Some(*ours),
        (Value::Uint(theirs), Value::Float(ours)) | (Value::Float(ours), Value::Uint(theirs)) => {
            *theirs as f64 == *ours
        }
        (Value::Int(theirs), Value::Float(ours)) | (Value::Float(ours), Value::Int(theirs)) => {
            *theirs as f64 == *ours
        }
        (Value::List(theirs), Value::List(ours)) => {
            theirs.len() == ours.len() && theirs.iter().zip(ours).all(|(a, b)| same(a, b))
        }
        (Value::Map(theirs), Value::Map(ours)) => {
            let (theirs, ours) = (map_of(theirs), map_of(ours));
            theirs.len() == ours.len()
                && theirs.iter().zip(&ours).all(|((a, x), (b, y))| a == b && same(x, y))
        }
        _ => theirs == ours,
    }
}

/// Whose bytes a resize makes, by the options or the token. A daemon that does not know the word
/// would make other ones.
pub(crate) fn settle_resize(
    options: &Options,
    known: bool,
    warn: &dyn Fn(&str),
) -> Result<String, Error> {
    let asked = options.resize.map(Resize::name);
    let mut must = asked;
    if let Some(token) = &options.token {
        let said = token.resize();
        let theirs = said.unwrap_or(PILLOW_12);
        if asked.is_some_and(|asked| asked != theirs) {
            return Err(Error::token("resize", theirs, asked.unwrap_or_default()));
        }
        if said.is_none() && asked.is_none() {
            warn(OLD_TOKEN);
        }
        must = Some(theirs);
    }
    let whose = must.unwrap_or(PILLOW_13);
    if whose != PILLOW_13 || known {
        return Ok(whose.into());
    }
    if must.is_some() {
        return Err(Error::Option(format!("{OLD_DAEMON}: update it, or ask for {PILLOW_12}")));
    }
    warn(OLD_DAEMON);
    Ok(PILLOW_12.into())
}

/// What is sent of it: absence means Pillow 12, to any daemon.
pub(crate) fn sent(resize: &str) -> &str {
    if resize == PILLOW_12 {
        ""
    } else {
        resize
    }
}
