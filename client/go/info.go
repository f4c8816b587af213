// SPDX-License-Identifier: MIT

package stoker

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// What a reader knows of its stream, and asks of the daemon between two batches.

// Samples of an epoch, over all ranks.
func (r *Reader) Samples() uint64 { return r.samples }

// BatchCount of a whole epoch for this rank.
func (r *Reader) BatchCount() uint64 { return r.batches }

// Fields of a sample.
func (r *Reader) Fields() []Field { return slices.Clone(r.ring.fields) }

// Reconnects is how often it has attached again to a daemon that came back.
func (r *Reader) Reconnects() int { return r.reconnects }

// Moves is how often it went on in another ring, past a slower reader or with others.
func (r *Reader) Moves() int { return r.moves }

// Place where the next batch begins: everything before it was given to the program.
func (r *Reader) Place() Place { return r.at }

// Hashes are the fingerprint of the dataset, the hash of transforms, dtype and layout, and that of
// order, sampler, echo and views, which is empty if there are none. The first is empty if
// only the names of a large folder are known yet.
func (r *Reader) Hashes() (dataset, pipeline, sampling string) {
	return r.dataset, r.pipeline, r.sampling
}

// Token says where to resume: behind the last batch that was given.
func (r *Reader) Token() Token {
	token := r.token
	token.Epoch, token.Position = r.at.Epoch, r.at.Position
	token.Description = maps.Clone(token.Description)
	token.Fingerprints = maps.Clone(token.Fingerprints)
	return token
}

// SetInflight changes the largest number of batches that are ready or held by the program.
func (r *Reader) SetInflight(inflight int) error {
	if inflight < 1 || inflight > 1024 {
		return fmt.Errorf("%w: inflight is %d, not 1 to 1024", ErrOption, inflight)
	}
	r.inflight = uint64(inflight)
	if r.conn != nil {
		// If the daemon is gone, the next ATTACH says the number.
		_ = r.conn.send("credit", map[string]any{"inflight": r.inflight})
	}
	return nil
}

// Classes are the names of the classes by label; none if the labels are not classes. A name is
// bytes, not always UTF-8.
func (r *Reader) Classes(ctx context.Context) ([]string, error) {
	if r.classes != nil {
		return slices.Clone(r.classes), nil
	}
	names := []string{}
	for after := uint64(0); ; {
		page, err := r.list(ctx, "classes", after)
		if err != nil {
			return nil, err
		}
		texts, err := r.texts(page)
		if err != nil {
			return nil, err
		}
		names = append(names, texts...)
		next := page.uint("next")
		if next == 0 {
			r.classes = names
			return slices.Clone(names), nil
		}
		if next <= after {
			return nil, r.broken("a listing without end")
		}
		after = next
	}
}

// Paths of samples by their indices in the dataset, relative to its root.
func (r *Reader) Paths(ctx context.Context, indices ...uint64) ([]string, error) {
	out := make([]string, len(indices))
	found := map[uint64]string{}
	for i, index := range indices {
		if _, known := found[index]; !known {
			page, err := r.list(ctx, "paths", index)
			if err != nil {
				return nil, err
			}
			texts, err := r.texts(page)
			if err != nil {
				return nil, err
			}
			if len(texts) == 0 {
				return nil, fmt.Errorf("%w: the dataset has no sample %d", ErrOption, index)
			}
			for n, text := range texts {
				found[index+uint64(n)] = text
			}
		}
		out[i] = found[index]
	}
	return out, nil
}

// Stats say what this reader waits for: share_trainer, share_storage, share_decode, share_slot,
// limited_by and more, as `stokerctl readers` shows them.
func (r *Reader) Stats(ctx context.Context) (map[string]any, error) {
	page, err := r.list(ctx, "reader", 0)
	if err != nil {
		return nil, err
	}
	items, _ := page.fields["items"].([]any)
	if len(items) == 1 {
		if stats, ok := items[0].(map[string]any); ok {
			return stats, nil
		}
	}
	return nil, r.broken("statistics that are not a map")
}

func (r *Reader) list(ctx context.Context, what string, after uint64) (*message, error) {
	if r.closed {
		return nil, ErrClosed
	}
	for {
		if err := r.recover(ctx); err != nil {
			return nil, err
		}
		page, err := r.conn.request(ctx, replyTime, "list", "listing",
			map[string]any{"what": what, "after": after}, nil)
		if err == nil || !r.conn.lost() || ctx.Err() != nil {
			return page, err
		}
		if err := r.lose(err); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) texts(page *message) ([]string, error) {
	items, ok := page.fields["items"].([]any)
	out := make([]string, len(items))
	for i, item := range items {
		if out[i], ok = item.(string); !ok {
			break
		}
	}
	if !ok {
		return nil, r.broken("names that are not texts")
	}
	return out, nil
}
