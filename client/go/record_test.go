// SPDX-License-Identifier: MIT

package stoker

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordOf the parts behind each other, and why there is none.
func recordOf(record Record, arrays string) ([]byte, error) {
	declared, err := declaredArrays(arrays)
	if err != nil {
		return nil, err
	}
	parts, err := record.parts(declared)
	return bytes.Join(parts, nil), err
}

func TestRecords(t *testing.T) {
	label := "\x07\x00\x00\x00\x00\x00\x00\x00"
	grey := image.NewGray(image.Rect(0, 0, 4, 3))
	for i := range grey.Pix {
		grey.Pix[i] = byte('a' + i)
	}
	red := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.RGBA{255, 1, 2, 255}})
	for _, c := range []struct {
		record         Record
		arrays, wanted string
	}{
		{File{7, []byte("file")}, "", label + "file"},
		{Picture{7, grey}, "", label + "P5\n4 3\n255\nabcdefghijkl"},
		{Picture{7, grey.SubImage(image.Rect(1, 1, 3, 3))}, "", label + "P5\n2 2\n255\nfgjk"},
		{Picture{7, red}, "", label + "P6\n1 1\n255\n\xff\x01\x02"},
		{Picture{7, &image.NRGBA{Pix: []byte("rgb_"), Stride: 4, Rect: image.Rect(5, 5, 6, 6)}}, "",
			label + "P6\n1 1\n255\nrgb"},
		{Arrays{ArrayOf([]int64{7}), ArrayOf([]uint8{1, 2}, 2)}, "a:int64: b:bool:2", label + "\x01\x02"},
		{Arrays{ArrayOf([]uint16{258}, 1, 1)}, "a:float16:?x1@64",
			"\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x01"},
		{Arrays{TextOf("seven..")}, "a:text:?@64", label + "seven.."},
		{Arrays{ArrayOf([]float32{}, 0)}, "a:float32:?@64", strings.Repeat("\x00", 8)},
	} {
		if got, err := recordOf(c.record, c.arrays); err != nil || string(got) != c.wanted {
			t.Errorf("%v: %q, %v", c.record, got, err)
		}
	}
}

func TestRecordsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		record        Record
		arrays, words string
	}{
		{File{}, "a:int64:", "this is a File"},
		{Picture{}, "a:int64:", "this is a Picture"},
		{Picture{}, "", "no pixels"},
		{Arrays{}, "a:int64:", "0 arrays, and 1 are declared"},
		{Arrays{ArrayOf([]int64{1})}, "", "1 arrays, and 0 are declared"},
		{Arrays{ArrayOf([]int32{1})}, "a:int64:", "a is of int32, and declared as int64"},
		{Arrays{TextOf("")}, "a:uint8:?@8", "a is of text, and declared as uint8"},
		{Arrays{{}}, "a:uint8:", "declared as uint8"},
		{Arrays{ArrayOf([]int64{1, 2}, 2)}, "a:int64:3", "the shape 2, and is declared as 3"},
		{Arrays{ArrayOf([]int64{1, 2}, 2)}, "a:int64:?x2@64", "the shape 2, and is declared as ?x2"},
		{Arrays{ArrayOf([]int64{1, 2})}, "a:int64:", "has 2 numbers, which are not those of its shape"},
	} {
		if _, err := recordOf(c.record, c.arrays); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v: %v", c.record, err)
		}
	}
	for _, wrong := range []string{"a", "a:int64", "a:int65:", "a:int64:3x", "a:int64:-1", "a:b:c:d"} {
		if _, err := declaredArrays(wrong); !errors.Is(err, ErrOption) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestPanicIsAnError(t *testing.T) {
	p := production{ctx: context.Background(), producer: &Producer{Make: func(context.Context,
		Sample) (Record, error) {
		return nil, []error{}[len(os.Args)]
	}}}
	_, err := p.make(Sample{})
	for _, words := range []string{"panic: ", "index out of range", "record_test.go:"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Error(err)
		}
	}
	p.producer.Make = func(context.Context, Sample) (Record, error) { return nil, nil }
	if _, err := p.make(Sample{}); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Error(err)
	}
}

func TestRandFollowsFromTheSample(t *testing.T) {
	of := func(index, position uint64) *rand.Rand {
		return Sample{Index: index, Epoch: 2, Position: position, Seed: 4}.Rand()
	}
	one, again, other := of(1, 3), of(9, 3), of(1, 4)
	if first := one.Uint64(); first != again.Uint64() || first == other.Uint64() {
		t.Fatal("draws do not follow from seed, epoch and position")
	}
}

func TestPictureOfATray(t *testing.T) {
	tray := &tray{[]byte("..abcdefghijkl..")}
	picture, ok := tray.picture(2, 2, 2)
	if !ok || string(picture.Pix) != "abc\xffdef\xffghi\xffjkl\xff" {
		t.Fatal(picture)
	}
	picture.Pix[0] = 'z'
	if string(tray.memory) != "..abcdefghijkl.." {
		t.Error("it is not a copy")
	}
	const most = math.MaxUint64
	for _, outside := range [][3]uint64{{2, 0, 2}, {2, 2, 0}, {17, 1, 1}, {14, 1, 1}, {most, 1, 1},
		{0, 3, 2}, {0, 2, most}, {0, most, 2}, {0, 1 << 32, 1 << 32}} {
		if _, ok := tray.picture(outside[0], outside[1], outside[2]); ok {
			t.Error(outside)
		}
	}
}

func TestMapGivesAPicture(t *testing.T) {
	var given Record
	p := production{producer: &Producer{Map: Transform{"code": "one"}, Make: func(context.Context,
		Sample) (Record, error) {
		return given, nil
	}}}
	given = Picture{Label: 7, Image: image.NewGray(image.Rect(0, 0, 1, 1))}
	if parts, err := p.make(Sample{}); string(bytes.Join(parts, nil)) != "P5\n1 1\n255\n\x00" {
		t.Error(parts, err)
	}
	given = File{}
	if _, err := p.make(Sample{}); err == nil || !strings.Contains(err.Error(), "gives a Picture") {
		t.Error(err)
	}
}

func TestSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	t.Setenv("STOKER_SECRET", path)
	one, err := UserSecret()
	if err != nil || len(one) != secretBytes {
		t.Fatal(err)
	}
	if again, err := UserSecret(); err != nil || again != one {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := UserSecret(); err == nil || !strings.Contains(err.Error(), "only you can read") {
		t.Fatal(err)
	}
}
