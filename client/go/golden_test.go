// SPDX-License-Identifier: MIT

package stoker

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

type row struct {
	Name, Message, Hex, Error string
	Fields                    json.RawMessage
	Good                      bool
}

func golden(t *testing.T) map[string][]row {
	t.Helper()
	text, err := os.ReadFile("../../tests/golden/frames.json")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]row{}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if len(out["frames"]) < 100 || len(out["bad"]) < 50 {
		t.Fatal("few golden frames")
	}
	return out
}

func bytesOf(t *testing.T, digits string) []byte {
	t.Helper()
	out, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// treeFrom reads JSON in its order; the two special maps are texts and numbers.
func treeFrom(t *testing.T, decoder *json.Decoder) any {
	t.Helper()
	token, err := decoder.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch v := token.(type) {
	case json.Number:
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64()
		return n
	case json.Delim:
		if v == '[' {
			out := []any{}
			for decoder.More() {
				out = append(out, treeFrom(t, decoder))
			}
			_, _ = decoder.Token()
			return out
		}
		out := ordered{}
		for decoder.More() {
			key := treeFrom(t, decoder).(string)
			out = append(out, pair{key, treeFrom(t, decoder)})
		}
		_, _ = decoder.Token()
		if len(out) == 1 && out[0].key == "hex" {
			return string(bytesOf(t, out[0].value.(string)))
		}
		if len(out) == 1 && out[0].key == "uint" {
			n, _ := strconv.ParseUint(out[0].value.(string), 10, 64)
			return n
		}
		return out
	}
	return token
}

func fieldsOf(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	out := map[string]any{}
	for _, p := range treeFrom(t, decoder).(ordered) {
		out[p.key] = p.value
	}
	return out
}

// unordered is what decoding gives for what was encoded.
func unordered(value any) any {
	switch v := value.(type) {
	case ordered:
		out := map[string]any{}
		for _, p := range v {
			out[p.key] = unordered(p.value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = unordered(v[i])
		}
		return out
	}
	return value
}

func checkDecoded(t *testing.T, row row) {
	m, err := decode(bytesOf(t, row.Hex)[4:])
	if err != nil {
		t.Fatal(err)
	}
	given := fieldsOf(t, row.Fields)
	if m.name != row.Message {
		t.Fatalf("%s instead of %s", m.name, row.Message)
	}
	for _, f := range typeByName[m.name].fields {
		wanted, there := given[f.key]
		if !there {
			wanted = f.empty()
		}
		got := m.fields[f.key]
		if f.kind == kindRuns {
			if wanted, err = checkRuns(wanted, f.max); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got, unordered(wanted)) {
			t.Errorf("%s: %v instead of %v", f.key, got, wanted)
		}
	}
}

func TestGoldenFrames(t *testing.T) {
	for _, row := range golden(t)["frames"] {
		t.Run(row.Name, func(t *testing.T) {
			checkDecoded(t, row)
			frame, err := encode(row.Message, fieldsOf(t, row.Fields))
			if err != nil {
				t.Fatal(err)
			}
			if hex.EncodeToString(frame) != row.Hex {
				t.Errorf("encoded as %x, not %s", frame, row.Hex)
			}
		})
	}
}

func TestAcceptedFrames(t *testing.T) {
	for _, row := range golden(t)["accepted"] {
		t.Run(row.Name, func(t *testing.T) { checkDecoded(t, row) })
	}
}

func TestBadFrames(t *testing.T) {
	for _, row := range golden(t)["bad"] {
		t.Run(row.Name, func(t *testing.T) {
			frame := bytesOf(t, row.Hex)
			if m, err := decode(frame[4:]); err == nil {
				t.Errorf("accepted as %s", m.name)
			}
		})
	}
}

func TestLengths(t *testing.T) {
	for _, row := range golden(t)["lengths"] {
		size := binary.BigEndian.Uint32(bytesOf(t, row.Hex))
		if good := size > 0 && size <= protoFrameMax; good != row.Good {
			t.Errorf("%s: %v", row.Hex, good)
		}
	}
}

func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile("../../tests/golden/frames.json")
	if err != nil {
		f.Fatal(err)
	}
	var rows map[string][]row
	if err := json.Unmarshal(text, &rows); err != nil {
		f.Fatal(err)
	}
	for _, list := range []string{"frames", "bad"} {
		for _, row := range rows[list] {
			payload, _ := hex.DecodeString(row.Hex)
			f.Add(payload[4:])
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if m, err := decode(payload); err == nil && typeByName[m.name] == nil {
			t.Error("a message without a type")
		}
	})
}

func TestRingChecks(t *testing.T) {
	r := &ring{slots: 10}
	for _, c := range []struct {
		runs  []run
		count uint64
		good  bool
	}{
		{[]run{{0, 10}}, 10, true},
		{[]run{{8, 2}, {0, 3}}, 5, true},
		{[]run{{8, 3}}, 3, false},
		{[]run{{0, 3}}, 4, false},
		{[]run{{0, 1<<32 - 1}, {0, 5}}, 4, false},
	} {
		if r.has(c.runs, c.count) != c.good {
			t.Errorf("%v %d: %v", c.runs, c.count, !c.good)
		}
	}
}

func TestTokens(t *testing.T) {
	stop := uint64(9)
	options := Options{OrderSeed: 1<<53 + 1, SubsetStop: &stop}
	var token Token
	text := `{"version": 1, "dataset": "d", "pipeline": "p", "sampling": "", "order_seed": ` +
		`"9007199254740993", "subset": [0, 9], "epoch": 2, "position": 5, "resize": "pillow-13"}`
	if err := json.Unmarshal([]byte(text), &token); err != nil {
		t.Fatal(err)
	}
	if token.Epoch != 2 || token.Position != 5 || token.Fingerprints["pipeline"] != "p" {
		t.Errorf("%+v", token)
	}
	if err := token.check(options.fields()); err != nil {
		t.Error(err)
	}
	options.OrderSeed++
	err := token.check(options.fields())
	if !strings.Contains(fmt.Sprint(err), "order_seed: the token is for 9007199254740993, these "+
		"options have 9007199254740994") {
		t.Error(err)
	}
	if !same(map[string]any{"a": []any{1.0, nil}}, map[string]any{"a": []any{uint64(1), nil}}) ||
		same(1.5, uint64(1)) || same(uint64(1<<60), uint64(1<<60+1)) || same(true, uint64(1)) {
		t.Error("values that JSON wrote are compared wrongly")
	}
}
