#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of the clients in other languages, made from proto/tables.h: numbers of messages, the
fields of each with types, limits and defaults, names of errors, and the options of ATTACH with
their words.

languages.py           compare: exit 1 if a file is not what the tables give
languages.py --write   write them
"""

import dataclasses
import functools
import re
import sys
import textwrap
from pathlib import Path

import tables

ROOT = Path(__file__).resolve().parents[2]
TABLES = tables.load()
MADE = "made by tests/golden/languages.py from proto/tables.h"
LIMITS = ("VERSION", "FRAME_MAX", "DEPTH_MAX", "NODES_MAX", "RUNS_MAX")
# What a client says by itself.
OWN = ("seq", "accept_fd", "accept_path", "accept_moves", "accept_names", "accept_sizes", "like",
       "page")
# What has a type of its own in each language.
TREES = ("dataset", "transforms", "sampler", "fields")
ATTACH = next(message for message in TABLES.messages if message.name == "attach")
# Where a client's default is not what absence means.
HELP = {"resize": "whose bytes a resize makes, pillow-12 or pillow-13; empty: pillow-13, or what "
                  "the token says"}
# What a token has.
BYTES = [field.key for field in ATTACH.fields if field.part_of == "BYTES"]
OPTIONS = [dataclasses.replace(field, help=HELP.get(field.key, field.help))
           for field in ATTACH.fields if field.key not in OWN]


def camel(key, first=False):
    """batch_size as batchSize, or BatchSize."""
    head, *rest = key.split("_")
    return (head.capitalize() if first else head) + "".join(map(str.capitalize, rest))


def type_of(key):
    """The name of the type of what is one of a few words."""
    return {"dtype": "DType"}.get(key) or camel(key, True)


def choices():
    """(key, help, words) of each; of dtype all that a field of a batch can have."""
    for key, words in TABLES.choices.items():
        help_ = next(field.help for field in ATTACH.fields if field.key == key)
        if key == "dtype":
            known = {choice.word: choice for choice in words}
            words = tuple(known.get(name) or tables.Choice(name, "of a field")
                          for name, _ in TABLES.dtypes)
            help_ = "the type of a field's numbers, as NumPy calls it; of pictures " + help_
        yield key, help_, words


def choice_name(word):
    """pillow-12 as Pillow12."""
    return word if word.isupper() else camel(word.replace("-", "_"), True)


def sentence(text):
    return text[0].upper() + text[1:] + "."


def go_name(field):
    return {"dtype": "DType"}.get(field.key) or camel(field.key, True)


def narrow(field):
    """Do 32 bits hold it?"""
    return field.max < 2**32


def zero_counts(field):
    """Is zero a value that is not the default? Then it cannot stand for an option not given."""
    return not field.required and field.default != 0 and field.min == 0


def go_option(field):
    if field.type == "any":
        name = {"dataset": "Dataset", "transforms": "[]Transform", "sampler": "Sampler",
                "fields": "[]string"}[field.key]
    else:
        words = type_of(field.key) if field.key in TABLES.choices else "string"
        name = {"text": words, "boolean": "bool",
                "uint": "uint32" if narrow(field) else "uint64"}[field.type]
    return ("*" if zero_counts(field) else "") + name


def go_default(field):
    if field.required:
        return "required"
    if field.type == "boolean":
        return "nil: true" if field.default else "default false"
    if zero_counts(field):
        return "nil: all" if field.default == 2**64 - 1 else f"nil: {field.default}"
    return f"0 means {field.default}" if field.type == "uint" and field.default else ""


def key_help(key):
    """Of a key of a dataset, for which an empty text is absent."""
    words = key.help.replace("absent:", "empty:")
    words = words[0].upper() + words[1:]
    return f"{words} ({', '.join(key.kinds)})" if key.kinds else words


def go_dataset():
    yield "// A Dataset is opened by the daemon. A relative path is made absolute here. Only Path"
    yield "// is required, or Parts. The keys of a dataset in PROTOCOL.md say more."
    yield "type Dataset struct {"
    for key in TABLES.dataset:
        yield f"\t// {key_help(key)}."
        yield f"\t{camel(key.key, True)} string"
    yield ""
    yield "\t// Instead of a path: 2 to 16 datasets that are joined."
    yield "\tParts []Dataset"
    yield "}"
    yield ""
    yield "// texts are the keys and values of a dataset that is not joined."
    yield "func (d *Dataset) texts() map[string]string {"
    yield "\treturn map[string]string{"
    width = max(len(key.key) for key in TABLES.dataset)
    for key in TABLES.dataset:
        value = f"d.{camel(key.key, True)}"
        value = f"absolute({value})" if key.type == "PATH" else value
        yield f'\t\t"{key.key}":{" " * (width - len(key.key) + 1)}{value},'
    yield "\t}"
    yield "}"


def go_choices():
    for key, help_, words in choices():
        name = type_of(key)
        yield f"// A {name} says {help_}. Empty: the default."
        yield f"type {name} string"
        yield ""
        yield "const ("
        for choice in words:
            full = name + choice_name(choice.word)
            yield f"\t// {full}: {choice.help}."
            yield f'\t{full} {name} = "{choice.word}"'
        yield ")"
        yield ""


def go():
    yield f"// Code generated: {MADE}. DO NOT EDIT."
    yield ""
    yield "// SPDX-License-Identifier: MIT"
    yield ""
    yield "package stoker"
    yield ""
    yield "const ("
    for name in LIMITS:
        yield f"\tproto{camel(name.lower(), True):<8} = {TABLES.constants['PROTO_' + name]}"
    yield ")"
    yield ""
    yield "// Types of numbers, and the bytes of one."
    yield "var dtypeBytes = map[DType]uint64{"
    width = max(len(name) for name, _ in TABLES.dtypes)
    for name, size in TABLES.dtypes:
        yield f'\t"{name}":{" " * (width - len(name) + 1)}{size},'
    yield "}"
    yield ""
    yield "var messageTypes = []messageType{"
    for message in TABLES.messages:
        daemon = ", fromDaemon: true" if message.sender == "DAEMON" else ""
        head = f'number: {message.number}, name: "{message.name}"{daemon}'
        yield f"\t{{{head}, fields: []fieldType{{"
        for field in message.fields:
            cells = [f'key: "{field.key}"', f"kind: kind{field.type.capitalize()}"]
            cells += ["required: true"] * field.required
            cells += [f"{name}: {value}" for name, value in (
                ("def", field.default), ("min", field.min), ("max", field.max)) if value]
            yield f"\t\t{{{', '.join(cells)}}},"
        yield "\t}},"
    yield "}"
    yield ""
    yield "// The fields of ATTACH that decide about bytes: those of a token's description."
    yield "var bytesFields = []string{"
    yield from (f'\t"{key}",' for key in BYTES)
    yield "}"
    yield ""
    yield "// The errors of the protocol, for errors.Is. What the daemon says has its own text."
    yield "var ("
    for error in TABLES.errors:
        name = "Err" + camel(error.name, True)
        yield f"\t// {name}: {error.help}."
        yield f'\t{name} = &Error{{Code: {error.number}, Name: "{error.name}"}}'
    yield ")"
    yield ""
    yield from go_choices()
    yield from go_dataset()
    yield ""
    yield "// Options say what to read and how: the fields of ATTACH, by their names. The zero"
    yield "// value of an option is its default, unless its comment says otherwise."
    yield "type Options struct {"
    for field in OPTIONS:
        more = go_default(field)
        words = field.help[0].upper() + field.help[1:]
        yield f"\t// {words}{' (' + more + ')' if more else ''}."
        yield f"\t{go_name(field)} {go_option(field)}"
    yield ""
    yield "\t// Begin where this token says; it must be of the same stream."
    yield "\tToken *Token"
    yield "}"
    yield ""
    yield "// fields are those of ATTACH that differ from their defaults."
    yield "func (o *Options) fields() map[string]any {"
    yield "\tout := map[string]any{}"
    for field in OPTIONS:
        name = "o." + go_name(field)
        if field.key in TREES:
            yield f'\tputTree(out, "{field.key}", {name}.tree())' if field.key == "dataset" else \
                f'\tputTree(out, "{field.key}", treeOf({name}))'
        elif zero_counts(field):
            value = "bool" if field.type == "boolean" else "uint64"
            yield f"\tif {name} != nil {{"
            yield f'\t\tout["{field.key}"] = {value}(*{name})'
            yield "\t}"
        elif field.type == "uint":
            yield f"\tif {name} != 0 {{"
            yield f'\t\tout["{field.key}"] = uint64({name})'
            yield "\t}"
        else:
            value = f"string({name})" if field.key in TABLES.choices else name
            yield f'\tout["{field.key}"] = {value}'
    yield "\treturn out"
    yield "}"


def js_value(number):
    return str(number) if number < 2**53 else f"{number}n"


def js():
    yield "// SPDX-License-Identifier: MIT"
    yield f"// {MADE[0].upper()}{MADE[1:]}."
    yield ""
    for name in LIMITS:
        yield f"export const {name} = {TABLES.constants['PROTO_' + name]};"
    yield ""
    yield "/** Types of numbers, and the bytes of one. */"
    yield "export const DTYPES = {"
    yield from (f"  {name}: {size}," for name, size in TABLES.dtypes)
    yield "};"
    yield ""
    yield "/** Each message: its fields are [key, kind, required, default, min, max]. */"
    yield "export const MESSAGES = ["
    for message in TABLES.messages:
        daemon = str(message.sender == "DAEMON").lower()
        head = f'number: {message.number}, name: "{message.name}", fromDaemon: {daemon}'
        yield f"  {{ {head}, fields: ["
        for field in message.fields:
            default = str(bool(field.default)).lower() if field.type == "boolean" \
                else js_value(field.default)
            yield (f'    ["{field.key}", "{field.type}", {str(field.required).lower()}, {default}, '
                   f"{js_value(field.min)}, {js_value(field.max)}],")
        yield "  ] },"
    yield "];"
    yield ""
    yield "/** The fields of ATTACH that decide about bytes: those of a token's description. */"
    yield "export const BYTES = ["
    yield from (f'  "{key}",' for key in BYTES)
    yield "];"
    yield ""
    yield "/** Names of errors by their codes. */"
    yield "export const ERRORS = {"
    for error in TABLES.errors:
        yield f'  {error.number}: "{error.name}",'
    yield "};"
    yield ""
    yield "/** Options by their names here: fields of ATTACH. */"
    yield "export const OPTIONS = {"
    for field in OPTIONS:
        yield f'  {camel(field.key)}: "{field.key}",'
    yield "};"
    yield ""
    yield "/** Keys of a dataset by their names here, and those that are always paths. */"
    yield "export const DATASET = {"
    for key in TABLES.dataset:
        yield f'  {camel(key.key)}: "{key.key}",'
    yield "};"
    paths = ", ".join(f'"{key.key}"' for key in TABLES.dataset if key.type == "PATH")
    yield f"export const PATHS = [{paths}];"


TS_TREES = {"dataset": "string | Uint8Array | Dataset", "transforms": "readonly Transform[]",
            "sampler": "Sampler", "fields": "readonly string[]", "secret": "string | Uint8Array"}


# Keys of a dataset that are one of a few words.
TS_WORDS = {"format": '"lines" | "tsv" | "csv" | "jsonl"', "split": '"train" | "test"',
            "missing_component": '"error" | "skip"', "pure": '"no"'}


def ts_dataset():
    yield "/** What the daemon opens: a path or a URL. Bytes are a path that is no UTF-8. */"
    yield "export type Dataset ="
    yield "  | {"
    for key in TABLES.dataset:
        name = "string | Uint8Array" if key.type == "PATH" else TS_WORDS.get(key.key, "string")
        yield f"      /** {key_help(key).replace('empty:', 'absent:')}. */"
        yield f"      {camel(key.key)}{'?' * (key.key != 'path')}: {name};"
    yield "    }"
    yield "  /** 2 to 16 datasets that are joined. */"
    yield "  | { parts: readonly (string | Uint8Array | Dataset)[] };"


def ts():
    yield "// SPDX-License-Identifier: MIT"
    yield f"// {MADE[0].upper()}{MADE[1:]}."
    yield ""
    yield 'import type { FirstToken, Sampler, Token, Transform } from "./index.js";'
    yield ""
    yield from ts_dataset()
    yield ""
    yield "export type DType ="
    for name, size in TABLES.dtypes:
        yield f'  | "{name}"{";" * (name == TABLES.dtypes[-1][0])}'
    yield ""
    for key, words in TABLES.choices.items():
        name = {"dtype": "ImageDType"}.get(key) or type_of(key)
        yield f"/** {'; '.join(f'{choice.word}: {choice.help}' for choice in words)}. */"
        yield f"export type {name} = " + " | ".join(f'"{choice.word}"' for choice in words) + ";"
        yield ""
    yield "/** What the daemon calls its errors. */"
    yield "export type ErrorName ="
    for error in TABLES.errors:
        yield f'  | "{error.name}"{";" * (error is TABLES.errors[-1])} // {error.help}'
    yield ""
    yield "/** What to read, and how: the fields of ATTACH. */"
    yield "export interface AttachOptions {"
    for field in OPTIONS:
        words = type_of(field.key) if field.key in TABLES.choices else "string"
        words = {"DType": "ImageDType"}.get(words, words)
        name = TS_TREES.get(field.key) or {
            "text": words, "boolean": "boolean",
            "uint": "number" if narrow(field) else "number | bigint"}[field.type]
        default = ""
        if not field.required and field.type in ("uint", "boolean"):
            value = str(bool(field.default)).lower() if field.type == "boolean" else field.default
            default = f" Default {value}."
        words = field.help[0].upper() + field.help[1:]
        yield f"  /** {words}.{default} */"
        yield f"  {camel(field.key)}{'' if field.required else '?'}: {name};"
    yield "  /** Begin where this token says; it must be of the same stream. */"
    yield "  token?: Token | FirstToken;"
    yield "}"


RUST_TREES = {"dataset": "Dataset", "transforms": "Vec<Call>", "sampler": "Option<Call>",
              "fields": "Option<Vec<String>>", "secret": "Option<Secret>"}


def rust_number(value):
    return {2**32 - 1: "u32::MAX as u64", 2**64 - 1: "u64::MAX"}.get(value, str(value))


def rust_type(field):
    if field.key in TABLES.choices:
        name = type_of(field.key)
        return f"Option<{name}>" if field.key == "resize" else name
    return RUST_TREES.get(field.key) or {
        "text": "String", "boolean": "bool", "uint": "u32" if narrow(field) else "u64"}[field.type]


def rust_default(field):
    if field.type == "boolean":
        return str(bool(field.default)).lower()
    if field.type == "uint" and field.default:
        return "u64::MAX" if field.default == 2**64 - 1 else str(field.default)
    return "Default::default()"


def rust_choices():
    for key, help_, words in choices():
        name, default = type_of(key), TABLES.choices[key][0].word
        yield "choices! {"
        yield f"    /// {sentence(help_)}"
        yield f"    {name}, {choice_name(default)};"
        for choice in words:
            yield f"    /// {sentence(choice.help)}"
            yield f'    {choice_name(choice.word)} = "{choice.word}",'
        yield "}"
        yield ""


def rust_value(field):
    if field.key == "resize":
        return 'self.resize.map_or("", Resize::name).into()'
    if field.key in TABLES.choices:
        return f"self.{field.key}.said().into()"
    if field.key == "dataset":
        return "self.dataset.value()"
    if field.key == "secret":
        return "crate::secret::sent(self.secret.as_ref())"
    if field.type == "text" or field.key in TREES:
        return f"self.{field.key}.clone().into()"
    return f"self.{field.key}.into()"


def rust():
    yield "// SPDX-License-Identifier: MIT"
    yield f"// {MADE[0].upper()}{MADE[1:]}."
    yield ""
    yield "use std::collections::HashMap;"
    yield "use std::ffi::OsString;"
    yield "use std::path::PathBuf;"
    yield ""
    yield "use crate::msgpack::Value;"
    yield "use crate::options::{absolute, choices, Call};"
    yield "use crate::secret::Secret;"
    yield "use crate::token::Token;"
    yield ""
    for name in LIMITS:
        if name != "RUNS_MAX":  # that of its field
            yield f"pub(crate) const {name}: u64 = {TABLES.constants['PROTO_' + name]};"
    yield ""
    yield "/// Size of a number of this type."
    yield "#[rustfmt::skip]"
    yield "pub(crate) fn dtype_bytes(dtype: DType) -> u64 {"
    yield "    match dtype {"
    yield from (f"        DType::{choice_name(name)} => {size}," for name, size in TABLES.dtypes)
    yield "    }"
    yield "}"
    yield ""
    yield "#[derive(Clone, Copy, PartialEq)]"
    yield "pub(crate) enum Kind {"
    yield from (f"    {kind}," for kind in ("Uint", "Boolean", "Text", "Runs", "Any"))
    yield "}"
    yield ""
    yield "pub(crate) struct Field {"
    yield "    pub key: &'static str,"
    yield "    pub kind: Kind,"
    yield "    pub required: bool,"
    yield "    pub default: u64,"
    yield "    pub min: u64,"
    yield "    pub max: u64,"
    yield "}"
    yield ""
    yield "pub(crate) struct MessageType {"
    yield "    pub number: u64,"
    yield "    pub name: &'static str,"
    yield "    pub fields: &'static [Field],"
    yield "}"
    yield ""
    yield "#[rustfmt::skip]"
    yield "pub(crate) const MESSAGES: &[MessageType] = &["
    for message in TABLES.messages:
        yield f'    MessageType {{ number: {message.number}, name: "{message.name}", fields: &['
        for field in message.fields:
            numbers = ", ".join(f"{name}: {rust_number(value)}" for name, value in (
                ("default", field.default), ("min", field.min), ("max", field.max)))
            required = str(field.required).lower()
            yield (f'        Field {{ key: "{field.key}", kind: Kind::{field.type.capitalize()}, '
                   f"required: {required},")
            yield f"            {numbers} }},"
        yield "    ] },"
    yield "];"
    yield ""
    yield "/// The fields of ATTACH that decide about bytes: those of a token's description."
    yield "#[rustfmt::skip]"
    yield "pub(crate) const BYTES: &[&str] = &["
    yield from (f'    "{key}",' for key in BYTES)
    yield "];"
    yield ""
    yield from rust_choices()
    yield "/// What the daemon opens. Only `path` is required, or `parts`. A relative path is made"
    yield "/// absolute."
    yield "#[derive(Clone, Debug, Default, PartialEq)]"
    yield "pub struct Dataset {"
    for key in TABLES.dataset:
        yield f"    /// {key_help(key)}."
        yield f"    pub {key.key}: {'PathBuf' if key.type == 'PATH' else 'String'},"
    yield "    /// Instead of a path: 2 to 16 datasets that are joined."
    yield "    pub parts: Vec<Dataset>,"
    yield "}"
    yield ""
    yield "impl Dataset {"
    yield "    /// The keys and values of one that is not joined."
    yield "    #[rustfmt::skip]"
    yield f"    pub(crate) fn texts(&self) -> [(&'static str, OsString); {len(TABLES.dataset)}] {{"
    yield "        ["
    for key in TABLES.dataset:
        value = f"absolute(&self.{key.key}).into()" if key.type == "PATH" else \
            f"self.{key.key}.clone().into()"
        yield f'            ("{key.key}", {value}),'
    yield "        ]"
    yield "    }"
    yield "}"
    yield ""
    yield "/// What to read, and how: the fields of ATTACH. An empty text is a default."
    yield "#[derive(Clone, Debug, PartialEq)]"
    yield "pub struct Options {"
    for field in OPTIONS:
        yield f"    /// {field.help[0].upper()}{field.help[1:]}."
        yield f"    pub {field.key}: {rust_type(field)},"
    yield "    /// Begin where this token says; it must be of the same stream."
    yield "    pub token: Option<Token>,"
    yield "}"
    yield ""
    yield "impl Default for Options {"
    yield "    fn default() -> Options {"
    yield "        Options {"
    for field in OPTIONS:
        yield f"            {field.key}: {rust_default(field)},"
    yield "            token: None,"
    yield "        }"
    yield "    }"
    yield "}"
    yield ""
    yield "impl Options {"
    yield "    #[rustfmt::skip]"
    yield "    pub(crate) fn fields_of_attach(&self) -> HashMap<&'static str, Value> {"
    yield "        HashMap::from(["
    for field in OPTIONS:
        yield f'            ("{field.key}", {rust_value(field)}),'
    yield "        ])"
    yield "    }"
    yield "}"


def java_number(value):
    return "-1L" if value == 2**64 - 1 else f"{value}L"


def java_head():
    yield "// SPDX-License-Identifier: MIT"
    yield f"// {MADE[0].upper()}{MADE[1:]}."
    yield "package dev.stoker;"
    yield ""
    yield "import java.util.List;"


def java():
    yield from java_head()
    yield "import java.util.Map;"
    yield ""
    yield "/** Messages and their fields. Numbers of 64 bits are unsigned. */"
    yield "final class Tables {"
    for name in LIMITS:
        yield f"  static final int {name} = {TABLES.constants['PROTO_' + name]};"
    yield ""
    yield f"  static final int PAGE = {TABLES.page}; // newest version of a ring's header"
    yield ""
    yield "  /** Types of numbers, and the bytes of one. */"
    yield "  static final Map<String, Integer> DTYPES ="
    yield "      Map.ofEntries("
    for name, size in TABLES.dtypes:
        end = ");" if name == TABLES.dtypes[-1][0] else ","
        yield f'          Map.entry("{name}", {size}){end}'
    yield ""
    yield "  enum Kind {"
    for kind in ("UINT", "BOOLEAN", "TEXT", "RUNS", "ANY"):
        yield f"    {kind}" + ("," if kind != "ANY" else "")
    yield "  }"
    yield ""
    yield "  record Field("
    yield "      String key, Kind kind, boolean required, long normal, long min, long max) {}"
    yield ""
    yield "  record MessageType(long number, String name, List<Field> fields) {}"
    yield ""
    yield "  static final List<MessageType> MESSAGES ="
    yield "      List.of("
    for message in TABLES.messages:
        end = ");" if message is TABLES.messages[-1] else ","
        made = f'{message.number}L, "{message.name}", {message.name}()'
        yield f"          new MessageType({made}){end}"
    yield ""
    yield "  /** The fields of ATTACH that decide about bytes: those of a token's description. */"
    yield "  static final List<String> BYTES ="
    yield "      List.of("
    yield from (f'          "{key}"' + (");" if key == BYTES[-1] else ",") for key in BYTES)
    yield ""
    yield "  private Tables() {}"
    for message in TABLES.messages:
        yield ""
        yield f"  private static List<Field> {message.name}() {{"
        yield "    return List.of("
        for field in message.fields:
            kind, end = field.type.upper(), ");" if field is message.fields[-1] else ","
            numbers = ", ".join(map(java_number, (field.default, field.min, field.max)))
            yield f'        new Field("{field.key}", Kind.{kind}, {str(field.required).lower()},'
            yield f"            {numbers}){end}"
        yield "  }"
    yield "}"


def java_choice(key, help_, words):
    name = type_of(key)
    yield "// SPDX-License-Identifier: MIT"
    yield f"// {MADE[0].upper()}{MADE[1:]}."
    yield "package dev.stoker;"
    yield ""
    yield from java_comment("", sentence(help_))
    yield f"public enum {name} {{"
    for choice in words:
        constant = re.sub(r"\W", "_", choice.word).upper()
        yield f"  /** {sentence(choice.help)} */"
        yield f'  {constant}("{choice.word}"){";" if choice is words[-1] else ","}'
        yield ""
    yield "  private final String word;"
    yield ""
    yield f"  {name}(String word) {{"
    yield "    this.word = word;"
    yield "  }"
    yield ""
    yield "  /** The word of the protocol. */"
    yield "  @Override"
    yield "  public String toString() {"
    yield "    return word;"
    yield "  }"
    yield ""
    yield from java_comment(
        "  ", "By the word of the protocol.",
        f'@param word such as "{words[0].word}"',
        "@return the one of this word",
        "@throws StokerException with {@link Reason#OPTION} if there is none")
    yield f"  public static {name} of(String word) {{"
    yield f"    for ({name} one : values()) {{"
    yield "      if (one.word.equals(word)) return one;"
    yield "    }"
    yield f'    throw new StokerException("option", "there is no {name} " + word);'
    yield "  }"
    yield "}"


# Reasons of errors that the daemon does not send.
JAVA_REASONS = {
    "unavailable": "no daemon answers, or it is not trusted",
    "disconnected": "the daemon went away, and did not come back in time",
    "broken": "the daemon violated the protocol",
    "timeout": "it did not come in time; nothing is lost",
    "option": "an option or argument is wrong; the daemon was not asked",
    "held": "the program holds what the next batch needs",
    "closed": "the reader or batch was closed",
    "interrupted": "the thread was interrupted while it waited",
    "unknown": "a newer daemon's, which this client does not know",
}


def java_reasons():
    known = {error.name: error.help for error in TABLES.errors}
    words = {**known, **{word: help_ for word, help_ in JAVA_REASONS.items() if word not in known}}
    yield "// SPDX-License-Identifier: MIT"
    yield f"// {MADE[0].upper()}{MADE[1:]}."
    yield "package dev.stoker;"
    yield ""
    yield "/** Why a call failed: the protocol's names, and those of this client. */"
    yield "public enum Reason {"
    for word, help_ in words.items():
        yield from java_comment("  ", sentence(help_))
        yield f'  {word.upper()}("{word}"){";" if word == list(words)[-1] else ","}'
        yield ""
    yield "  private final String word;"
    yield ""
    yield "  Reason(String word) {"
    yield "    this.word = word;"
    yield "  }"
    yield ""
    yield "  /** The word of the protocol. */"
    yield "  @Override"
    yield "  public String toString() {"
    yield "    return word;"
    yield "  }"
    yield ""
    yield "  static Reason of(String word) {"
    yield "    for (Reason one : values()) {"
    yield "      if (one.word.equals(word)) return one;"
    yield "    }"
    yield "    return UNKNOWN;"
    yield "  }"
    yield "}"


def java_comment(indent, text, *tags):
    if not tags and len(indent) + len(text) <= 93:
        return [f"{indent}/** {text} */"]
    begin = f"{indent} * "
    out = [f"{indent}/**", *textwrap.wrap(text, 100, initial_indent=begin,
                                          subsequent_indent=begin)]
    if tags:
        out.append(f"{indent} *")
    for tag in tags:
        out += textwrap.wrap(tag, 100, initial_indent=begin, subsequent_indent=begin + "    ")
    return [*out, f"{indent} */"]


JAVA_KINDS = {"transforms": "List<Call>", "sampler": "Call", "fields": "List<String>",
              "secret": "byte[]"}
# Where the protocol's words are not Java's.
JAVA_HELP = {
    "transforms": "what is done to each picture",
    "fields": "which further fields of the dataset are delivered",
    "sampler": "which samples an epoch has",
}
JAVA_VALUES = {
    "transforms": "one after the other",
    "fields": "their names; null: all",
    "sampler": "null: each sample once",
    "secret": "of which a copy is made",
}


def java_value(field):
    """What an option may be, for people."""
    if field.key in JAVA_VALUES:
        return JAVA_VALUES[field.key]
    if field.key in TABLES.choices:
        return "not null"
    if field.type == "boolean":
        return "true (default) or false" if field.default else "true or false (default)"
    if field.type == "text":
        return f"at most {field.max} bytes of UTF-8"
    if field.max == 2**64 - 1:
        whole = "the largest" if field.default == field.max else field.default
        return f"of 64 bits, unsigned; {whole} by default"
    least = 1 if field.key == "inflight" else field.min  # with 0 no batch would come
    return f"{least} to {field.max}; {field.default} by default"


def java_options():
    head = list(java_head())
    yield from head[:-1]
    yield "import java.util.LinkedHashMap;"
    yield head[-1]
    yield "import java.util.Map;"
    yield ""
    yield from java_comment(
        "", "What to read, and how: the fields of ATTACH. What is not set has its default. A value "
        "out of range is refused when it is used, with {@link Reason#OPTION}. One thread at a "
        "time; the same options may be used again.")
    yield "public final class Options {"
    yield "  private final Map<String, Object> request = new LinkedHashMap<>();"
    yield "  private Token token;"
    yield ""
    size = next(field for field in OPTIONS if field.key == "batch_size")
    yield from java_comment("  ", "What every stream has.", "@param dataset to read",
                            f"@param batchSize {size.help}, {size.min} to {size.max}")
    yield "  public Options(Dataset dataset, long batchSize) {"
    yield '    request.put("dataset", dataset.map());'
    yield '    request.put("batch_size", batchSize);'
    yield "  }"
    for field in OPTIONS:
        if field.required:
            continue
        kind = JAVA_KINDS.get(field.key) or {
            "text": "String", "boolean": "boolean", "uint": "long"}[field.type]
        kind = type_of(field.key) if field.key in TABLES.choices else kind
        name = camel(field.key)
        yield ""
        yield from java_comment(
            "  ", sentence(JAVA_HELP.get(field.key, field.help)),
            f"@param {name} {java_value(field)}", "@return these options")
        yield f"  public Options {name}({kind} {name}) {{"
        value = f"{name}.toString()" if field.key in TABLES.choices else name
        value = f"new Text({name}.clone())" if kind == "byte[]" else value
        yield f'    request.put("{field.key}", {value});'
        yield "    return this;"
        yield "  }"
    yield ""
    yield from java_comment(
        "  ", "Begin where this token says; it must be of the same stream.",
        "@param token null: begin at epoch and position", "@return these options")
    yield "  public Options token(Token token) {"
    yield "    this.token = token;"
    yield "    return this;"
    yield "  }"
    yield ""
    yield "  Token token() {"
    yield "    return token;"
    yield "  }"
    yield ""
    yield "  /** The fields of an ATTACH: a copy. */"
    yield "  Map<String, Object> request() {"
    yield '    long rank = (Long) request.getOrDefault("rank", 0L);'
    yield '    long world = (Long) request.getOrDefault("world", 1L);'
    yield '    if (rank >= world) throw new StokerException("option", "rank is not below world");'
    yield '    if (Long.valueOf(0).equals(request.get("inflight"))) {'
    yield '      throw new StokerException("option", "with an inflight of 0 no batch would come");'
    yield "    }"
    yield "    Map<String, Object> out = new LinkedHashMap<>(request);"
    yield '    out.put("accept_path", true);'
    yield '    out.put("accept_moves", true);'
    yield '    out.put("accept_sizes", true);'
    yield '    out.put("accept_names", true);'
    yield '    out.put("page", (long) Tables.PAGE);'
    yield "    return out;"
    yield "  }"
    yield "}"


PYTHON = """# SPDX-License-Identifier: MIT
\"\"\"The part of proto/tables.h that a reader needs, in Python: data only,
{made}.
\"\"\"
from __future__ import annotations

