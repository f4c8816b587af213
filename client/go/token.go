// SPDX-License-Identifier: MIT

package stoker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
)

const tokenVersion = 2

// A Place is a point in the sequence of epochs: everything before it was used. Position counts over
// all ranks.
type Place struct {
	Epoch, Position uint64
}

// A Token says where to resume, and of which stream. As JSON it is what the clients of all
// languages understand. It is the same on all ranks after the same number of batches; batch size
// and world may differ when it is used.
type Token struct {
	Version  int    `json:"version"`
	Epoch    uint64 `json:"epoch"`
	Position uint64 `json:"position"`
	// The fields of ATTACH that decide about bytes.
	Description map[string]any `json:"description"`
	// Of the description, by the daemon; empty: it has some fields only, as they were asked for.
	Digest string `json:"digest"`
	// What stands for the rest, by kind; there may be kinds that this client does not know.
	Fingerprints map[string]string `json:"fingerprints"`
}

// Fields of ATTACHED that are fingerprints, by their kinds.
var fingerprints = map[string]string{"dataset": "dataset_fingerprint",
	"names": "names_fingerprint", "pipeline": "pipeline_hash", "sampling": "sampling_hash"}

// Numbers beyond 2^53 are texts in what JavaScript's JSON.stringify() wrote.
var wholeText = regexp.MustCompile(`"(\d{16,20})"`)

// UnmarshalJSON reads what the client of any language and version wrote.
func (t *Token) UnmarshalJSON(text []byte) error {
	type fields Token
	text = wholeText.ReplaceAll(text, []byte("$1"))
	if err := unmarshal(text, (*fields)(t)); err != nil {
		return err
	}
	if t.Version == 1 {
		return t.unmarshalFirst(text)
	}
	return nil
}

// unmarshalFirst reads version 1, which has some fields, and hashes of the rest.
func (t *Token) unmarshalFirst(text []byte) error {
	var first struct {
		Dataset, Pipeline, Sampling string
		Subset                      []*uint64
	}
	all := map[string]any{}
	if err := json.Unmarshal(text, &first); err != nil {
		return err
	}
	if err := unmarshal(text, &all); err != nil {
		return err
	}
	start, stop := uint64(0), uint64(math.MaxUint64)
	for i, to := range []*uint64{&start, &stop}[:min(2, len(first.Subset))] {
		if first.Subset[i] != nil {
			*to = *first.Subset[i]
		}
	}
	t.Description = map[string]any{"subset_start": start, "subset_stop": stop}
	for _, key := range bytesFields {
		if value, said := all[key]; said {
			t.Description[key] = value
		}
	}
	t.Fingerprints = map[string]string{"dataset": first.Dataset, "pipeline": first.Pipeline,
		"sampling": first.Sampling}
	return nil
}

// unmarshal keeps all digits of a number.
func unmarshal(text []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(to)
}

// resize is whose bytes a resize makes; empty, of an older client: pillow-12.
func (t *Token) resize() string {
	resize, _ := t.Description["resize"].(string)
	return resize
}

// expected are the fields of an ATTACH that is to be of this stream.
func (t *Token) expected() map[string]any {
	out := map[string]any{"expect_description": t.Digest}
	for kind := range fingerprints {
		if value := t.Fingerprints[kind]; value != "" {
			out["expect_"+kind] = value
		}
	}
	return out
}

// check compares it with what is asked for, as far as the daemon does not.
func (t *Token) check(request map[string]any) error {
	if t.Version != 1 && t.Version != tokenVersion {
		return wrongToken("version", t.Version, fmt.Sprintf("1 and %d", tokenVersion))
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(t.Fingerprints)), func(kind string) bool {
		return fingerprints[kind] != ""
	}) {
		return wrongToken("fingerprints", slices.Collect(maps.Keys(t.Fingerprints)), "dataset")
	}
	if t.Digest != "" {
		return nil
	}
	return t.compare(asked(request, t.Description["resize"]), nil)
}

// asked are the numbers and truths of a request that decide about bytes.
func asked(request map[string]any, resize any) map[string]any {
	out := map[string]any{"resize": resize}
	for _, field := range typeByName["attach"].fields {
		if slices.Contains(bytesFields, field.key) && field.kind <= kindBoolean {
			out[field.key] = field.empty()
			if value, said := request[field.key]; said {
				out[field.key] = value
			}
		}
	}
	return out
}

