// SPDX-License-Identifier: MIT

package stoker

import (
	"encoding/binary"
	"fmt"
)

// Messages: maps that were checked against the tables. Knows no socket.

type kind uint8

const (
	kindUint kind = iota
	kindBoolean
	kindText
	kindRuns
	kindAny
)

type fieldType struct {
	key           string
	kind          kind
	required      bool
	def, min, max uint64
}

type messageType struct {
	number     uint64
	name       string
	fromDaemon bool
	fields     []fieldType
}

var (
	typeByName   = map[string]*messageType{}
	typeByNumber = map[uint64]*messageType{}
)

func init() {
	for i := range messageTypes {
		t := &messageTypes[i]
		typeByName[t.name], typeByNumber[t.number] = t, t
	}
}

// A run of slots.
type run struct{ first, count uint64 }

// A message that was received. Every field of its table is there, with its type.
type message struct {
	name   string
	fields map[string]any
	ring   *ring // of ATTACHED and RING
	tray   *tray // of PRODUCER
}

// drop what nobody takes over.
func (m *message) drop() {
	m.ring.drop()
	m.tray.drop()
}

func (m *message) uint(key string) uint64 { return m.fields[key].(uint64) }
func (m *message) text(key string) string { return m.fields[key].(string) }

// seq is that of the request; 0 if the message has none.
func (m *message) seq() uint64 {
	seq, _ := m.fields["seq"].(uint64)
	return seq
}

// place is where to resume after a BATCH or BAD_SAMPLE.
func (m *message) place() Place {
	return Place{m.uint("next_epoch"), m.uint("next_position")}
}

func (m *message) size() batchSize {
	return batchSize{m.uint("height"), m.uint("width"), m.uint("origin")}
}

func (f *fieldType) empty() any {
	switch f.kind {
	case kindUint:
		return f.def
	case kindBoolean:
		return f.def != 0
	case kindText:
		return ""
	}
	return nil
}

// encode makes a whole frame, without the fields that have their default.
func encode(name string, values map[string]any) ([]byte, error) {
	t := typeByName[name]
	out := ordered{{"type", t.number}}
	for i := range t.fields {
		f := &t.fields[i]
		value, given := values[f.key]
		if !given && !f.required {
			continue
		} else if !given {
			value = f.empty()
		}
		checked, err := f.check(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		if f.kind == kindRuns {
			checked = value
		}
		if f.required || !f.isDefault(checked) {
			out = append(out, pair{f.key, checked})
		}
	}
	payload, err := appendValue(make([]byte, 4, 256), out)
	if err != nil {
		return nil, err
	}
	size := len(payload) - 4
	if size > protoFrameMax {
		return nil, fmt.Errorf("the request has %d bytes, at most %d fit", size, protoFrameMax)
	}
	binary.BigEndian.PutUint32(payload, uint32(size))
	return payload, nil
}

func (f *fieldType) isDefault(value any) bool {
	switch value.(type) {
	case []any, map[string]any, ordered:
		return false
	}
	return value == f.empty()
}

// check returns the value as the message has it.
func (f *fieldType) check(value any) (any, error) {
	switch f.kind {
	case kindUint:
		if n, ok := value.(uint64); ok && n >= f.min && n <= f.max {
			return n, nil
		}
		return nil, fmt.Errorf("%v is not a number from %d to %d", value, f.min, f.max)
	case kindBoolean:
		if b, ok := value.(bool); ok {
			return b, nil
		}
		return nil, fmt.Errorf("%v is neither true nor false", value)
	case kindText:
		if s, ok := value.(string); ok && uint64(len(s)) >= f.min && uint64(len(s)) <= f.max {
			return s, nil
		}
		return nil, fmt.Errorf("%.40q is not a text of %d to %d bytes", value, f.min, f.max)
	case kindRuns:
		return checkRuns(value, f.max)
	}
	return value, nil
}

func checkRuns(value any, most uint64) (any, error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 || uint64(len(list)) > most {
		return nil, fmt.Errorf("%v is not a list of 1 to %d runs", value, most)
	}
	out := make([]run, len(list))
	for i, item := range list {
		numbers, ok := item.([]any)
		if !ok || len(numbers) != 2 {
			return nil, fmt.Errorf("%v is not a run", item)
		}
		first, ok1 := numbers[0].(uint64)
		count, ok2 := numbers[1].(uint64)
		if !ok1 || !ok2 || first > 1<<32-1 || count > 1<<32-1 || count == 0 {
			return nil, fmt.Errorf("%v is not a run", item)
		}
		out[i] = run{first, count}
	}
	return out, nil
}

// decode checks the payload of one frame.
func decode(payload []byte) (*message, error) {
	tree, err := decodeMap(payload)
	if err != nil {
		return nil, err
	}
	number, ok := tree["type"].(uint64)
	if !ok {
		return nil, fmt.Errorf("a message without a type")
	}
	t := typeByNumber[number]
	if t == nil {
		return nil, fmt.Errorf("no message has the number %d", number)
	}
	out := &message{name: t.name, fields: make(map[string]any, len(t.fields))}
	for i := range t.fields {
		f := &t.fields[i]
		value, there := tree[f.key]
		if !there {
			if f.required {
				return nil, fmt.Errorf("%s has no %s", t.name, f.key)
			}
			out.fields[f.key] = f.empty()
			continue
		}
		if out.fields[f.key], err = f.check(value); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.name, f.key, err)
		}
	}
	return out, nil
}
