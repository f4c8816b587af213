// SPDX-License-Identifier: MIT
//! A ring: one segment of shared memory, mapped read-only, and where the fields of its slots are
//! (proto/ring_layout.h). The only module with unsafe code. Knows no message.

use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{null_mut, NonNull};

use rustix::fs::{fcntl_get_seals, fstat, SealFlags};
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::message::Run;

const MAGIC: &[u8] = b"stoker\r\n";
const VERSION: u32 = 1;
const PAGE: usize = 4096;
const FIELDS_MAX: u32 = 16;
const DIMS_MAX: u32 = 6;
const ROWS_AT: usize = 128;
const ROW_BYTES: usize = 80;

/// An array that every sample has, in C order and the byte order of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// "image", "label", "index", or what the options ask for further.
    pub name: String,
    /// uint8, float16, bfloat16, float32 or int64.
    pub dtype: String,
    /// Of one sample; empty: one number.
    pub shape: Vec<usize>,
    /// Of one sample.
    pub bytes: usize,
    offset: usize,
}

/// A number of an array. Float16 and bfloat16 come as the bits of u16.
pub trait Element: sealed::Sealed + Copy + 'static {}

mod sealed {
    /// All bit patterns are values of the type.
    pub trait Sealed {
        fn holds(dtype: &str) -> bool;
    }
}

macro_rules! element {
    ($($kind:ty: $($dtype:literal)|+;)*) => {$(
        impl Element for $kind {}
        impl sealed::Sealed for $kind {
            fn holds(dtype: &str) -> bool {
                matches!(dtype, $($dtype)|+)
            }
        }
    )*};
}
element! { u8: "uint8"; u16: "float16" | "bfloat16"; f32: "float32"; i64: "int64"; }

pub(crate) struct Ring {
    memory: NonNull<u8>,
    size: usize,
    slots: u64,
    pub fields: Vec<Field>,
    identity: [u8; 32],
}

// SAFETY: the memory is only read, and unmapped by the last owner.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and arrays borrow from an owner of the ring.
        let _ = unsafe { munmap(self.memory.as_ptr().cast::<c_void>(), self.size) };
    }
}

fn dtype_bytes(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "uint8" => 1,
        "float16" | "bfloat16" => 2,
        "float32" => 4,
        "int64" => 8,
        _ => return None,
    })
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

impl Ring {
    /// Map what came with ATTACHED or RING. Without the seal it could shrink, and reading a pixel
    /// would be a SIGBUS.
    pub fn map(fd: OwnedFd, size: u64, number: u64) -> Result<Ring, String> {
        let sealed =
            fcntl_get_seals(fd.as_fd()).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if !sealed {
            return Err("the memory of the ring is not sealed: it could shrink".into());
        }
        let there = fstat(fd.as_fd()).map_err(|error| error.to_string())?.st_size as u64;
        let bytes = usize::try_from(size).ok().filter(|bytes| *bytes >= PAGE && there == size);
        let Some(bytes) = bytes else {
            return Err(format!("the ring has {there} bytes, not {size} as announced"));
        };
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let memory =
            unsafe { mmap(null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, fd.as_fd(), 0) };
        let memory = memory.ok().and_then(|at| NonNull::new(at.cast::<u8>()));
        let memory = memory.ok_or_else(|| format!("cannot map the ring of {size} bytes"))?;
        let mut ring = Ring { memory, size: bytes, slots: 0, fields: vec![], identity: [0; 32] };
        // A copy, so that what was checked is what is used.
        let header = ring.bytes(0, PAGE).to_vec();
        ring.parse(&header, number)?;
        Ok(ring)
    }

    /// Bytes of the mapping. The daemon writes to slots only while nobody holds them.
    fn bytes(&self, at: usize, size: usize) -> &[u8] {
        assert!(at <= self.size && size <= self.size - at);
        // SAFETY: inside of the mapping, which is as old as the ring.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(at), size) }
    }

    fn parse(&mut self, header: &[u8], number: u64) -> Result<(), String> {
        let (version, page) = (u32_at(header, 8), u32_at(header, 12));
        if &header[..8] != MAGIC || version != VERSION || page as usize != PAGE {
            return Err(format!("the header of the ring is not of version {VERSION}"));
        }
        if u64_at(header, 16) != self.size as u64 || u64_at(header, 24) != number {
            return Err("the header is that of another ring".into());
        }
        self.slots = u32_at(header, 32).into();
        let rows = u32_at(header, 36);
        if self.slots == 0 || rows > FIELDS_MAX {
            return Err("the header of the ring has invalid numbers".into());
        }
        self.identity.copy_from_slice(&header[40..72]);
        for i in 0..rows as usize {
            let at = ROWS_AT + i * ROW_BYTES;
            self.parse_field(&header[at..at + ROW_BYTES])?;
        }
        for name in ["image", "label", "index"] {
            if self.field(name).is_none() {
                return Err(format!("the ring has no field {name} of a known type"));
            }
        }
        match self.field("index") {
            Some(index) if index.dtype == "int64" && index.shape.is_empty() => Ok(()),
            _ => Err("the field index of the ring is not one int64".into()),
        }
    }

    fn parse_field(&mut self, row: &[u8]) -> Result<(), String> {
        let (name, dtype) = (padded(&row[..16]), padded(&row[16..32]));
        let Some(item) = dtype_bytes(&dtype) else { return Ok(()) }; // of a newer daemon
        let dims = u32_at(row, 32);
        if name.is_empty() || self.field(&name).is_some() || dims > DIMS_MAX {
            return Err(format!("the ring's field {name:?} has no valid name or shape"));
        }
        let edges: Vec<u32> = (0..dims as usize).map(|d| u32_at(row, 36 + 4 * d)).collect();
        let (stride, offset) = (u64_at(row, 64), u64_at(row, 72));
        let size = edges.iter().try_fold(item, |size, edge| size.checked_mul((*edge).into()));
        let end = stride.checked_mul(self.slots).and_then(|all| all.checked_add(offset));
        let inside = end.is_some_and(|end| end <= self.size as u64);
        if size != Some(stride) || offset % item != 0 || offset < PAGE as u64 || !inside {
            return Err(format!("the ring's field {name:?} is outside of it"));
        }
        self.fields.push(Field {
            name,
            dtype,
            shape: edges.into_iter().map(|edge| edge as usize).collect(),
            bytes: stride as usize,
            offset: offset as usize,
        });
        Ok(())
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Have both the same dataset, pipeline and fields? Slots and offsets may differ.
    pub fn like(&self, other: &Ring) -> bool {
        let same =
            |(a, b): (&Field, &Field)| a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
        self.identity == other.identity
            && self.fields.len() == other.fields.len()
            && self.fields.iter().zip(&other.fields).all(same)
    }

    /// Are these runs inside of the ring, with `count` samples?
    pub fn has(&self, runs: &[Run], count: u64) -> bool {
        runs.iter().all(|run| run.first + run.count <= self.slots)
            && runs.iter().map(|run| run.count).sum::<u64>() == count
    }

    pub fn slots_of(&self, field: &Field, run: Run) -> &[u8] {
        let at = field.offset + run.first as usize * field.bytes;
        self.bytes(at, run.count as usize * field.bytes)
    }

    /// The same as numbers; None if the field has others.
    pub fn array<T: Element>(&self, field: &Field, run: Run) -> Option<&[T]> {
        if !T::holds(&field.dtype) {
            return None;
        }
        // SAFETY: all bit patterns are values of T.
        let (before, numbers, after) = unsafe { self.slots_of(field, run).align_to::<T>() };
        (before.is_empty() && after.is_empty()).then_some(numbers)
    }
}
