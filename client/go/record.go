// SPDX-License-Identifier: MIT

package stoker

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	"strconv"
	"strings"
	"unsafe"
)

// Records: what a sample is on its way to the daemon. Knows no tray and no message.

// A Record is what a producer's Make gives for a sample: a File, a Picture or Arrays.
type Record interface {
	// parts are the bytes of the record, one behind the other. It is checked against the arrays
	// that the dataset or the Map declares; nil: there are none.
	parts(declared []declaredArray) ([][]byte, error)
}

// A File is a sample as the bytes of a file of any format that the daemon decodes, which keeps and
// transforms the picture.
type File struct {
	Label int64
	Bytes []byte
}

// A Picture is a sample that the daemon transforms: grey if it is an [image.Gray], else RGB of 8 bits
// a channel; transparency is left out. The Label of a Map's is not used: it is the dataset's.
type Picture struct {
	Label int64
	Image image.Image
}

// Arrays are a finished sample, in the order of Dataset.Arrays.
type Arrays []Array

// An Array of a finished sample, made by ArrayOf or TextOf. Its numbers are not copied.
type Array struct {
	shape []int
	bytes []byte
	count int // of its numbers
	holds func(DType) bool
	kind  string // for people
}

// ArrayOf numbers in C order; without a shape it is one number. As in Values, float16 and bfloat16
// are the bits of uint16, bool is uint8.
func ArrayOf[T Element](values []T, shape ...int) Array {
	out := Array{shape: shape, count: len(values), holds: holds[T], kind: fmt.Sprintf("%T", *new(T))}
	if len(values) > 0 {
		size := len(values) * int(unsafe.Sizeof(values[0]))
		out.bytes = unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), size)
	}
	return out
}

// TextOf a sample that is told in words; the array is of the type text, and ragged.
func TextOf(text string) Array {
	return Array{shape: []int{len(text)}, count: len(text), bytes: []byte(text), kind: "text",
		holds: func(dtype DType) bool { return dtype == DTypeText || dtype == DTypeBytes }}
}

func (f File) parts(declared []declaredArray) ([][]byte, error) {
	if declared != nil {
		return nil, fmt.Errorf("arrays are declared, and this is a File: return Arrays")
	}
	return [][]byte{labelOf(f.Label), f.Bytes}, nil
}

func (p Picture) parts(declared []declaredArray) ([][]byte, error) {
	switch {
	case declared != nil:
		return nil, fmt.Errorf("arrays are declared, and this is a Picture: return Arrays")
	case p.Image == nil || p.Image.Bounds().Empty():
		return nil, fmt.Errorf("the Picture has no pixels")
	}
	size, magic, pixels := p.Image.Bounds().Size(), "P6", []byte(nil)
	if grey, ok := p.Image.(*image.Gray); ok {
		magic, pixels = "P5", rows(grey.Pix[grey.PixOffset(grey.Rect.Min.X, grey.Rect.Min.Y):],
			size, grey.Stride)
	} else {
		pixels = rgb(p.Image)
	}
	head := fmt.Sprintf("%s\n%d %d\n255\n", magic, size.X, size.Y)
	return [][]byte{labelOf(p.Label), []byte(head), pixels}, nil
}

func labelOf(label int64) []byte {
	return binary.NativeEndian.AppendUint64(nil, uint64(label))
}

// rows of bytes, without what is between them.
func rows(pixels []byte, size image.Point, stride int) []byte {
	if stride == size.X {
		return pixels[:size.X*size.Y]
	}
	out := make([]byte, 0, size.X*size.Y)
	for y := range size.Y {
		out = append(out, pixels[y*stride:y*stride+size.X]...)
	}
	return out
}

func rgb(picture image.Image) []byte {
	bounds := picture.Bounds()
	pixels, stride := []byte(nil), 0
	switch p := picture.(type) {
	case *image.NRGBA:
		pixels, stride = p.Pix[p.PixOffset(bounds.Min.X, bounds.Min.Y):], p.Stride
	case *image.RGBA:
		pixels, stride = p.Pix[p.PixOffset(bounds.Min.X, bounds.Min.Y):], p.Stride
	default:
		drawn := image.NewRGBA(bounds)
		draw.Draw(drawn, bounds, picture, bounds.Min, draw.Src)
		pixels, stride = drawn.Pix, drawn.Stride
	}
	out := make([]byte, 0, 3*bounds.Dx()*bounds.Dy())
	for y := range bounds.Dy() {
		row := pixels[y*stride : y*stride+4*bounds.Dx()]
		for x := 0; x < len(row); x += 4 {
			out = append(out, row[x], row[x+1], row[x+2])
		}
	}
	return out
}

func (a Arrays) parts(declared []declaredArray) ([][]byte, error) {
	if len(a) != len(declared) {
		return nil, fmt.Errorf("the sample has %d arrays, and %d are declared: Dataset.Arrays, or those of the Map",
			len(a), len(declared))
	}
	out := make([][]byte, 0, len(a))
	for i := range a {
		if err := declared[i].check(&a[i]); err != nil {
			return nil, err
		}
		if declared[i].ragged {
			var shape []byte
			for _, edge := range a[i].shape {
				shape = binary.NativeEndian.AppendUint64(shape, uint64(edge))
			}
			out = append(out, shape)
		}
		out = append(out, a[i].bytes)
	}
	return out, nil
}

// A declaredArray is one of Dataset.Arrays.
type declaredArray struct {
	name   string
	dtype  DType
	shape  []int // anySize: samples have sizes of their own
	ragged bool
}

const anySize = -1

// declaredArrays reads NAME:DTYPE:SHAPE of each. nil: there are none.
func declaredArrays(text string) ([]declaredArray, error) {
	var out []declaredArray
	for _, word := range strings.Fields(text) {
		one, err := declaredArrayOf(word)
		if err != nil {
			return nil, fmt.Errorf("%w: Dataset.Arrays: %q is not NAME:DTYPE:SHAPE, such as "+
				"pixels:float32:3x224x224", ErrOption, word)
		}
		out = append(out, one)
	}
	return out, nil
}

func declaredArrayOf(word string) (declaredArray, error) {
	parts := strings.Split(word, ":")
	if len(parts) != 3 || dtypeBytes[DType(parts[1])] == 0 {
		return declaredArray{}, strconv.ErrSyntax
	}
	out := declaredArray{name: parts[0], dtype: DType(parts[1])}
	edges, _, _ := strings.Cut(parts[2], "@")
	if edges == "" {
		return out, nil
	}
	for _, edge := range strings.Split(edges, "x") {
		size, err := strconv.ParseUint(edge, 10, 32)
		if edge == "?" {
			out.shape, out.ragged = append(out.shape, anySize), true
		} else if err != nil {
			return out, err
		} else {
			out.shape = append(out.shape, int(size))
		}
	}
	return out, nil
}

func (d *declaredArray) check(array *Array) error {
	if array.holds == nil || !array.holds(d.dtype) {
		return fmt.Errorf("the array %s is of %s, and declared as %s", d.name, array.kind, d.dtype)
	}
	fits, count := len(array.shape) == len(d.shape), 1
	for i, edge := range array.shape {
		fits = fits && edge >= 0 && (d.shape[i] == anySize || d.shape[i] == edge)
		count *= edge
	}
	if !fits {
		return fmt.Errorf("the array %s has the shape %s, and is declared as %s", d.name,
			words(array.shape), words(d.shape))
	}
	if count != array.count {
		return fmt.Errorf("the array %s has %d numbers, which are not those of its shape %s", d.name,
			array.count, words(array.shape))
	}
	return nil
}

// words for a shape, as in Dataset.Arrays.
func words(shape []int) string {
	if len(shape) == 0 {
		return "of one number"
	}
	out := make([]string, len(shape))
	for i, edge := range shape {
		out[i] = strconv.Itoa(edge)
		if edge == anySize {
			out[i] = "?"
		}
	}
	return strings.Join(out, "x")
}
