// SPDX-License-Identifier: MIT
//! A ring: one segment of shared memory, mapped read-only, and where the fields of its slots are
//! (proto/ring_layout.h); and a tray, which a producer writes. The only module with unsafe code. Knows
//! no message.

use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{null_mut, NonNull};

use rustix::fs::{fcntl_get_seals, fstat, SealFlags};
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::message::Run;
use crate::tables::{dtype_bytes, DType};

const MAGIC: &[u8] = b"stoker\r\n";
pub(crate) const VERSION: u32 = 2; // the newest that is read
const PAGE: usize = 4096;
const HEADER_MAX: usize = 1 << 20;
const ROWS_AT: usize = 128;
const PLAIN: u32 = 0;
const RAGGED: u32 = 1;
const SIZED: u32 = 2;

/// Where the parts of a row are, by the version of the header.
struct Layout {
    name: usize,
    kind: Option<usize>,
    dims: usize,
    dims_max: u32,
    stride: usize,
    bytes: usize,
}

const NARROW: Layout =
    Layout { name: 16, kind: None, dims: 32, dims_max: 6, stride: 64, bytes: 80 };
const WIDE: Layout =
    Layout { name: 64, kind: Some(80), dims: 84, dims_max: 32, stride: 216, bytes: 256 };

/// An array that every sample has, in C order and the byte order of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// "image", "label", "index", or what the options ask for further.
    pub name: String,
    /// Of its numbers; a text is UTF-8.
    pub dtype: DType,
    /// Of one sample; empty: one number. 0: any number if ragged, else as in `Batch::fields`.
    pub shape: Vec<usize>,
    /// Of one sample, or the largest; of a ragged one, to the next one.
    pub bytes: usize,
    /// Each sample has a shape of its own, which `Batch::item` gives.
    pub ragged: bool,
    sized: bool, // two zeros of its shape are height and width of a batch
    item: u64,
    offset: usize,
}

/// A height and width that a batch has for itself, and the slot from which on its samples lie one
/// behind the other.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub height: u64,
    pub width: u64,
    pub origin: u64,
}

impl Field {
    /// Bytes of a sample of one pixel, which a slot has room for.
    fn least(&self) -> u64 {
        self.shape.iter().fold(self.item, |size, edge| size * (*edge).max(1) as u64)
    }

    /// Has a slot room for a sample of this size?
    fn fits(&self, size: Size) -> bool {
        !self.sized || size.height * size.width <= self.bytes as u64 / self.least()
    }

    /// The field as a batch has it.
    pub(crate) fn of(&self, size: Size) -> Field {
        let mut own = self.clone();
        if self.sized {
            let mut edges = [size.height, size.width].into_iter();
            for edge in own.shape.iter_mut().filter(|edge| **edge == 0) {
                *edge = edges.next().unwrap_or(1) as usize;
            }
            own.bytes = (self.least() * size.height * size.width) as usize;
            own.offset += size.origin as usize * (self.bytes - own.bytes);
        }
        own
    }
}

/// Has it two zeros, side by side, for a height and a width?
fn is_sized(shape: &[u32]) -> bool {
    let zeros: Vec<usize> = (0..shape.len()).filter(|d| shape[*d] == 0).collect();
    matches!(zeros[..], [first, second] if second == first + 1)
}

/// A number of an array. Float16 and bfloat16 come as the bits of u16, bool as u8.
pub trait Element: sealed::Sealed + Copy + 'static {}

mod sealed {
    use crate::tables::DType;

    /// All bit patterns are values of the type.
    pub trait Sealed {
        fn holds(dtype: DType) -> bool;
        /// Append it in the machine's byte order.
        fn put(self, out: &mut Vec<u8>);
    }
}

