// SPDX-License-Identifier: MIT

package stoker

import (
	"image"

	"golang.org/x/sys/unix"
)

// A tray is memory that a producer writes records into, shared with the daemon. That of a Map has
// pictures in front of them.
type tray struct{ memory []byte }

// mapTray maps a descriptor, which stays the caller's.
func mapTray(fd int, size uint64) (*tray, error) {
	memory, err := mapSealed(fd, size, "tray", unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	return &tray{memory}, nil
}

// picture copies rows of RGB bytes; false: they are not inside of the tray.
func (t *tray) picture(at, height, width uint64) (*image.NRGBA, bool) {
	length := uint64(len(t.memory))
	if at > length || width == 0 || height == 0 || width > (length-at)/3 ||
		height > (length-at)/3/width {
		return nil, false
	}
	out := image.NewNRGBA(image.Rect(0, 0, int(width), int(height)))
	from := t.memory[at : at+3*width*height]
	for i := 0; len(from) > 0; i += 4 {
		copy(out.Pix[i:], from[:3])
		out.Pix[i+3] = 255
		from = from[3:]
	}
	return out, true
}

func (t *tray) drop() {
	if t != nil {
		_ = unix.Munmap(t.memory)
	}
}
