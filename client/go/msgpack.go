// SPDX-License-Identifier: MIT

package stoker

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
)

// The part of msgpack that the protocol uses. Texts are Go strings, whatever their bytes; integers
// are uint64, or int64 below zero.

// A pair of a map whose order is kept.
type pair struct {
	key   string
	value any
}

// An ordered map, for encoding.
type ordered []pair

func appendHead(out []byte, short byte, shortMax int, long16, long32 byte, n int) []byte {
	switch {
	case n <= shortMax:
		return append(out, short|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, long16), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(out, long32), uint32(n))
	}
}

func appendText(out []byte, text string) []byte {
	if n := len(text); n > 31 && n <= math.MaxUint8 {
		out = append(out, 0xd9, byte(n))
	} else {
		out = appendHead(out, 0xa0, 31, 0xda, 0xdb, n)
	}
	return append(out, text...)
}

func appendUint(out []byte, n uint64) []byte {
	switch {
	case n < 128:
		return append(out, byte(n))
	case n <= math.MaxUint8:
		return append(out, 0xcc, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, 0xcd), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(out, 0xcf), n)
	}
}

func appendInt(out []byte, n int64) []byte {
	switch {
	case n >= 0:
		return appendUint(out, uint64(n))
	case n >= -32:
		return append(out, byte(n))
	case n >= math.MinInt8:
		return append(out, 0xd0, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(out, 0xd1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(n))
	}
}

// appendValue encodes a value of treeOf(); maps without an order have their keys sorted, but `name`
// first.
func appendValue(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, 0xc0), nil
	case bool:
		if v {
			return append(out, 0xc3), nil
		}
		return append(out, 0xc2), nil
	case string:
		return appendText(out, v), nil
	case uint64:
		return appendUint(out, v), nil
	case int64:
		return appendInt(out, v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not finite", v)
		}
		return binary.BigEndian.AppendUint64(append(out, 0xcb), math.Float64bits(v)), nil
	case []any:
		out = appendHead(out, 0x90, 15, 0xdc, 0xdd, len(v))
		for _, item := range v {
			var err error
			if out, err = appendValue(out, item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		return appendValue(out, inOrder(v))
	case ordered:
		out = appendHead(out, 0x80, 15, 0xde, 0xdf, len(v))
		for _, p := range v {
			var err error
			if out, err = appendValue(appendText(out, p.key), p.value); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("a %T cannot be sent", value)
}

func inOrder(m map[string]any) ordered {
	out := make(ordered, 0, len(m))
	for key, value := range m {
		out = append(out, pair{key, value})
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].key, out[j].key
		if (a == "name") != (b == "name") {
			return a == "name"
		}
		return a < b
	})
	return out
}

// A decoder of one frame. It checks every length against the bytes that are left before it
// allocates.
type decoder struct {
	data  []byte
	nodes int
}

var errStructure = fmt.Errorf("the bytes are not one well-formed msgpack map")

func decodeMap(data []byte) (map[string]any, error) {
	d := decoder{data: data}
	value, err := d.value(1)
	if err != nil {
		return nil, err
	}
	m, ok := value.(map[string]any)
	if !ok || len(d.data) > 0 {
		return nil, errStructure
	}
	return m, nil
}

func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.data)) {
		return nil, errStructure
	}
	out := d.data[:n]
	d.data = d.data[n:]
	return out, nil
}

// number reads a big-endian number of n bytes.
func (d *decoder) number(n uint64) (uint64, error) {
	bytes, err := d.take(n)
	var out uint64
	for _, b := range bytes {
		out = out<<8 | uint64(b)
	}
	return out, err
}

func (d *decoder) value(depth int) (any, error) {
	if d.nodes++; d.nodes > protoNodesMax {
		return nil, fmt.Errorf("more than %d values in a frame", protoNodesMax)
	}
	head, err := d.take(1)
	if err != nil {
		return nil, err
	}
	switch b := head[0]; {
	case b < 0x80:
		return uint64(b), nil
	case b < 0x90:
		return d.mapOf(uint64(b&15), depth)
	case b < 0xa0:
		return d.list(uint64(b&15), depth)
	case b < 0xc0:
		return d.text(uint64(b & 31))
	case b >= 0xe0:
		return int64(int8(b)), nil
	default:
		return d.long(b, depth)
	}
}

// long reads the formats with a byte for themselves.
func (d *decoder) long(b byte, depth int) (any, error) {
	switch b {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return b == 0xc3, nil
	case 0xca, 0xcb:
		return d.float(b)
	case 0xcc, 0xcd, 0xce, 0xcf:
		return d.number(1 << (b - 0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return d.signed(1 << (b - 0xd0))
	}
	var size uint64
	switch b {
	case 0xc4, 0xd9:
		size = 1
	case 0xc5, 0xda, 0xdc, 0xde:
		size = 2
	case 0xc6, 0xdb, 0xdd, 0xdf:
		size = 4
	default: // never used, and extensions
		return nil, errStructure
	}
	n, err := d.number(size)
	if err != nil {
		return nil, err
	}
	switch b {
	case 0xdc, 0xdd:
		return d.list(n, depth)
	case 0xde, 0xdf:
		return d.mapOf(n, depth)
	}
	return d.text(n)
}

func (d *decoder) signed(size uint64) (any, error) {
	n, err := d.number(size)
	shift := 64 - 8*size
	signed := int64(n<<shift) >> shift
	if signed >= 0 {
		return uint64(signed), err
	}
	return signed, err
}

func (d *decoder) float(b byte) (any, error) {
	n, err := d.number(4 << (b - 0xca))
	out := math.Float64frombits(n)
	if b == 0xca {
		out = float64(math.Float32frombits(uint32(n)))
	}
	if err == nil && (math.IsNaN(out) || math.IsInf(out, 0)) {
		err = fmt.Errorf("a number is not finite")
	}
	return out, err
}

func (d *decoder) text(n uint64) (any, error) {
	bytes, err := d.take(n)
	return string(bytes), err
}

func (d *decoder) list(n uint64, depth int) (any, error) {
	if depth > protoDepthMax || n > uint64(len(d.data)) {
		return nil, errStructure
	}
	out := make([]any, 0, n)
	for ; n > 0; n-- {
		value, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}

func (d *decoder) mapOf(n uint64, depth int) (any, error) {
	if depth > protoDepthMax || 2*n > uint64(len(d.data)) {
		return nil, errStructure
	}
	out := make(map[string]any, n)
	for ; n > 0; n-- {
		key, err := d.value(protoDepthMax + 1) // a list or a map is too deep here
		if err != nil {
			return nil, err
		}
		text, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("a key is not a text")
		}
		if _, twice := out[text]; twice {
			return nil, fmt.Errorf("the key %q occurs twice", text)
		}
		if out[text], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return out, nil
}