macro_rules! element {
    ($($kind:ty: $($dtype:ident)|+;)*) => {$(
        impl Element for $kind {}
        impl sealed::Sealed for $kind {
            fn holds(dtype: DType) -> bool {
                matches!(dtype, $(DType::$dtype)|+)
            }

            fn put(self, out: &mut Vec<u8>) {
                out.extend(self.to_ne_bytes());
            }
        }
    )*};
}
element! {
    u8: Uint8 | Bool | Text | Bytes;
    i8: Int8;
    u16: Uint16 | Float16 | Bfloat16;
    i16: Int16;
    u32: Uint32;
    i32: Int32;
    f32: Float32;
    u64: Uint64;
    i64: Int64;
    f64: Float64;
}

/// Shared memory.
struct Mapping {
    memory: NonNull<u8>,
    size: usize,
}

// SAFETY: what is written to it needs the only reference, and the last owner unmaps it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and what borrows from it is gone.
        let _ = unsafe { munmap(self.memory.as_ptr().cast::<c_void>(), self.size) };
    }
}

impl Mapping {
    /// Of what came as a descriptor. Without the seal it could shrink, and reading a pixel would be
    /// a SIGBUS. `what` it is, for people.
    fn of(fd: OwnedFd, size: u64, what: &str, access: ProtFlags) -> Result<Mapping, String> {
        let sealed =
            fcntl_get_seals(fd.as_fd()).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if !sealed {
            return Err(format!("the memory of the {what} is not sealed: it could shrink"));
        }
        let there = fstat(fd.as_fd()).map_err(|error| error.to_string())?.st_size as u64;
        let bytes = usize::try_from(size).ok().filter(|bytes| *bytes >= PAGE && there == size);
        let Some(size) = bytes else {
            return Err(format!("the {what} has {there} bytes, not {size} as announced"));
        };
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let memory = unsafe { mmap(null_mut(), size, access, MapFlags::SHARED, fd.as_fd(), 0) };
        let memory = memory.ok().and_then(|at| NonNull::new(at.cast::<u8>()));
        let memory = memory.ok_or_else(|| format!("cannot map the {what} of {size} bytes"))?;
        Ok(Mapping { memory, size })
    }

    fn bytes(&self, at: usize, size: usize) -> &[u8] {
        assert!(at <= self.size && size <= self.size - at);
        // SAFETY: inside of the mapping, which is as old as this.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(at), size) }
    }
}

/// What a Map gets: three bytes of RGB for each pixel, row by row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Picture {
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// `3 * width * height` bytes.
    pub pixels: Vec<u8>,
}

/// Memory that a producer writes records into; that of a Map has pictures in front of them.
pub(crate) struct Tray(Mapping);

impl Tray {
    pub fn map(fd: OwnedFd, size: u64) -> Result<Tray, String> {
        Mapping::of(fd, size, "tray", ProtFlags::READ | ProtFlags::WRITE).map(Tray)
    }

    pub fn size(&self) -> usize {
        self.0.size
    }

    /// A copy of rows of RGB; None: they are not inside of the tray.
    pub fn picture(&self, at: u64, height: u64, width: u64) -> Option<Picture> {
        let room = (self.0.size as u64).checked_sub(at)?;
        let size = height.checked_mul(width)?.checked_mul(3)?;
        if size == 0 || size > room {
            return None;
        }
        let pixels = self.0.bytes(at as usize, size as usize).to_vec();
        Some(Picture { width: width as usize, height: height as usize, pixels })
    }

    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        assert!(at <= self.0.size && bytes.len() <= self.0.size - at);
        // SAFETY: inside of the mapping, which nobody else in this program refers to.
        unsafe {
            let room = self.0.memory.as_ptr().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), room, bytes.len());
        }
    }
}