from typing import Dict, Literal, NamedTuple, Optional, Tuple

{limits}

U32 = 2**32 - 1
U64 = 2**64 - 1


class Field(NamedTuple):
    \"\"\"One field of a message. ``default`` None: it is required.\"\"\"

    type: str  # uint, boolean, text (min and max are its bytes), runs, any
    default: Optional[int]
    min: int
    max: int


class Message(NamedTuple):
    \"\"\"One message and its fields, by key.\"\"\"

    number: int
    name: str
    fields: Dict[str, Field]


_MESSAGES: Tuple[Message, ...] = (
"""


def python():
    limits = "\n".join(f"{name} = {TABLES.constants['PROTO_' + name]}" for name in LIMITS)
    yield from PYTHON.format(made=MADE, limits=limits).splitlines()
    for message in TABLES.messages:
        if message.socket == "CONTROL":
            continue
        yield f'    Message({message.number}, "{message.name}", {{'
        for field in message.fields:
            default = None if field.required else field.default
            numbers = ", ".join({2**32 - 1: "U32", 2**64 - 1: "U64"}.get(number, str(number))
                                for number in (default, field.min, field.max))
            yield f'        "{field.key}": Field("{field.type}", {numbers}),'
        yield "    }),"
    yield ")"
    yield ""
    yield "BY_NUMBER: Dict[int, Message] = {message.number: message for message in _MESSAGES}"
    yield "BY_NAME: Dict[str, Message] = {message.name: message for message in _MESSAGES}"
    yield ""
    yield "# The fields of ATTACH that decide about bytes: those of a state's description."
    yield "BYTES: Tuple[str, ...] = ("
    yield from (f'    "{key}",' for key in BYTES)
    yield ")"
    yield ""
    yield "# Words of options, for type checkers and editors."
    for key, _, words in choices():
        if key != "dtype":  # which objects of NumPy and torch name, too
            words = ", ".join(f'"{choice.word}"' for choice in words)
            yield f"{type_of(key)} = Literal[{words}]"


C_HEAD = """/* SPDX-License-Identifier: MIT */
/* {made}. The words of options
 * that are one of a few, and the types of a field's numbers; stoker.h includes it. */
#ifndef STOKER_CHOICES_H
#define STOKER_CHOICES_H
"""


def c_choices():
    yield from C_HEAD.format(made=MADE[0].upper() + MADE[1:]).splitlines()
    for key, help_, words in choices():
        yield ""
        yield from textwrap.wrap(f"/* {key}: {help_}. */", 96, subsequent_indent=" * ")
        for choice in words:
            name = re.sub(r"\W", "_", f"STOKER_{key}_{choice.word}").upper()
            if choice.help != "of a field":
                yield f"/* {choice.help} */"
            yield f'#define {name} "{choice.word}"'
    yield ""
    yield "#endif"


# Words that C++ has for itself.
CPP_KEYWORDS = ("auto", "bool", "short")


def cpp_choices():
    for key, help_, words in choices():
        lines = textwrap.wrap(f"/* {sentence(help_)} */", 96)
        yield "\n * ".join(lines)
        yield f"enum class {key} {{"
        for choice in words:
            name = choice.word.replace("-", "_")
            if choice.help != "of a field":
                yield f"\t/* {choice.help} */"
            yield f"\t{name}{'_' * (name in CPP_KEYWORDS)},"
        yield "};"


def cpp_words():
    for key, _, words in choices():
        yield f"template <> struct words<stk::{key}> {{"
        yield f'\tstatic constexpr const char *key = "{key}";'
        yield "\tstatic constexpr const char *all[] = {"
        yield from (f'\t\t"{choice.word}",' for choice in words)
        yield "\t};"
        yield "};"


def cpp_source():
    for key in TABLES.dataset:
        lines = textwrap.wrap(f"/* {key_help(key)}.", 88)
        yield "\t" + "\n\t * ".join(lines) + " */"
        yield f"\tstd::string {key.key};"


def cpp_members():
    for key in TABLES.dataset:
        member = "dataset" if key.key == "path" else f"dataset_{key.key}"
        yield f"\t\tto.{member} = text(from.{key.key});"


# The order of the first members of options, in which programs may initialise them; later fields
# of ATTACH stand behind them.
CPP_FIRST = (
    "dataset", "transforms", "dtype", "layout", "batch_size", "shuffle", "order_seed",
    "augment_seed", "subset_start", "subset_stop", "last_batch", "bad_samples",
    "exif_orientation", "job", "rank", "world", "epoch", "position", "epochs", "expect_dataset",
    "expect_pipeline", "expect_sampling", "inflight", "prefetch", "start", "pace", "order",
    "window", "resize", "priority", "draft", "fields", "sampler", "one_hot", "echo",
    "echo_window", "views")
CPP_OPTIONS = sorted(OPTIONS, key=lambda field: (
    CPP_FIRST.index(field.key) if field.key in CPP_FIRST else len(CPP_FIRST)))
CPP_TREES = {"dataset": "source", "transforms": "std::string", "sampler": "std::string",
             "fields": "std::optional<std::vector<std::string>>"}


def cpp_option(field):
    """Its type and what stands behind its name."""
    if field.key in TABLES.choices:
        return f"std::optional<stk::{field.key}>", ""
    if field.type in ("any", "text"):
        return CPP_TREES.get(field.key, "std::string"), ""
    name = "bool" if field.type == "boolean" else \
        "std::uint32_t" if narrow(field) else "std::uint64_t"
    if field.default == 2**64 - 1:
        return f"std::optional<{name}>", ""
    default = str(bool(field.default)).lower() if field.type == "boolean" else field.default
    return name, f" = {default}"


def cpp_options():
    for field in CPP_OPTIONS:
        kind, default = cpp_option(field)
        words = {"subset_stop": "; none: to the end", "batch_size": "; required",
                 "fields": "; none: all of them"}.get(field.key, "")
        help_ = CPP_HELP.get(field.key, field.help)
        lines = textwrap.wrap(f"/* {help_[0].upper()}{help_[1:]}{words}. */", 88)
        yield "\t" + "\n\t * ".join(lines)
        yield f"\t{kind} {field.key}{default};"


CPP_HELP = {"dataset": "what to read", "sampler": "which samples an epoch has",
            "transforms": 'such as "Resize(size=256) | CenterCrop(size=224)"',
            "fields": "further fields of the dataset to deliver",
            "subset_stop": "one past the last sample to use"}


def cpp_request():
    """What libstoker calls otherwise has a line of its own."""
    for field in CPP_OPTIONS:
        if field.key in ("dataset", "fields"):
            continue
        if field.key == "shuffle":
            yield "\t\toptions_.sequential = !from.shuffle;"
        elif field.key == "secret":
            yield "\t\tset_secret(from);"
        elif field.default == 2**64 - 1:
            yield f"\t\toptions_.{field.key} = from.{field.key}.value_or(0);"
        elif field.type in ("any", "text"):
            yield f"\t\toptions_.{field.key} = text(from.{field.key});"
        else:
            yield f"\t\toptions_.{field.key} = from.{field.key};"


# Parts of a file that is written by hand, between marks.
PARTS = {"client/cpp/stoker.hpp": {"choices": cpp_choices, "words": cpp_words,
                                   "source": cpp_source, "options": cpp_options,
                                   "request": cpp_request, "members": cpp_members}}


def with_parts(name, parts):
    text = (ROOT / name).read_text()
    for part, lines in parts.items():
        head, end = f"/* generated: {part} */\n", "/* end */"
        before, rest = text.split(head)
        _, after = rest.split(end, 1)
        indent = before[before.rindex("\n") + 1:]
        text = before + head + "".join(line + "\n" for line in lines()) + indent + end + after
    return text


FILES = {
    "client/c/stoker_choices.h": c_choices,
    "client/python/stoker/_tables.py": python,
    "client/go/tables.go": go,
    "client/java/src/main/java/dev/stoker/Options.java": java_options,
    "client/java/src/main/java/dev/stoker/Tables.java": java,
    "client/rust/src/tables.rs": rust,
    "client/node/lib/tables.js": js,
    "client/node/lib/options.d.ts": ts,
}
JAVA = "client/java/src/main/java/dev/stoker"
FILES[f"{JAVA}/Reason.java"] = java_reasons
FILES.update({f"{JAVA}/{type_of(key)}.java": functools.partial(java_choice, key, help_, words)
              for key, help_, words in choices()})


def main():
    write, late = sys.argv[1:] == ["--write"], []
    texts = {name: "\n".join(lines()) + "\n" for name, lines in FILES.items()}
    texts.update((name, with_parts(name, parts)) for name, parts in PARTS.items())
    for name, text in texts.items():
        path = ROOT / name
        if write:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            late.append(name)
    if late:
        print(f"{', '.join(late)}: not what proto/tables.h gives: run languages.py --write",
              file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
