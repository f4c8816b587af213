// SPDX-License-Identifier: MIT

package stoker

import (
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Views that are used too late: what a program is told, in the stead of other data or a crash.

// A View is an array of a batch, as Values gives it, that knows its batch: each access after the
// Release of that panics in words. Values are quicker in loops over numbers, and are not looked after.
type View[T Element] struct {
	batch  *Batch
	name   string
	values []T
}

// ViewOf a field of a batch, in C order: the arrays of all samples, one after the other.
func ViewOf[T Element](b *Batch, name string) (View[T], error) {
	values, err := Values[T](b, name)
	return View[T]{b, name, values}, err
}

// Slice of all numbers. It may be used as long as the batch is not released, as that of Values.
func (v View[T]) Slice() []T {
	if v.batch == nil || v.batch.released.Load() {
		panic(fmt.Errorf("%w: its field %q is used after that; copy what is kept, or call Keep",
			ErrReleased, v.name))
	}
	return v.values
}

// Len is how many numbers it has.
func (v View[T]) Len() int { return len(v.Slice()) }

// At gives one number.
func (v View[T]) At(i int) T { return v.Slice()[i] }

// All numbers, with their places.
func (v View[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for i := range v.Slice() {
			if !yield(i, v.At(i)) {
				return
			}
		}
	}
}

// guarded runs the body of a loop. Memory that has gone makes a panic in words there.
func guarded(yield func(*Batch, error) bool, batch *Batch, err error) bool {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		thrown := recover()
		if fault, ok := thrown.(interface{ Addr() uintptr }); ok && gone.has(fault.Addr()) {
			thrown = fmt.Errorf("%w, and its memory is gone: copy what is kept for longer", ErrReleased)
		}
		if thrown != nil {
			panic(thrown)
		}
	}()
	return yield(batch, err)
}

// goneMost is how many address ranges stay reserved.
const goneMost = 64

// gone has the addresses of the rings that were unmapped last. Nothing else is mapped there, so that
// who reads what has gone reads no other data.
var gone vanished

type vanished struct {
	mutex  sync.Mutex
	ranges [][]byte
}

func (v *vanished) unmap(memory []byte) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	at := unsafe.Pointer(unsafe.SliceData(memory))
	_, err := unix.MmapPtr(-1, 0, at, uintptr(len(memory)), unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		_ = unix.Munmap(memory)
		return
	}
	v.ranges = append(v.ranges, memory)
	if len(v.ranges) > goneMost {
		_ = unix.Munmap(v.ranges[0])
		v.ranges = v.ranges[1:]
	}
}

func (v *vanished) has(address uintptr) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for _, memory := range v.ranges {
		if begin := addressOf(memory); address >= begin &&
			address-begin < uintptr(len(memory)) {
			return true
		}
	}
	return false
}

func addressOf(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }
