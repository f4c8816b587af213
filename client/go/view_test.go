// SPDX-License-Identifier: MIT

package stoker

import (
	"errors"
	"net"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// batchOf four numbers, which alone holds its ring.
func batchOf(t *testing.T) *Batch {
	memory, err := unix.Mmap(-1, 0, ringPage, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	copy(memory, []byte{5, 6, 7, 8})
	fields := []Field{{Name: "image", DType: DTypeUint8, Bytes: 1, item: 1}}
	out := &Batch{Count: 4, runs: []run{{0, 4}}, fields: fields, held: new(atomic.Int64), conn: &conn{socket: &net.UnixConn{}},
		ring: &ring{memory: memory, slots: 4, fields: fields}}
	out.ring.users.Store(1)
	return out
}

// thrown is what a call panics with.
func thrown(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

func TestViewIsLookedAfter(t *testing.T) {
	batch := batchOf(t)
	view, err := ViewOf[uint8](batch, "image")
	if err != nil || view.Len() != 4 || view.At(2) != 7 {
		t.Fatal(err, view.Slice())
	}
	sum := 0
	for i, value := range view.All() {
		sum += i * int(value)
	}
	if sum != 44 {
		t.Fatal(sum)
	}
	batch.Release()
	for _, call := range []func(){func() { view.At(0) }, func() { view.Slice() }, func() { view.Len() }} {
		err, _ := thrown(call).(error)
		if !errors.Is(err, ErrReleased) || !strings.Contains(err.Error(), `"image"`) {
			t.Fatal(err)
		}
	}
}

func TestViewOfWhatIsNotThere(t *testing.T) {
	batch := batchOf(t)
	defer batch.Release()
	if _, err := ViewOf[uint8](batch, "depth"); !errors.Is(err, ErrOption) {
		t.Fatal(err)
	}
	if _, err := ViewOf[float32](batch, "image"); !errors.Is(err, ErrOption) {
		t.Fatal(err)
	}
}

func TestMemoryThatHasGone(t *testing.T) {
	batch := batchOf(t)
	values, err := Values[uint8](batch, "image")
	if err != nil {
		t.Fatal(err)
	}
	batch.Release()
	late := thrown(func() {
		guarded(func(*Batch, error) bool { return values[0] == 5 }, nil, nil)
	})
	if err, _ := late.(error); !errors.Is(err, ErrReleased) {
		t.Fatal(late)
	}
	if before := debug.SetPanicOnFault(false); before {
		t.Fatal("the loop changed what faults are for others")
	}
	if own := thrown(func() {
		guarded(func(*Batch, error) bool { panic("own") }, nil, nil)
	}); own != "own" {
		t.Fatal(own)
	}
}

func TestAddressesStayReserved(t *testing.T) {
	for range 2 * goneMost {
		batch := batchOf(t)
		if gone.has(addressOf(batch.ring.memory)) {
			t.Fatal("a new ring has the addresses of one that has gone")
		}
		batch.Release()
	}
	if len(gone.ranges) != goneMost {
		t.Fatal(len(gone.ranges))
	}
}