// compare finds the first field that differs. What the token does not say, because its client or
// daemon knew fewer fields, is equal unless this request says it.
func (t *Token) compare(ours map[string]any, request map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(t.Description)) {
		if !same(t.Description[key], ours[key]) {
			return wrongToken(key, jsonOf(t.Description[key]), jsonOf(ours[key]))
		}
	}
	for _, field := range typeByName["attach"].fields {
		_, said := t.Description[field.key]
		value := request[field.key]
		if !said && slices.Contains(bytesFields, field.key) && value != nil &&
			!reflect.DeepEqual(value, field.empty()) {
			return wrongToken(field.key, "nothing", jsonOf(value))
		}
	}
	return nil
}

// follow is the token of a stream that was attached to as this says.
func (t *Token) follow(attached *message, request map[string]any, resize string) (Token, error) {
	out := Token{Version: tokenVersion, Fingerprints: maps.Clone(t.Fingerprints)}
	var described bool
	if out.Description, described = attached.fields["description"].(map[string]any); described {
		out.Digest = attached.text("digest")
	}
	if out.Fingerprints == nil {
		out.Fingerprints = map[string]string{}
	}
	for kind, key := range fingerprints {
		own, ofDataset := attached.text(key), kind == "dataset" || kind == "names"
		if own == "" && ofDataset { // there is none, or not yet
			continue
		}
		if theirs, said := t.Fingerprints[kind]; said && theirs != own {
			return out, wrongToken(kind, theirs, own)
		}
		out.Fingerprints[kind] = own
		if out.Digest != "" && !ofDataset {
			delete(out.Fingerprints, kind)
		}
	}
	names := t.Fingerprints["names"]
	if names != "" && t.Fingerprints["dataset"] == "" && attached.text("names_fingerprint") == "" {
		return out, wrongToken("names", names, "none")
	}
	if out.Digest != "" {
		return out, nil
	}
	if t.Digest != "" {
		return out, &Error{Code: ErrToken.Code, Name: ErrToken.Name, Text: "this stokerd is older " +
			"than the token, and does not say what its streams are: update it"}
	}
	out.Description = asked(request, resize)
	return out, nil
}

func jsonOf(value any) string {
	text, _ := json.Marshal(value) // trees of texts and finite numbers
	return string(text[:min(len(text), 300)])
}

// same compares values, of which one may have been JSON: 1.0 is 1 there.
func same(theirs, ours any) bool {
	var trees [2]any
	for i, value := range []any{theirs, ours} {
		text, err := json.Marshal(value)
		if err != nil || unmarshal(text, &trees[i]) != nil {
			return false
		}
	}
	return equal(trees[0], trees[1])
}

func equal(one, other any) bool {
	switch one := one.(type) {
	case json.Number:
		other, ok := other.(json.Number)
		a, _ := one.Float64()
		b, _ := other.Float64()
		return ok && (one == other || a == b && math.Abs(a) < 1<<53)
	case []any:
		other, ok := other.([]any)
		return ok && slices.EqualFunc(one, other, equal)
	case map[string]any:
		other, ok := other.(map[string]any)
		return ok && maps.EqualFunc(one, other, equal)
	}
	return one == other
}

func wrongToken(what string, theirs, ours any) error {
	return &Error{Code: ErrToken.Code, Name: ErrToken.Name,
		Text: fmt.Sprintf("%s: the token is for %v, these options have %v", what, theirs, ours)}
}

// The words of the option Resize.
const (
	pillow12 = "pillow-12"
	pillow13 = "pillow-13"
)

// resize is whose bytes a resize makes, and whether it has to be that: by the options or the token.
func (o *Options) resize() (whose string, must bool, err error) {
	asked := string(o.Resize)
	if o.Token == nil {
		return cmp.Or(asked, pillow13), asked != "", nil
	}
	theirs := cmp.Or(o.Token.resize(), pillow12)
	if asked != "" && asked != theirs {
		return "", true, wrongToken("resize", theirs, asked)
	}
	return theirs, true, nil
}

// settleResize puts the word into the ATTACH. A daemon that does not know it would make other bytes.
func (r *Reader) settleResize() error {
	whose, must, err := r.options.resize()
	if err != nil {
		return err
	}
	if token := r.options.Token; token != nil && token.resize() == "" && r.options.Resize == "" {
		r.client.logger().Warn("stoker: the token is of a client that knew the resizes of Pillow " +
			"12 alone: the stream goes on with these")
	}
	if whose == pillow13 && !r.conn.resizes {
		old := "this stokerd is older than the client and makes the resizes of Pillow 12 alone"
		if must {
			return fmt.Errorf("%w: %s: update it, or ask for %s", ErrOption, old, pillow12)
		}
		r.client.logger().Warn("stoker: " + old)
		whose = pillow12
	}
	r.resize = whose
	r.request["resize"] = whose
	if whose == pillow12 { // what absence means, to any daemon
		delete(r.request, "resize")
	}
	return nil
}
