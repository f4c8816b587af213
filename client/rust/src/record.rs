// SPDX-License-Identifier: MIT
//! Records: what a sample is on its way to the daemon. Knows no tray and no message.

use std::fmt;

use crate::error::Error;
use crate::ring::Element;
use crate::tables::{dtype_bytes, DType};

/// What a producer's code gives for a sample.
#[derive(Clone, Debug)]
pub enum Record {
    /// The bytes of a file of any format that the daemon decodes, which keeps and transforms the
    /// picture.
    File {
        /// Of the sample.
        label: i64,
        /// The whole file.
        bytes: Vec<u8>,
    },
    /// A picture of one channel, which the daemon transforms.
    Grey {
        /// Of the sample.
        label: i64,
        /// Of the picture.
        width: usize,
        /// Of the picture.
        height: usize,
        /// Row by row, a byte each.
        pixels: Vec<u8>,
    },
    /// A picture in colours, which the daemon transforms.
    Rgb {
        /// Of the sample.
        label: i64,
        /// Of the picture.
        width: usize,
        /// Of the picture.
        height: usize,
        /// Row by row, three bytes each.
        pixels: Vec<u8>,
    },
    /// A finished sample, in the order of `Dataset::arrays`.
    Arrays(Vec<Array>),
}

/// An array of a finished sample.
///
/// ```
/// use stoker::Array;
/// let grid = Array::new(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]);
/// let number = Array::new(&[7i64], &[]);
/// let caption = Array::text("a grid");
/// ```
#[derive(Clone)]
pub struct Array {
    shape: Vec<usize>,
    bytes: Vec<u8>,
    count: usize, // of its numbers
    holds: fn(DType) -> bool,
    kind: &'static str, // for people
}

impl Array {
    /// Of numbers in C order; without a shape it is one number. As of a batch, float16 and bfloat16
    /// are the bits of u16, bool is u8.
    pub fn new<T: Element>(values: &[T], shape: &[usize]) -> Array {
        let mut bytes = Vec::with_capacity(std::mem::size_of_val(values));
        values.iter().for_each(|value| value.put(&mut bytes));
        let (count, kind) = (values.len(), std::any::type_name::<T>());
        Array { shape: shape.to_vec(), bytes, count, holds: T::holds, kind }
    }

    /// Of the type text, and ragged.
    pub fn text(text: impl Into<String>) -> Array {
        let bytes = text.into().into_bytes();
        let holds = |dtype| matches!(dtype, DType::Text | DType::Bytes);
        Array { shape: vec![bytes.len()], count: bytes.len(), bytes, holds, kind: "text" }
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array({} of {})", words(self.shape.iter().map(|edge| Some(*edge))), self.kind)
    }
}

impl Record {
    /// Its parts, one behind the other. The error says what is wrong with it. `declared`: the arrays
    /// of the dataset or the Map; empty: there are none.
    pub(crate) fn parts(self, declared: &[Declared]) -> Result<Vec<Vec<u8>>, String> {
        match self {
            Record::Arrays(arrays) => parts_of(arrays, declared),
            _ if !declared.is_empty() => {
                Err("arrays are declared, and this is a file or a picture: give Arrays".into())
            }
            Record::File { label, bytes } => Ok(vec![label.to_ne_bytes().into(), bytes]),
            Record::Grey { label, width, height, pixels } => {
                picture("P5", 1, (label, width, height), pixels)
            }
            Record::Rgb { label, width, height, pixels } => {
                picture("P6", 3, (label, width, height), pixels)
            }
        }
    }

    /// ... of a Map, without the label, which is the dataset's.
    pub(crate) fn parts_of_map(self, declared: &[Declared]) -> Result<Vec<Vec<u8>>, String> {
        if declared.is_empty() && matches!(self, Record::File { .. }) {
            return Err("a Map gives a picture, Grey or Rgb, and this is a file".into());
        }
        let mut parts = self.parts(declared)?;
        if declared.is_empty() {
            parts.remove(0);
        }
        Ok(parts)
    }
}

