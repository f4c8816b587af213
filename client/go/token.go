// SPDX-License-Identifier: MIT

package stoker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
)

const tokenVersion = 1

// A Place is a point in the sequence of epochs: everything before it was used. Position counts over
// all ranks.
type Place struct {
	Epoch, Position uint64
}

// A Token says where to resume, and of which stream. As JSON it is what the clients of all
// languages understand. It is the same on all ranks after the same number of batches; batch size
// and world may differ when it is used.
type Token struct {
	Version     int         `json:"version"`
	Dataset     string      `json:"dataset"`
	Pipeline    string      `json:"pipeline"`
	OrderSeed   uint64      `json:"order_seed"`
	AugmentSeed uint64      `json:"augment_seed"`
	Shuffle     bool        `json:"shuffle"`
	Subset      *[2]*uint64 `json:"subset"` // start and stop; nil: all samples
	Exif        bool        `json:"exif_orientation"`
	Sampling    string      `json:"sampling"`
	Resize      string      `json:"resize"` // empty, of an older client: pillow-12
	Epoch       uint64      `json:"epoch"`
	Position    uint64      `json:"position"`
}

// Numbers beyond 2^53 are texts in what JavaScript's JSON.stringify() wrote.
var wholeText = regexp.MustCompile(`"(\d{16,20})"`)

// UnmarshalJSON reads what the client of any language wrote.
func (t *Token) UnmarshalJSON(text []byte) error {
	type fields Token
	return json.Unmarshal(wholeText.ReplaceAll(text, []byte("$1")), (*fields)(t))
}

// identity is a token of these options, without what only the daemon knows.
func (o *Options) identity() Token {
	out := Token{Version: tokenVersion, OrderSeed: o.OrderSeed, AugmentSeed: o.AugmentSeed,
		Shuffle: o.Shuffle == nil || *o.Shuffle, Exif: o.ExifOrientation}
	if o.SubsetStart != 0 || o.SubsetStop != nil {
		start := o.SubsetStart
		out.Subset = &[2]*uint64{&start, o.SubsetStop}
	}
	return out
}

// The words of the option Resize.
const (
	pillow12 = "pillow-12"
	pillow13 = "pillow-13"
)

// resize is whose bytes a resize makes, and whether it has to be that: by the options or the token.
func (o *Options) resize() (whose string, must bool, err error) {
	if o.Token == nil {
		return cmp.Or(o.Resize, pillow13), o.Resize != "", nil
	}
	theirs := cmp.Or(o.Token.Resize, pillow12)
	if o.Resize != "" && o.Resize != theirs {
		return "", true, wrongToken("resize", theirs, o.Resize)
	}
	return theirs, true, nil
}

// settleResize puts the word into the ATTACH. A daemon that does not know it would make other bytes.
func (r *Reader) settleResize() error {
	whose, must, err := r.options.resize()
	if err != nil {
		return err
	}
	if token := r.options.Token; token != nil && token.Resize == "" && r.options.Resize == "" {
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

// check compares it with the options that it is used with; the daemon compares the rest.
func (t *Token) check(ours Token) error {
	for _, row := range []struct {
		what         string
		theirs, ours any
	}{
		{"version", t.Version, ours.Version},
		{"order_seed", t.OrderSeed, ours.OrderSeed},
		{"augment_seed", t.AugmentSeed, ours.AugmentSeed},
		{"shuffle", t.Shuffle, ours.Shuffle},
		{"subset", subsetWords(t.Subset), subsetWords(ours.Subset)},
		{"exif_orientation", t.Exif, ours.Exif},
	} {
		if row.theirs != row.ours {
			return wrongToken(row.what, row.theirs, row.ours)
		}
	}
	return nil
}

func wrongToken(what string, theirs, ours any) error {
	return &Error{ErrToken.Code, ErrToken.Name,
		fmt.Sprintf("%s: the token is for %v, these options have %v", what, theirs, ours)}
}

func subsetWords(subset *[2]*uint64) string {
	if subset == nil {
		return "all samples"
	}
	var start uint64
	if subset[0] != nil {
		start = *subset[0]
	}
	if subset[1] == nil {
		return fmt.Sprintf("samples from %d", start)
	}
	return fmt.Sprintf("samples %d to %d", start, *subset[1])
}
