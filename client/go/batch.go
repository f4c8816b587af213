// SPDX-License-Identifier: MIT

package stoker

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// A Batch holds the samples of consecutive positions of an epoch. Its arrays are in memory that is
// shared with the daemon: they are read-only (a write ends the process), and valid until Release.
// Any goroutine.
type Batch struct {
	Epoch       uint64
	Position    uint64 // of its first sample, over all ranks
	Count       int    // of samples
	Padded      int    // samples at its end that repeat the start of the epoch
	Wrapped     int    // samples at its end that are the first of the next epoch
	Substituted int    // samples that replace bad ones
	Next        Place  // where to resume once this batch is used
	ReadyNS     uint64 // CLOCK_MONOTONIC when a worker had made its last sample; 0: not known

	lease    uint64
	runs     []run
	fields   []Field
	ring     *ring
	conn     *conn
	held     *atomic.Int64 // of the attachment
	kept     bool
	released atomic.Bool
}

func newBatch(m *message, ring *ring, c *conn, held *atomic.Int64) *Batch {
	held.Add(1)
	c.leases.Store(m.uint("lease"), nil)
	fields := ring.fields
	if ring.sized() {
		fields = make([]Field, len(ring.fields))
		for i, field := range ring.fields {
			fields[i] = field.of(m.size())
		}
	}
	return &Batch{
		Epoch: m.uint("epoch"), Position: m.uint("position"), Count: int(m.uint("count")),
		Padded: int(m.uint("padded")), Wrapped: int(m.uint("wrapped")),
		Substituted: int(m.uint("substituted")), Next: m.place(), ReadyNS: m.uint("ready_ns"),
		lease: m.uint("lease"), runs: m.fields["runs"].([]run), fields: fields, ring: ring.use(), conn: c,
		held: held,
	}
}

// Release gives the slots back to the daemon. The arrays must not be used after that. It may be
// called twice, and after the reader was closed.
func (b *Batch) Release() {
	if b.released.Swap(true) {
		return
	}
	b.held.Add(-1)
	b.conn.release(b.lease)
	b.ring.drop()
}

// Keep the batch beyond the body of a loop over Batches: Release is then the caller's to call. Less
// than Inflight batches (3) can be kept at a time. One that is kept while the ring comes round to it
// takes the memory of its whole ring along, some Inflight + 2 batches of the daemon's ring-memory,
// until its Release: copy what is kept for long. Without room for that, Next fails with ErrHeld.
func (b *Batch) Keep() { b.kept = true }

// Fields that the batch has. With Buckets their height and width are those of the batch.
func (b *Batch) Fields() []Field { return b.fields }

// Bytes of a field: one slice for each run of samples that are contiguous in memory, mostly one.
func (b *Batch) Bytes(name string) ([][]byte, error) {
	field, err := b.field(name)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(b.runs))
	for i, run := range b.runs {
		out[i] = b.ring.bytes(field, run)
	}
	return out, nil
}

func (b *Batch) field(name string) (*Field, error) {
	if b.released.Load() {
		return nil, ErrReleased
	}
	field := fieldOf(b.fields, name)
	if field == nil {
		return nil, fmt.Errorf("%w: the samples have no field %q", ErrOption, name)
	}
	return field, nil
}

// Item gives the bytes of a field of one sample, from 0 on, and its shape. Those of a ragged field
// have shapes of their own; a text is UTF-8. Not copied.
func (b *Batch) Item(name string, sample int) ([]byte, []int, error) {
	field, err := b.field(name)
	if err != nil {
		return nil, nil, err
	}
	at := uint64(sample)
	for _, run := range b.runs {
		if sample >= 0 && at < run.count {
			return b.ring.item(field, run.first+at)
		}
		at -= run.count
	}
	return nil, nil, fmt.Errorf("%w: the batch has no sample %d", ErrOption, sample)
}

// An Element of an array: float16 and bfloat16 come as the bits of uint16, bool as uint8.
type Element interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | float32 | int64 | uint64 | float64 |
		complex64 | complex128
}

// Values of a field in C order: the arrays of all samples, one after the other. They are not
// copied, unless the batch wraps round the end of its ring.
func Values[T Element](b *Batch, name string) ([]T, error) {
	field, err := b.field(name)
	if err != nil {
		return nil, err
	}
	if !holds[T](field.DType) || field.Ragged {
		return nil, fmt.Errorf("%w: the field %q is %s, not %T", ErrOption, name, field.DType, *new(T))
	}
	if len(b.runs) == 1 {
		return viewOf[T](b.ring.bytes(field, b.runs[0])), nil
	}
	var out []T
	for _, run := range b.runs {
		out = append(out, viewOf[T](b.ring.bytes(field, run))...)
	}
	return out, nil
}

func holds[T Element](dtype DType) bool {
	own := DType(fmt.Sprintf("%T", *new(T)))
	return dtype == own || own == DTypeUint8 && dtype == DTypeBool ||
		own == DTypeUint16 && (dtype == DTypeFloat16 || dtype == DTypeBfloat16)
}

// viewOf: fields begin at multiples of their items' size.
func viewOf[T Element](bytes []byte) []T {
	if len(bytes) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&bytes[0])), len(bytes)/int(unsafe.Sizeof(*new(T))))
}
