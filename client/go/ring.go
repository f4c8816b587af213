// SPDX-License-Identifier: MIT

package stoker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A ring: one segment of shared memory, mapped read-only, and where the fields of its slots are.
// Its layout is proto/ring_layout.h. Knows no message.

const (
	ringMagic     = "stoker\r\n"
	ringVersion   = 1
	ringPage      = 4096
	ringFieldsMax = 16
	ringDimsMax   = 6
	ringRowsAt    = 128
	ringRowBytes  = 80
)

var dtypeBytes = map[string]uint64{
	"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4, "int64": 8,
}

// A Field is an array that every sample has, in C order and the byte order of the machine.
type Field struct {
	Name  string
	DType string // uint8, float16, bfloat16, float32 or int64
	Shape []int  // of one sample; empty: one number
	Bytes int    // of one sample
	at    uint64 // of slot 0
}

type ring struct {
	memory   []byte
	slots    uint64
	fields   []Field
	identity [32]byte     // hashes of dataset and pipeline
	users    atomic.Int64 // the reader, and batches that are held
}

// mapRing maps a descriptor of `size` bytes, which stays the caller's.
func mapRing(fd int, size, number uint64) (*ring, error) {
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil {
		return nil, err
	}
	if uint64(status.Size) != size || size < ringPage {
		return nil, fmt.Errorf("the ring has %d bytes, not %d as announced", status.Size, size)
	}
	memory, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("cannot map the ring of %d bytes: %w", size, err)
	}
	out := &ring{memory: memory}
	out.users.Store(1)
	// A copy, so that what was checked is what is used.
	if err := out.parse(bytes.Clone(memory[:ringPage]), number); err != nil {
		out.drop()
		return nil, err
	}
	return out, nil
}

// mapSealed maps what came as a descriptor. Without the seal it could shrink, and reading a pixel
// would be a SIGBUS.
func mapSealed(fd int, size, number uint64) (*ring, error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("the memory of the ring is not sealed: it could shrink")
	}
	return mapRing(fd, size, number)
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
	return mapRing(fd, size, number)
}

func (r *ring) parse(header []byte, number uint64) error {
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	if string(header[:8]) != ringMagic || u32(header[8:]) != ringVersion ||
		u32(header[12:]) != ringPage {
		return fmt.Errorf("the header of the ring is not of version %d", ringVersion)
	}
	if u64(header[16:]) != uint64(len(r.memory)) || u64(header[24:]) != number {
		return fmt.Errorf("the header is that of another ring")
	}
	r.slots = uint64(u32(header[32:]))
	rows := u32(header[36:])
	if r.slots == 0 || rows > ringFieldsMax {
		return fmt.Errorf("the header of the ring has invalid numbers")
	}
	copy(r.identity[:], header[40:72])
	for i := range rows {
		at := ringRowsAt + ringRowBytes*i
		if err := r.parseField(header[at : at+ringRowBytes]); err != nil {
			return err
		}
	}
	for _, name := range []string{"image", "label", "index"} {
		if r.field(name) == nil {
			return fmt.Errorf("the ring has no field %s of a known type", name)
		}
	}
	if index := r.field("index"); index.DType != "int64" || len(index.Shape) > 0 {
		return fmt.Errorf("the field index of the ring is not one int64")
	}
	return nil
}

func (r *ring) parseField(row []byte) error {
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	field := Field{Name: padded(row[:16]), DType: padded(row[16:32]), at: u64(row[72:])}
	item := dtypeBytes[field.DType]
	if item == 0 {
		return nil // of a newer daemon: left out
	}
	dims, stride := u32(row[32:]), u64(row[64:])
	if field.Name == "" || r.field(field.Name) != nil || dims > ringDimsMax {
		return fmt.Errorf("the ring's field %q has no valid name or shape", field.Name)
	}
	size, over := item, uint64(0)
	field.Shape = make([]int, dims)
	for d := range field.Shape {
		edge := u32(row[36+4*d:])
		field.Shape[d] = int(edge)
		var high uint64
		high, size = bits.Mul64(size, uint64(edge))
		over |= high
	}
	high, all := bits.Mul64(stride, r.slots)
	length := uint64(len(r.memory))
	if over != 0 || size != stride || field.at%item != 0 || field.at < ringPage ||
		field.at > length || high != 0 || all > length-field.at {
		return fmt.Errorf("the ring's field %q is outside of it", field.Name)
	}
	field.Bytes = int(stride)
	r.fields = append(r.fields, field)
	return nil
}

func padded(text []byte) string { return strings.TrimRight(string(text), "\x00") }

func (r *ring) field(name string) *Field {
	for i := range r.fields {
		if r.fields[i].Name == name {
			return &r.fields[i]
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
		if a.Name != b.Name || a.DType != b.DType || fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) {
			return false
		}
	}
	return true
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
		_ = unix.Munmap(r.memory)
	}
}
