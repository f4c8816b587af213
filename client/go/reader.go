// SPDX-License-Identifier: MIT

package stoker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
	heldTime   = time.Second // for END, when no batch can come
)

// A Reader is attached to a stream. One goroutine at a time uses it.
type Reader struct {
	client  *Client
	options *Options
	request map[string]any // the ATTACH
	given   *given         // descriptors for it; nil: none were needed so far

	credentials []Credentials

	conn  *conn // nil: the daemon is lost, and `away` says how
	away  error
	until time.Time // when to give up waiting for it; zero: it is there
	tried bool      // since it was lost
	pause time.Duration
	ring  *ring
	held  *atomic.Int64 // batches of this attachment that the program holds

	at       Place  // the program has had everything before
	end      uint64 // the epoch after the last one; 0: endless
	ended    bool
	closed   bool
	stalled  string // why the next batch is late ...
	blocking uint64 // ... if it waits for this lease of the program's; 0: it does not
	inflight uint64

	share                       share // which batches are to come
	samples, batches            uint64
	token                       Token // of the stream
	dataset, pipeline, sampling string
	resize                      string
	reconnects, moves           int
	classes                     []string
}

// Attach to a stream. It waits while the daemon indexes the dataset.
func (c *Client) Attach(ctx context.Context, options *Options) (*Reader, error) {
	request, err := options.attach(c.Transport)
	if err != nil {
		return nil, err
	}
	r := &Reader{client: c, options: options, request: request, inflight: 3, pause: firstPause,
		credentials: slices.Clone(c.Credentials)}
	if options.Inflight != nil {
		r.inflight = uint64(*options.Inflight)
	}
	if options.Token != nil {
		r.token = *options.Token
	}
	if r.conn, err = r.dial(ctx); err != nil {
		return nil, err
	}
	var attached *message
	if err = r.settleResize(); err == nil {
		attached, err = r.attach(ctx, request)
	}
	if err == nil {
		err = r.begin(attached)
	}
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// begin takes over what the first ATTACHED says.
func (r *Reader) begin(attached *message) error {
	r.samples, r.batches = attached.uint("samples"), attached.uint("batches")
	r.dataset, r.pipeline = attached.text("dataset_fingerprint"), attached.text("pipeline_hash")
	r.sampling = attached.text("sampling_hash")
	r.share = share{r.samples, uint64(r.options.BatchSize), uint64(r.options.Rank),
		max(1, number(r.request["world"])), r.options.LastBatch, r.ring.sized()}
	r.at = Place{number(r.request["epoch"]), number(r.request["position"])}
	if r.request["start"] == "live" {
		ours := uint64(r.options.Rank) * uint64(r.options.BatchSize)
		position := attached.uint("position")
		if position < ours || position-ours >= r.samples {
			return broken("a start outside of the epoch")
		}
		r.at = Place{attached.uint("epoch"), position - ours}
	}
	if epochs := number(r.request["epochs"]); epochs > 0 {
		r.end = r.at.Epoch + epochs
	}
	if note := attached.text("note"); note != "" {
		r.client.logger().Warn("stoker: the dataset: " + plain(note))
	}
	return nil
}

func number(value any) uint64 {
	n, _ := value.(uint64)
	return n
}

func (r *Reader) attach(ctx context.Context, request map[string]any) (*message, error) {
	var fds []int
	request = maps.Clone(request)
	if r.token.Version != 0 {
		maps.Copy(request, r.token.expected())
	}
	if r.conn.takesFds {
		if r.given == nil {
			r.given = newGiven(r.request)
		}
		maps.Copy(request, r.given.fields)
		fds = r.given.fds
	}
	attached, err := r.ask(ctx, request, fds)
	if err != nil {
		return nil, err
	}
	if r.token, err = r.token.follow(attached, r.request, r.resize); err != nil {
		attached.ring.drop()
		return nil, err
	}
	if r.ring != nil && !attached.ring.like(r.ring) {
		attached.ring.drop()
		return nil, broken("a ring of other samples")
	}
	r.follow(attached.ring)
	r.held, r.blocking = new(atomic.Int64), 0
	return attached, nil
}

// ask for the stream that the token is of. A daemon that knows more fields has other digests.
func (r *Reader) ask(ctx context.Context, request map[string]any, fds []int) (*message, error) {
	attached, err := r.conn.request(ctx, quietTime, "attach", "attached", request, fds)
	var refused *Error
	if r.token.Digest == "" || !errors.As(err, &refused) || refused.description == nil {
		return attached, err
	}
	if err = r.token.compare(refused.description, r.request); err != nil {
		return nil, err
	}
	delete(request, "expect_description")
	return r.conn.request(ctx, quietTime, "attach", "attached", request, fds)
}

// follow: later batches are in this ring; held ones keep theirs mapped.
func (r *Reader) follow(next *ring) {
	r.ring.drop()
	r.ring = next
}

// attachAt attaches to the same stream at another place; io.EOF behind the last epoch.
func (r *Reader) attachAt(ctx context.Context, place Place) error {
	request := make(map[string]any, len(r.request))
	for key, value := range r.request {
		request[key] = value
	}
	delete(request, "start")
	request["epoch"], request["position"] = place.Epoch, place.Position
	request["inflight"] = r.inflight
	if r.end > 0 {
		if place.Epoch >= r.end {
			return io.EOF
		}
		request["epochs"] = r.end - place.Epoch
	}
	_, err := r.attach(ctx, request)
	if err == nil {
		r.at, r.ended = place, false
	}
	return err
}

// Seek goes on at another place of the same stream, on the same connection. Batches that are held
// stay as they are. If the daemon refuses the place, the stream goes on where it was.
func (r *Reader) Seek(ctx context.Context, place Place) error {
	if r.closed {
		return ErrClosed
	}
	if r.conn != nil {
		_, err := r.conn.request(ctx, replyTime, "detach", "ok", map[string]any{}, nil)
		if err == nil {
			r.forget()
			err = r.move(ctx, place)
		}
		if err == io.EOF {
			r.ended, r.at = true, place
			return nil
		}
		if !r.conn.lost() {
			return err
		}
		r.lose(err)
	}
	r.at, r.ended = place, false // the next call of Next attaches there
	return nil
}

// move attaches to a stream that was left, where it was if it may not be elsewhere.
func (r *Reader) move(ctx context.Context, place Place) error {
	err := r.attachAt(ctx, place)
	var refused *Error
	if !errors.As(err, &refused) || r.conn.lost() {
		return err
	}
	switch back := r.attachAt(ctx, r.at); back {
	case nil:
	case io.EOF:
		r.ended = true
	default:
		return back
	}
	return err
}

// forget gives back what was announced and not taken: leases outlive the reader.
func (r *Reader) forget() {
	for {
		m, err := r.conn.take(func(m *message) bool { return m.name != "goaway" })
		if m == nil || err != nil {
			return
		}
		m.drop()
		if m.name == "batch" {
			r.conn.release(m.uint("lease"))
		}
	}
}

// Batches gives one batch after the other, up to the end of the last epoch. A batch is released at
// the end of the loop's body, unless that calls its Keep. A *SampleError stands for a batch that is
// left out, and the one after it follows; any other error ends the loop.
func (r *Reader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			batch, err := r.Next(ctx)
			if err == io.EOF {
				return
			}
			more := guarded(yield, batch, err)
			if batch != nil && !batch.kept {
				batch.Release()
			}
			var bad *SampleError
			if !more || err != nil && !errors.As(err, &bad) {
				return
			}
		}
	}
}