fn picture(
    magic: &str,
    channels: usize,
    (label, width, height): (i64, usize, usize),
    pixels: Vec<u8>,
) -> Result<Vec<Vec<u8>>, String> {
    let size = width.checked_mul(height).and_then(|size| size.checked_mul(channels));
    if pixels.is_empty() || size != Some(pixels.len()) {
        return Err(format!(
            "a picture of {width} x {height} has {} bytes: {channels} for each pixel are needed",
            pixels.len()
        ));
    }
    let head = format!("{magic}\n{width} {height}\n255\n");
    Ok(vec![label.to_ne_bytes().into(), head.into_bytes(), pixels])
}

fn parts_of(arrays: Vec<Array>, declared: &[Declared]) -> Result<Vec<Vec<u8>>, String> {
    if arrays.len() != declared.len() {
        return Err(format!(
            "the sample has {} arrays, and {} are declared: Dataset::arrays, or those of the Map",
            arrays.len(),
            declared.len()
        ));
    }
    let mut out = Vec::new();
    for (array, declared) in arrays.into_iter().zip(declared) {
        declared.check(&array)?;
        if declared.ragged() {
            let edge = |edge: &usize| (*edge as u64).to_ne_bytes();
            out.push(array.shape.iter().flat_map(edge).collect());
        }
        out.push(array.bytes);
    }
    Ok(out)
}

/// One of `Dataset::arrays`.
pub(crate) struct Declared {
    name: String,
    dtype: DType,
    shape: Vec<Option<usize>>, // None: samples have sizes of their own
}

impl Declared {
    /// NAME:DTYPE:SHAPE of each.
    pub fn all(text: &str) -> Result<Vec<Declared>, Error> {
        let wrong = |word: &str| {
            Error::Option(format!(
                "Dataset::arrays: {word:?} is not NAME:DTYPE:SHAPE, such as pixels:float32:3x224x224"
            ))
        };
        text.split_whitespace().map(|word| Declared::of(word).ok_or_else(|| wrong(word))).collect()
    }

    fn of(word: &str) -> Option<Declared> {
        let parts: Vec<&str> = word.split(':').collect();
        let [name, dtype, shape] = parts[..] else { return None };
        let edges = shape.split('@').next().filter(|edges| !edges.is_empty());
        let edge = |edge: &str| match edge {
            "?" => Some(None),
            digits => digits.parse().ok().map(Some),
        };
        let shape: Option<Vec<_>> =
            edges.into_iter().flat_map(|all| all.split('x')).map(edge).collect();
        Some(Declared { name: name.into(), dtype: dtype.parse().ok()?, shape: shape? })
    }

    fn ragged(&self) -> bool {
        self.shape.contains(&None)
    }

    fn check(&self, array: &Array) -> Result<(), String> {
        let Declared { name, dtype, shape } = self;
        if !(array.holds)(*dtype) {
            return Err(format!("the array {name} is of {}, and declared as {dtype}", array.kind));
        }
        let own = words(array.shape.iter().map(|edge| Some(*edge)));
        let mut pairs = shape.iter().zip(&array.shape);
        let fits = pairs.all(|(known, edge)| known.map_or(true, |known| known == *edge));
        if array.shape.len() != shape.len() || !fits {
            let all = words(shape.iter().copied());
            return Err(format!("the array {name} has the shape {own}, and is declared as {all}"));
        }
        let item = dtype_bytes(*dtype) as usize;
        let size = array.shape.iter().try_fold(item, |size, edge| size.checked_mul(*edge));
        if size != Some(array.bytes.len()) {
            let count = array.count;
            return Err(format!(
                "the array {name} has {count} numbers, which are not those of its shape {own}"
            ));
        }
        Ok(())
    }
}

