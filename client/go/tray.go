// SPDX-License-Identifier: MIT

package stoker

import "golang.org/x/sys/unix"

// A tray is memory that a producer writes records into, shared with the daemon.
type tray struct{ memory []byte }

// mapTray maps a descriptor, which stays the caller's.
func mapTray(fd int, size uint64) (*tray, error) {
	memory, err := mapSealed(fd, size, "tray", unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	return &tray{memory}, nil
}

func (t *tray) drop() {
	if t != nil {
		_ = unix.Munmap(t.memory)
	}
}
