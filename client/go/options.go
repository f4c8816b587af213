// SPDX-License-Identifier: MIT

package stoker

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// A Transform has a name and parameters, those of the class of this name in torchvision.transforms:
// {"name": "Resize", "size": 256}. Values are numbers, texts, truths, nil, and slices of these;
// the parameter "transforms" is a []Transform.
type Transform map[string]any

// A Sampler says which samples an epoch has: {"name": "balanced", "per_class": 500}. nil: all.
type Sampler map[string]any

// Some value of an option whose zero means something else than its default: Shuffle, Inflight,
// SubsetStop.
func Some[T any](value T) *T { return &value }

func (d *Dataset) tree() any {
	if len(d.Parts) > 0 {
		parts := make([]any, len(d.Parts))
		for i := range d.Parts {
			parts[i] = d.Parts[i].tree()
		}
		return map[string]any{"parts": parts}
	}
	out := map[string]any{"path": ""}
	for key, value := range d.texts() {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// absolute leaves "." and "..", which filepath.Abs takes off the text: behind a symbolic link ".." is
// the parent of where that leads.
func absolute(path string) string {
	scheme, _, url := strings.Cut(path, "://")
	named := strings.HasPrefix(path, "code:") // no path: a name for people
	if path == "" || named || url && !strings.Contains(scheme, "/") {
		return path
	}
	if filepath.IsAbs(path) {
		return path
	}
	if folder, err := os.Getwd(); err == nil {
		return folder + "/" + path
	}
	return path
}

// putTree leaves out what is nothing.
func putTree(out map[string]any, key string, tree any) {
	if tree != nil {
		out[key] = tree
	}
}

// treeOf makes a value of one of the types that can be encoded; what cannot stays as it is, and
// encoding names it.
func treeOf(value any) any {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		return v.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); n < 0 {
			return n
		}
		return uint64(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	case reflect.Float32, reflect.Float64:
		return v.Float()
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return nil
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = treeOf(v.Index(i).Interface())
		}
		return out
	case reflect.Map:
		return treeOfMap(v)
	}
	return value
}

func treeOfMap(v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	out := map[string]any{}
	for _, key := range v.MapKeys() {
		if key.Kind() != reflect.String {
			return v.Interface()
		}
		out[key.String()] = treeOf(v.MapIndex(key).Interface())
	}
	return out
}

// attach makes the fields of an ATTACH.
func (o *Options) attach(transport string) (map[string]any, error) {
	out := o.fields()
	out["accept_fd"] = transport != "path"
	out["accept_path"] = transport != "fd"
	out["accept_moves"] = true
	out["accept_names"] = true
	out["accept_sizes"] = true
	out["page"] = uint64(ringVersion)
	switch {
	case transport != "" && transport != "fd" && transport != "path":
		return nil, fmt.Errorf("%w: the transport %q is neither fd nor path", ErrOption, transport)
	case o.Dataset.Path == "" && len(o.Dataset.Parts) == 0:
		return nil, fmt.Errorf("%w: Dataset has no Path", ErrOption)
	case o.BatchSize == 0:
		return nil, fmt.Errorf("%w: BatchSize is missing", ErrOption)
	case o.Inflight != nil && *o.Inflight == 0:
		return nil, fmt.Errorf("%w: with an Inflight of 0 no batch would ever come", ErrOption)
	case o.Rank > 0 && o.Rank >= max(1, o.World):
		return nil, fmt.Errorf("%w: Rank is %d, and World is %d", ErrOption, o.Rank, max(1, o.World))
	}
	if o.Token != nil {
		if err := o.Token.check(out); err != nil {
			return nil, err
		}
		if o.Token.Epoch > math.MaxUint32 {
			return nil, fmt.Errorf("%w: the token's epoch is %d", ErrOption, o.Token.Epoch)
		}
		out["epoch"], out["position"] = o.Token.Epoch, o.Token.Position
	}
	return out, nil
}