pub(crate) struct Ring {
    memory: Mapping,
    slots: u64,
    pub fields: Vec<Field>,
    identity: [u8; 32],
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(data[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(data: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(data[at..at + 8].try_into().expect("eight bytes"))
}

fn padded(data: &[u8]) -> String {
    String::from_utf8_lossy(data).trim_end_matches('\0').into()
}

/// Where the numbers of a ragged sample begin in its slot.
fn ragged_at(dims: usize) -> u64 {
    (8 * dims as u64).div_ceil(16) * 16
}

impl Ring {
    /// Map what came with ATTACHED or RING.
    pub fn map(fd: OwnedFd, size: u64, number: u64) -> Result<Ring, String> {
        let memory = Mapping::of(fd, size, "ring", ProtFlags::READ)?;
        let bytes = memory.size;
        let mut ring = Ring { memory, slots: 0, fields: vec![], identity: [0; 32] };
        // A copy, so that what was checked is what is used.
        let said = u32_at(ring.bytes(0, PAGE), 12) as usize;
        let header = ring.bytes(0, said.clamp(PAGE, HEADER_MAX).min(bytes)).to_vec();
        ring.parse(&header, number)?;
        Ok(ring)
    }

    /// Bytes of the mapping. The daemon writes to slots only while nobody holds them.
    fn bytes(&self, at: usize, size: usize) -> &[u8] {
        self.memory.bytes(at, size)
    }

    fn parse(&mut self, header: &[u8], number: u64) -> Result<(), String> {
        let (version, size) = (u32_at(header, 8), u32_at(header, 12) as usize);
        if &header[..8] != MAGIC || !(1..=VERSION).contains(&version) || size < PAGE {
            return Err(format!("the header of the ring is not of version 1 or {VERSION}"));
        }
        if u64_at(header, 16) != self.memory.size as u64 || u64_at(header, 24) != number {
            return Err("the header is that of another ring".into());
        }
        self.slots = u32_at(header, 32).into();
        let (rows, step) = (u32_at(header, 36) as usize, u32_at(header, 72) as usize);
        let (layout, step, fits) = if version == 1 {
            (&NARROW, NARROW.bytes, size == PAGE && rows <= 16)
        } else {
            let whole = size <= header.len() && size % PAGE == 0;
            let room = rows.checked_mul(step).is_some_and(|all| all <= size - ROWS_AT);
            (&WIDE, step, whole && step >= WIDE.bytes && room)
        };
        if self.slots == 0 || !fits {
            return Err("the header of the ring has invalid numbers".into());
        }
        self.identity.copy_from_slice(&header[40..72]);
        for i in 0..rows {
            let at = ROWS_AT + i * step;
            self.parse_field(&header[at..at + layout.bytes], layout, size as u64)?;
        }
        for name in ["image", "label", "index"] {
            if self.field(name).is_none() {
                return Err(format!("the ring has no field {name} of a known type"));
            }
        }
        match self.field("index") {
            Some(index) if index.dtype == DType::Int64 && index.shape.is_empty() => Ok(()),
            _ => Err("the field index of the ring is not one int64".into()),
        }
    }

    fn parse_field(&mut self, row: &[u8], layout: &Layout, begin: u64) -> Result<(), String> {
        let name = padded(&row[..layout.name]);
        let dtype = padded(&row[layout.name..layout.name + 16]).parse();
        let kind = layout.kind.map_or(PLAIN, |at| u32_at(row, at));
        let (Ok(dtype), PLAIN | RAGGED | SIZED) = (dtype, kind) else {
            return Ok(()); // of a newer daemon
        };
        let item = dtype_bytes(dtype);
        let dims = u32_at(row, layout.dims);
        if name.is_empty() || self.field(&name).is_some() || dims > layout.dims_max {
            return Err(format!("the ring's field {name:?} has no valid name or shape"));
        }
        let edge = |d: usize| u32_at(row, layout.dims + 4 + 4 * d);
        let edges: Vec<u32> = (0..dims as usize).map(edge).collect();
        let (stride, offset) = (u64_at(row, layout.stride), u64_at(row, layout.stride + 8));
        let (ragged, sized) = (kind == RAGGED, kind == SIZED);
        let least = |edge: &u32| if sized { (*edge).max(1) } else { *edge };
        let size = edges.iter().try_fold(item, |size, edge| size.checked_mul(least(edge).into()));
        let (unit, fits) = if ragged {
            (item.max(8), dims > 0 && stride >= ragged_at(edges.len()))
        } else if sized {
            (item, is_sized(&edges) && size.is_some_and(|size| size <= stride))
        } else {
            (item, size == Some(stride))
        };
        let end = stride.checked_mul(self.slots).and_then(|all| all.checked_add(offset));
        let inside = end.is_some_and(|end| end <= self.memory.size as u64);
        if !fits || offset % unit != 0 || stride % unit != 0 || offset < begin || !inside {
            return Err(format!("the ring's field {name:?} is outside of it"));
        }
        self.fields.push(Field {
            name,
            dtype,
            shape: edges.into_iter().map(|edge| edge as usize).collect(),
            bytes: stride as usize,
            ragged,
            sized,
            item,
            offset: offset as usize,
        });
        Ok(())
    }

    /// The bytes of the sample in a slot, and its shape; None if the shape does not fit.
    pub fn item(&self, field: &Field, slot: u64) -> Option<(&[u8], Vec<usize>)> {
        let bytes = self.slots_of(field, Run { first: slot, count: 1 });
        if !field.ragged {
            return Some((bytes, field.shape.clone()));
        }
        let shape: Vec<u64> = (0..field.shape.len()).map(|d| u64_at(bytes, 8 * d)).collect();
        let known = |(known, edge): (&usize, &u64)| *known == 0 || *known as u64 == *edge;
        let size = shape.iter().try_fold(field.item, |size, edge| size.checked_mul(*edge))?;
        let numbers = &bytes[ragged_at(shape.len()) as usize..];
        if size > numbers.len() as u64 || !field.shape.iter().zip(&shape).all(known) {
            return None;
        }
        let shape = shape.into_iter().map(|edge| edge as usize).collect();
        Some((&numbers[..size as usize], shape))
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Have both the same dataset, pipeline and fields? Slots and offsets may differ.
    pub fn like(&self, other: &Ring) -> bool {
        let same = |(a, b): (&Field, &Field)| {
            (&a.name, &a.dtype, &a.shape, a.ragged) == (&b.name, &b.dtype, &b.shape, b.ragged)
        };
        self.identity == other.identity
            && self.fields.len() == other.fields.len()
            && self.fields.iter().zip(&other.fields).all(same)
    }

    /// Are these runs inside of the ring, with `count` samples?
    pub fn has(&self, runs: &[Run], count: u64) -> bool {
        runs.iter().all(|run| run.first + run.count <= self.slots)
            && runs.iter().map(|run| run.count).sum::<u64>() == count
    }

    pub fn sized(&self) -> bool {
        self.fields.iter().any(|field| field.sized)
    }

    /// Is the one run of a batch of a size of its own inside of each field?
    pub fn has_size(&self, runs: &[Run], size: Size) -> bool {
        let whole = matches!(runs, [run] if size.origin <= run.first);
        let some = size.height > 0 && size.width > 0;
        whole && some && self.fields.iter().all(|field| field.fits(size))
    }

    pub fn slots_of(&self, field: &Field, run: Run) -> &[u8] {
        let at = field.offset + run.first as usize * field.bytes;
        self.bytes(at, run.count as usize * field.bytes)
    }

    /// The same as numbers; None if the field has others.
    pub fn array<T: Element>(&self, field: &Field, run: Run) -> Option<&[T]> {
        if !T::holds(field.dtype) || field.ragged {
            return None;
        }
        // SAFETY: all bit patterns are values of T.
        let (before, numbers, after) = unsafe { self.slots_of(field, run).align_to::<T>() };
        (before.is_empty() && after.is_empty()).then_some(numbers)
    }
}
