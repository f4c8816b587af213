// SPDX-License-Identifier: MIT

package stoker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A ring: one segment of shared memory, mapped read-only, and where the fields of its slots are.
// Its layout is proto/ring_layout.h. Knows no message.

const (
	ringMagic     = "stoker\r\n"
	ringVersion   = 2 // the newest that is read
	ringPage      = 4096
	ringHeaderMax = 1 << 20
	ringRowsAt    = 128
	ringPlain     = 0
	ringRagged    = 1
	ringSized     = 2
)

// A rowLayout says where the parts of a row are, by the version of the header.
type rowLayout struct{ name, dtype, kind, dims, shape, dimsMax, stride, bytes uint32 }

var (
	narrowRow = rowLayout{name: 16, dtype: 16, dims: 32, shape: 36, dimsMax: 6, stride: 64, bytes: 80}
	wideRow   = rowLayout{name: 64, dtype: 64, kind: 80, dims: 84, shape: 88, dimsMax: 32, stride: 216,
		bytes: 256}
)

// A Field is an array that every sample has, in C order and the byte order of the machine.
type Field struct {
	Name  string
	DType DType // of its numbers; a text is UTF-8
	Shape []int // of one sample; empty: one number; 0: any if ragged, else as in Batch.Fields
	Bytes int   // of one sample, or the largest; of a ragged one, to the next one
	// Ragged: each sample has a shape of its own, see Batch.Item.
	Ragged bool
	sized  bool   // two zeros of its shape are height and width of a batch
	item   uint64 // bytes of a number
	at     uint64 // of slot 0
}

// A batchSize is the height and width that a batch has for itself, and the slot from which on its
// samples lie one behind the other.
type batchSize struct{ height, width, origin uint64 }

type ring struct {
	memory   []byte
	slots    uint64
	fields   []Field
	identity [32]byte     // hashes of dataset and pipeline
	users    atomic.Int64 // the reader, and batches that are held
}

// mapShared maps a descriptor of `size` bytes, which stays the caller's. `what` it is, for people.
func mapShared(fd int, size uint64, what string, protection int) ([]byte, error) {
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil {
		return nil, err
	}
	if uint64(status.Size) != size || size < ringPage {
		return nil, fmt.Errorf("the %s has %d bytes, not %d as announced", what, status.Size, size)
	}
	memory, err := unix.Mmap(fd, 0, int(size), protection, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("cannot map the %s of %d bytes: %w", what, size, err)
	}
	return memory, nil
}

// mapSealed maps what came as a descriptor. Without the seal it could shrink, and reading a pixel
// would be a SIGBUS.
func mapSealed(fd int, size uint64, what string, protection int) ([]byte, error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("the memory of the %s is not sealed: it could shrink", what)
	}
	return mapShared(fd, size, what, protection)
}

// ringIn memory that was mapped, which it owns.
func ringIn(memory []byte, number uint64) (*ring, error) {
	out := &ring{memory: memory}
	out.users.Store(1)
	if err := out.parse(bytes.Clone(memory[:headerBytes(memory)]), number); err != nil {
		out.drop()
		return nil, err
	}
	return out, nil
}

// headerBytes says how much of a ring is its header, a page at least. A copy of it is parsed, so
// that what was checked is what is used.
func headerBytes(memory []byte) int {
	said := int(binary.NativeEndian.Uint32(memory[12:]))
	return max(ringPage, min(said, ringHeaderMax, len(memory)))
}

// mapDescriptor maps a ring that came as a descriptor.
func mapDescriptor(fd int, size, number uint64) (*ring, error) {
	memory, err := mapSealed(fd, size, "ring", unix.PROT_READ)
	if err != nil {
		return nil, err
	}
	return ringIn(memory, number)
}