/// A shape, as in `Dataset::arrays`.
fn words(shape: impl Iterator<Item = Option<usize>>) -> String {
    let edges: Vec<_> =
        shape.map(|edge| edge.map_or("?".into(), |edge| edge.to_string())).collect();
    match edges.is_empty() {
        true => "of one number".into(),
        false => edges.join("x"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Array, Declared, Record};

    fn record(record: Record, arrays: &str) -> Result<Vec<u8>, String> {
        let declared = Declared::all(arrays).map_err(|error| error.to_string())?;
        record.parts(&declared).map(|parts| parts.concat())
    }

    fn whole(array: Array, arrays: &str) -> Result<Vec<u8>, String> {
        record(Record::Arrays(vec![array]), arrays)
    }

    #[test]
    fn records() {
        let label = b"\x07\0\0\0\0\0\0\0";
        let with = |rest: &[u8]| Ok([label, rest].concat());
        assert_eq!(record(Record::File { label: 7, bytes: b"file".into() }, ""), with(b"file"));
        let grey = Record::Grey { label: 7, width: 2, height: 1, pixels: b"ab".into() };
        assert_eq!(record(grey, ""), with(b"P5\n2 1\n255\nab"));
        let rgb = Record::Rgb { label: 7, width: 1, height: 2, pixels: b"abcdef".into() };
        assert_eq!(record(rgb, ""), with(b"P6\n1 2\n255\nabcdef"));
        let pair = Record::Arrays(vec![Array::new(&[7i64], &[]), Array::new(&[1u8, 2], &[2])]);
        assert_eq!(record(pair, "a:int64: b:bool:2"), with(b"\x01\x02"));
        assert_eq!(whole(Array::text("seven.."), "a:text:?@64"), with(b"seven.."));
        let none: [f32; 0] = [];
        assert_eq!(whole(Array::new(&none, &[0]), "a:float32:?@64"), Ok(vec![0; 8]));
    }

    #[test]
    fn a_map_gives_a_picture_without_a_label() {
        let grey = Record::Grey { label: 7, width: 2, height: 1, pixels: b"ab".into() };
        assert_eq!(grey.parts_of_map(&[]).unwrap().concat(), b"P5\n2 1\n255\nab");
        let declared = Declared::all("a:bool:").unwrap();
        let array = Record::Arrays(vec![Array::new(&[1u8], &[])]);
        assert_eq!(array.parts_of_map(&declared).unwrap().concat(), b"\x01");
        let file = Record::File { label: 0, bytes: vec![0; 20] };
        assert!(file.parts_of_map(&[]).unwrap_err().contains("gives a picture"));
    }

    #[test]
    fn records_that_do_not_fit() {
        let said = |made: Result<Vec<u8>, String>, words: &str| {
            let text = made.unwrap_err();
            assert!(text.contains(words), "{text}");
        };
        said(record(Record::File { label: 0, bytes: vec![] }, "a:int64:"), "this is a file");
        let odd = Record::Rgb { label: 0, width: 2, height: 2, pixels: vec![0; 4] };
        said(record(odd, ""), "3 for each pixel");
        said(record(Record::Arrays(vec![]), "a:int64:"), "0 arrays, and 1 are declared");
        said(whole(Array::new(&[1i32], &[]), "a:int64:"), "of i32, and declared as int64");
        said(whole(Array::new(&[1i64, 2], &[2]), "a:int64:3"), "shape 2, and is declared as 3");
        said(whole(Array::new(&[1i64, 2], &[2]), "a:int64:?x2@64"), "declared as ?x2");
        said(whole(Array::new(&[1i64, 2], &[]), "a:int64:"), "2 numbers, which are not those");
        for wrong in ["a", "a:int64", "a:int65:", "a:int64:3x", "a:int64:-1", "a:b:c:d"] {
            assert!(Declared::all(wrong).is_err(), "{wrong}");
        }
    }
}
