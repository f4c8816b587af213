// SPDX-License-Identifier: MIT

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::msgpack::Value;
use crate::tables::Options;

/// A transform, or a sampler: a name and parameters. Transforms are the classes of
/// `torchvision.transforms`; samplers are `subset`, `split`, `weighted` and `balanced`.
///
/// ```
/// use stoker::Call;
/// let crop = Call::new("RandomResizedCrop").with("size", 224).with("scale", [0.25, 1.0]);
/// let maybe = Call::new("RandomApply").with("transforms", vec![crop]).with("p", 0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    name: String,
    parameters: Vec<(String, Value)>,
}

impl Call {
    pub fn new(name: &str) -> Call {
        Call { name: name.into(), parameters: Vec::new() }
    }

    /// ... with this parameter.
    pub fn with(mut self, parameter: &str, value: impl Into<Value>) -> Call {
        self.parameters.push((parameter.into(), value.into()));
        self
    }
}

impl From<Call> for Value {
    fn from(call: Call) -> Value {
        let name = (b"name".to_vec(), call.name.into());
        let rest = call.parameters.into_iter().map(|(key, value)| (key.into_bytes(), value));
        Value::Map(std::iter::once(name).chain(rest).collect())
    }
}

/// What the daemon opens. Only `path` is required, or `parts`. A relative path is made absolute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// A folder, a manifest, shards, arrays, a published dataset, or a URL of them.
    pub path: PathBuf,
    /// folder, flat, manifest, tar, tfrecord, ...; empty: by the path.
    pub kind: String,
    /// Manifest: the folder of its paths; empty: its own.
    pub root: PathBuf,
    /// Manifest: lines, tsv, csv or jsonl; empty: by the ending of its name.
    pub format: String,
    pub path_column: String,
    pub label_column: String,
    pub images: String,
    pub labels: String,
    pub split: String,
    /// Shards: the component, or the feature, that is the picture.
    pub image: String,
    /// Shards: ... that is the label.
    pub label: String,
    /// Shards: labels are the numbers of so many classes.
    pub classes: String,
    /// Shards: components that become fields, with blanks between.
    pub components: String,
    /// Shards: what a sample is without one: error or skip.
    pub missing_component: String,
    /// Instead of a path: 2 to 16 datasets that are joined.
    pub parts: Vec<Dataset>,
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Dataset {
    fn from(path: &P) -> Dataset {
        Dataset { path: path.as_ref().into(), ..Dataset::default() }
    }
}

impl Dataset {
    pub(crate) fn value(&self) -> Value {
        if !self.parts.is_empty() {
            let parts = self.parts.iter().map(Dataset::value).collect();
            return Value::Map(vec![(b"parts".to_vec(), Value::List(parts))]);
        }
        let (path, root) = (absolute(&self.path), absolute(&self.root));
        let rows: [(&str, &OsStr); 14] = [
            ("path", path.as_os_str()),
            ("kind", self.kind.as_ref()),
            ("root", root.as_os_str()),
            ("format", self.format.as_ref()),
            ("path_column", self.path_column.as_ref()),
            ("label_column", self.label_column.as_ref()),
            ("images", self.images.as_ref()),
            ("labels", self.labels.as_ref()),
            ("split", self.split.as_ref()),
            ("image", self.image.as_ref()),
            ("label", self.label.as_ref()),
            ("classes", self.classes.as_ref()),
            ("components", self.components.as_ref()),
            ("missing_component", self.missing_component.as_ref()),
        ];
        let given = rows.into_iter().filter(|(_, text)| !text.is_empty());
        Value::Map(
            given.map(|(key, text)| (key.into(), Value::Text(text.as_bytes().to_vec()))).collect(),
        )
    }
}

fn absolute(path: &Path) -> PathBuf {
    let text = path.to_str().unwrap_or_default();
    let is_url = text.split_once("://").is_some_and(|(scheme, _)| !scheme.contains('/'));
    if is_url || path.as_os_str().is_empty() {
        return path.into();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// The fields of an ATTACH.
pub(crate) fn request_of(options: &Options) -> Result<HashMap<&'static str, Value>, Error> {
    let wrong = |text: String| Err(Error::Option(text));
    if options.dataset == Dataset::default() {
        return wrong("the option dataset is missing".into());
    }
    if options.batch_size == 0 {
        return wrong("the option batch_size is missing".into());
    }
    if options.inflight == 0 {
        return wrong("with an inflight of 0 no batch would ever come".into());
    }
    if options.rank >= options.world {
        return wrong(format!("rank is {}, and world is {}", options.rank, options.world));
    }
    let mut out = options.fields_of_attach();
    out.insert("accept_fd", true.into());
    out.insert("accept_moves", true.into());
    if let Some(token) = &options.token {
        token.check(options)?;
        out.insert("epoch", token.epoch.into());
        out.insert("position", token.position.into());
        out.insert("expect_dataset", token.dataset.as_str().into());
        out.insert("expect_pipeline", token.pipeline.as_str().into());
        out.insert("expect_sampling", token.sampling.as_str().into());
    }
    Ok(out)
}