// mapPath maps an object of the daemon's user.
func mapPath(path string, size, number uint64, uid uint32) (*ring, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd)
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil {
		return nil, err
	}
	if status.Mode&unix.S_IFMT != unix.S_IFREG || status.Uid != uid {
		return nil, fmt.Errorf("%s is not a ring of the daemon", path)
	}
	memory, err := mapShared(fd, size, "ring", unix.PROT_READ)
	if err != nil {
		return nil, err
	}
	return ringIn(memory, number)
}

func (r *ring) parse(header []byte, number uint64) error {
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	version, size := u32(header[8:]), u32(header[12:])
	if string(header[:8]) != ringMagic || version < 1 || version > ringVersion || size < ringPage {
		return fmt.Errorf("the header of the ring is not of version 1 or %d", ringVersion)
	}
	if u64(header[16:]) != uint64(len(r.memory)) || u64(header[24:]) != number {
		return fmt.Errorf("the header is that of another ring")
	}
	r.slots = uint64(u32(header[32:]))
	rows, layout, step := u32(header[36:]), &narrowRow, narrowRow.bytes
	fits := size == ringPage && rows <= 16
	if version > 1 {
		layout, step = &wideRow, u32(header[72:])
		fits = int(size) <= len(header) && size%ringPage == 0 && step >= wideRow.bytes &&
			uint64(rows)*uint64(step) <= uint64(size-ringRowsAt)
	}
	if r.slots == 0 || !fits {
		return fmt.Errorf("the header of the ring has invalid numbers")
	}
	copy(r.identity[:], header[40:72])
	for i := range rows {
		at := ringRowsAt + step*i
		if err := r.parseField(header[at:at+layout.bytes], layout, uint64(size)); err != nil {
			return err
		}
	}
	for _, name := range []string{"image", "label", "index"} {
		if r.field(name) == nil {
			return fmt.Errorf("the ring has no field %s of a known type", name)
		}
	}
	index := r.field("index")
	if index.DType != DTypeInt64 || len(index.Shape) > 0 {
		return fmt.Errorf("the field index of the ring is not one int64")
	}
	return nil
}

func (r *ring) parseField(row []byte, layout *rowLayout, begin uint64) error {
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	field := Field{
		Name: padded(row[:layout.name]), DType: DType(padded(row[layout.dtype : layout.dtype+16])),
		at: u64(row[layout.stride+8:]),
	}
	kind := uint32(ringPlain)
	if layout.kind != 0 {
		kind = u32(row[layout.kind:])
	}
	field.item = dtypeBytes[field.DType]
	if field.item == 0 || kind > ringSized {
		return nil // of a newer daemon: left out
	}
	dims, stride := u32(row[layout.dims:]), u64(row[layout.stride:])
	if field.Name == "" || r.field(field.Name) != nil || dims > layout.dimsMax {
		return fmt.Errorf("the ring's field %q has no valid name or shape", field.Name)
	}
	field.Ragged, field.sized = kind == ringRagged, kind == ringSized
	size, over := field.item, uint64(0)
	field.Shape = make([]int, dims)
	for d := range field.Shape {
		edge := u32(row[layout.shape+4*uint32(d):])
		field.Shape[d] = int(edge)
		var high uint64
		if field.sized {
			edge = max(edge, 1)
		}
		high, size = bits.Mul64(size, uint64(edge))
		over |= high
	}
	unit, fits := field.item, over == 0 && size == stride
	if field.Ragged {
		unit, fits = max(8, field.item), dims > 0 && stride >= raggedAt(field.Shape)
	} else if field.sized {
		fits = over == 0 && isSized(field.Shape) && stride >= size
	}
	high, all := bits.Mul64(stride, r.slots)
	length := uint64(len(r.memory))
	if !fits || field.at%unit != 0 || stride%unit != 0 || field.at < begin ||
		field.at > length || high != 0 || all > length-field.at {
		return fmt.Errorf("the ring's field %q is outside of it", field.Name)
	}
	field.Bytes = int(stride)
	r.fields = append(r.fields, field)
	return nil
}