// Next gives the next batch, which is the caller's until its Release; io.EOF at the end of the last
// epoch. After the error of the context nothing is lost, and after a *SampleError the batch behind
// the bad one follows.
func (r *Reader) Next(ctx context.Context) (*Batch, error) {
	for {
		if r.closed {
			return nil, ErrClosed
		}
		if r.ended {
			return nil, io.EOF
		}
		if err := r.recover(ctx); err != nil {
			return nil, err
		}
		batch, err := r.next(ctx)
		if batch != nil || err != nil {
			return batch, err
		}
	}
}

// next handles one message; (nil, nil): it was not for the program.
func (r *Reader) next(ctx context.Context) (*Batch, error) {
	if r.ended {
		return nil, io.EOF
	}
	m, err := r.wait(ctx)
	if err != nil {
		if r.conn.lost() {
			return nil, r.lose(err)
		}
		return nil, err
	}
	r.until, r.tried, r.pause = time.Time{}, false, firstPause
	switch m.name {
	case "batch":
		return r.take(m)
	case "bad_sample":
		if err := r.advance(m); err != nil {
			return nil, err
		}
		return nil, sampleErrorOf(m)
	case "ring":
		if !m.ring.like(r.ring) {
			m.ring.drop()
			return nil, r.broken("a ring of other samples")
		}
		r.moves++
		r.follow(m.ring)
	case "stalled":
		r.stall(m)
	case "end":
		if r.share.next(r.at).Epoch < r.end {
			return nil, r.disordered("the end", m.uint("epoch"), 0)
		}
		r.ended = true
	case "goaway":
		// It fills no more slots: held batches stay as they are without their leases.
		return nil, r.lose(&Error{Code: ErrStopping.Code, Name: ErrStopping.Name, Text: m.text("text")})
	case "error":
		return nil, errorOf(m)
	default:
		m.drop()
		return nil, r.broken("%s instead of a batch", m.name)
	}
	return nil, nil
}