// isSized: has it two zeros, side by side, for a height and a width?
func isSized(shape []int) bool {
	first, zeros := slices.Index(shape, 0), 0
	for _, edge := range shape {
		if edge == 0 {
			zeros++
		}
	}
	return zeros == 2 && shape[first+1] == 0
}

// raggedAt says where the numbers of a ragged sample begin in its slot.
func raggedAt(shape []int) uint64 { return uint64(8*len(shape)+15) / 16 * 16 }

// item gives the sample in a slot, and its shape.
func (r *ring) item(field *Field, slot uint64) ([]byte, []int, error) {
	bytes := r.bytes(field, run{slot, 1})
	if !field.Ragged {
		return bytes, field.Shape, nil
	}
	at := raggedAt(field.Shape)
	size, shape := field.item, make([]int, len(field.Shape))
	for d, known := range field.Shape {
		edge := binary.NativeEndian.Uint64(bytes[8*d:])
		high, all := bits.Mul64(size, edge)
		if high != 0 || edge > 1<<62 || (known != 0 && edge != uint64(known)) {
			return nil, nil, broken("a sample of the field %q has a shape that does not fit", field.Name)
		}
		size, shape[d] = all, int(edge)
	}
	if size > uint64(len(bytes))-at {
		return nil, nil, broken("a sample of the field %q has a shape that does not fit", field.Name)
	}
	return bytes[at : at+size : at+size], shape, nil
}

func padded(text []byte) string { return strings.TrimRight(string(text), "\x00") }

func (r *ring) field(name string) *Field { return fieldOf(r.fields, name) }

func fieldOf(fields []Field, name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// like: have both the same dataset, pipeline and fields? Slots and offsets may differ.
func (r *ring) like(other *ring) bool {
	if r.identity != other.identity || len(r.fields) != len(other.fields) {
		return false
	}
	for i := range r.fields {
		a, b := &r.fields[i], &other.fields[i]
		if a.Name != b.Name || a.DType != b.DType || a.Ragged != b.Ragged || fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) {
			return false
		}
	}
	return true
}

func (r *ring) sized() bool {
	return slices.ContainsFunc(r.fields, func(f Field) bool { return f.sized })
}

// hasSize: is the one run of a batch of a size of its own inside of each field?
func (r *ring) hasSize(runs []run, size batchSize) bool {
	if len(runs) != 1 || size.height == 0 || size.width == 0 || size.origin > runs[0].first {
		return false
	}
	return !slices.ContainsFunc(r.fields, func(f Field) bool {
		return f.sized && size.height*size.width > uint64(f.Bytes)/f.least()
	})
}

// least bytes of a sample, of one pixel, which a slot has room for.
func (f Field) least() uint64 {
	size := f.item
	for _, edge := range f.Shape {
		size *= uint64(max(edge, 1))
	}
	return size
}

// of gives the field as a batch has it.
func (f Field) of(size batchSize) Field {
	if !f.sized {
		return f
	}
	own, edges := f, []int{int(size.height), int(size.width)}
	own.Shape = slices.Clone(f.Shape)
	for d, edge := range own.Shape {
		if edge == 0 {
			own.Shape[d], edges = edges[0], edges[1:]
		}
	}
	own.Bytes = int(f.least() * size.height * size.width)
	own.at += size.origin * uint64(f.Bytes-own.Bytes)
	return own
}

// has: are these runs inside of the ring, with `count` samples?
func (r *ring) has(runs []run, count uint64) bool {
	var sum uint64
	for _, run := range runs {
		if run.first+run.count > r.slots {
			return false
		}
		sum += run.count
	}
	return sum == count
}

func (r *ring) bytes(field *Field, run run) []byte {
	size := uint64(field.Bytes)
	from := field.at + run.first*size
	return r.memory[from : from+run.count*size : from+run.count*size]
}

func (r *ring) use() *ring {
	r.users.Add(1)
	return r
}

// drop unmaps it with the last user.
func (r *ring) drop() {
	if r != nil && r.users.Add(-1) == 0 {
		gone.unmap(r.memory)
	}
}