func (r *Reader) wait(ctx context.Context) (*message, error) {
	all := func(*message) bool { return true }
	_, holds := r.conn.leases.Load(r.blocking)
	why := r.stalled
	if uint64(r.held.Load()) >= r.inflight {
		holds, why = true, "all batches of inflight are held: release one, or raise inflight"
	}
	if !holds {
		m, err := r.conn.receive(ctx, all)
		if err != nil && r.stalled != "" && ctx.Err() != nil {
			err = fmt.Errorf("%w: %s", err, r.stalled)
		}
		return m, err
	}
	short, cancel := context.WithTimeout(ctx, heldTime)
	defer cancel()
	m, err := r.conn.receive(short, all)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: %s", ErrHeld, why)
	}
	return m, err
}

func (r *Reader) take(m *message) (*Batch, error) {
	runs := m.fields["runs"].([]run)
	if m.uint("count") > uint64(r.options.BatchSize) || !r.ring.has(runs, m.uint("count")) ||
		r.ring.sized() && !r.ring.hasSize(runs, m.size()) {
		return nil, r.broken("a batch that is too large or outside of the ring")
	}
	if err := r.advance(m); err != nil {
		return nil, err
	}
	if found := m.text("dataset_fingerprint"); found != "" && r.token.Fingerprints["dataset"] == "" {
		r.token.Fingerprints["dataset"] = found
	}
	return newBatch(m, r.ring, r.conn, r.held), nil
}

func (r *Reader) advance(m *message) error {
	again := m.name == "batch" && m.uint("lease") <= r.conn.lastLease
	if again || !r.share.has(r.at, m) {
		return r.disordered("a batch", m.uint("epoch"), m.uint("position"))
	}
	if m.name == "batch" {
		r.conn.lastLease = m.uint("lease")
	}
	r.at, r.stalled, r.blocking = m.place(), "", 0
	return nil
}

func (r *Reader) disordered(what string, epoch, position uint64) error {
	next := r.share.next(r.at)
	return r.broken("batches out of order: %s of epoch %d, position %d, where the batch of epoch "+
		"%d, position %d is next", what, epoch, position, next.Epoch, next.Position)
}

func (r *Reader) stall(m *message) {
	r.stalled, r.blocking = m.text("why"), m.uint("lease")
	if r.stalled == "" {
		r.stalled = fmt.Sprintf("the read of %q has taken %d s so far: does its storage hang?",
			m.text("path"), m.uint("read_ms")/1000)
	}
	r.client.logger().Warn("stoker: a batch waits", "epoch", m.uint("epoch"),
		"position", m.uint("position"), "why", r.stalled)
}

func (r *Reader) broken(format string, arguments ...any) error {
	err := broken(format, arguments...)
	r.conn.ended(err)
	r.conn.close()
	return err
}

// When the daemon goes away

// lose ends the connection. nil: recover() waits for another daemon.
func (r *Reader) lose(why error) error {
	r.conn.close()
	if r.client.reconnect() == 0 {
		return fmt.Errorf("%w; Token says where to resume", why)
	}
	r.conn, r.away = nil, why
	if r.until.IsZero() {
		r.until = time.Now().Add(r.client.reconnect())
		r.client.logger().Warn("stoker: the daemon went away", "error", why,
			"waiting", r.client.reconnect())
	}
	return nil
}

// recover waits for a daemon and attaches where the program is. The time counts up to the first
// message of the next daemon, so one that dies again and again is given up, too.
func (r *Reader) recover(ctx context.Context) error {
	for r.conn == nil {
		if r.tried {
			if time.Now().After(r.until) {
				r.tried = false // another call tries again
				return fmt.Errorf("%w: %w; it did not come back within %v; Token says where to resume",
					ErrDisconnected, r.away, r.client.reconnect())
			}
			if err := sleep(ctx, min(r.pause, time.Until(r.until))); err != nil {
				return err
			}
			r.pause = min(2*r.pause, lastPause)
		}
		r.tried = true
		err := r.reattach(ctx)
		switch {
		case err == nil:
			r.reconnects++
			r.client.logger().Info("stoker: the daemon is back", "epoch", r.at.Epoch,
				"position", r.at.Position)
		case err == io.EOF:
			r.ended = true
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !passes(err):
			return err
		}
	}
	return nil
}

func (r *Reader) reattach(ctx context.Context) (err error) {
	if r.end > 0 && r.at.Epoch >= r.end {
		return io.EOF
	}
	if r.conn, err = r.dial(ctx); err != nil {
		r.conn = nil
		return err
	}
	if err = r.attachAt(ctx, r.at); err != nil {
		r.conn.close()
		r.conn = nil
	}
	return err
}

// passes: can another attempt succeed?
func passes(err error) bool {
	for _, passing := range []error{ErrUnavailable, ErrDisconnected, ErrStopping,
		ErrTooManyConnections, context.DeadlineExceeded} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// Close disconnects. Batches that are held stay readable until their Release, unless the daemon
// needs their slots: release them first.
func (r *Reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.conn != nil {
		r.conn.close()
	}
	r.ring.drop()
	r.given.close()
	return nil
}
