// SPDX-License-Identifier: MIT

package stoker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Producers: they make the samples of a dataset of kind "code", or what a Map gives for each picture
// (PROTOCOL.md, section 11). One goroutine and one connection for each. Knows no reader.

const (
	secretBytes   = 16
	recordsAlign  = 64 // of records in the tray
	tellTime      = 50 * time.Millisecond
	failedTextMax = 1024
)

// A Sample is what a producer is asked for. What its code draws at random must follow from Seed,
// Epoch and Position alone, as that of Rand does.
type Sample struct {
	Index           uint64 // in the dataset
	Epoch, Position uint64
	Seed            uint64 // AugmentSeed of the stream
	// Picture that the transforms before the Map have made, opaque. It is Make's own. nil: there is
	// no Map.
	Picture *image.NRGBA
}

// Rand is a source of random numbers for this sample: the same ones whenever it is made.
func (s Sample) Rand() *rand.Rand {
	var seed [32]byte
	for i, number := range []uint64{s.Seed, s.Epoch, s.Position} {
		binary.LittleEndian.PutUint64(seed[8*i:], number)
	}
	return rand.New(rand.NewChaCha8(seed))
}

// A Producer makes the samples of a dataset of kind "code", or what a Map gives for each picture.
type Producer struct {
	// Dataset as its readers have it. Code is the identity of what Make does: change it when that
	// changes. With Arrays Make gives Arrays, else a File or a Picture.
	Dataset Dataset
	// Map in the stead of Dataset, as its readers have it among their Transforms: {"name": "Map",
	// "code": "negative 1"}. Make then changes Sample.Picture: it gives a Picture, without a label, or
	// with "arrays" of the Map Arrays.
	Map Transform
	// Secret of its readers, of 16 bytes: see UserSecret.
	Secret string
	// Make a sample. An error, or a panic, makes that sample bad, with its text, and the next one
	// follows. The context ends with Produce, and with the connection: what is made is then of use
	// to nobody, and Make should return.
	Make func(ctx context.Context, sample Sample) (Record, error)
	// Count of samples that are made at the same time, by as many goroutines. 0: one.
	Count int
	// Deadline of a sample, after which another producer tries; ten times that for the first one. 0:
	// that of the daemon.
	Deadline time.Duration
}

// Produce with the zero Client.
func Produce(ctx context.Context, producer *Producer) error {
	return (&Client{}).Produce(ctx, producer)
}

// Produce makes samples until the context ends, and then returns nil: what was not made is left to
// other producers. If the daemon dies or is restarted, it waits for it, as a Reader does.
func (c *Client) Produce(ctx context.Context, producer *Producer) error {
	declared, err := producer.check()
	if err != nil {
		return err
	}
	request := producer.request()
	if _, err := encode("produce", request); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	shared, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for range max(1, producer.Count) {
		all.Add(1)
		go func() {
			defer all.Done()
			one := production{client: c, producer: producer, request: request, declared: declared}
			if err := one.run(shared); err != nil {
				stop(err)
			}
		}()
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(shared)
}

func (p *Producer) check() ([]declaredArray, error) {
	switch {
	case p.Make == nil:
		return nil, fmt.Errorf("%w: the Producer has no Make", ErrOption)
	case len(p.Secret) != secretBytes:
		return nil, fmt.Errorf("%w: Secret has %d bytes, and must have %d: UserSecret gives one",
			ErrOption, len(p.Secret), secretBytes)
	}
	_, _, arrays := p.identity()
	return declaredArrays(arrays)
}

// identity of the code, its name for people, and the arrays that it gives.
func (p *Producer) identity() (code, name, arrays string) {
	if p.Map == nil {
		return p.Dataset.Code, strings.TrimPrefix(p.Dataset.Path, "code:"), p.Dataset.Arrays
	}
	code, _ = p.Map["code"].(string)
	arrays, _ = p.Map["arrays"].(string)
	return code, code, arrays
}

// numbers that WORK has of a sample: its place, and of a Map where the picture lies.
func (p *Producer) numbers() int {
	if p.Map == nil {
		return 3
	}
	return 6
}

func (p *Producer) request() map[string]any {
	code, name, _ := p.identity()
	return map[string]any{"code": code, "secret": p.Secret, "name": name,
		"deadline_ms": uint64(p.Deadline.Milliseconds())}
}

// A production is one producer of the daemon's.
type production struct {
	client   *Client
	producer *Producer
	request  map[string]any // the PRODUCE
	declared []declaredArray

	conn *conn
	tray *tray
	ctx  context.Context // of Make: ends with the connection
	stop context.CancelFunc
}

// run makes samples for one daemon after the other. nil: the context has ended.
func (p *production) run(ctx context.Context) error {
	runtime.LockOSThread() // which ends with this goroutine, as it has a niceness of its own
	err := p.begin(ctx)
	for err == nil {
		err = p.serve(ctx)
		p.end()
		if ctx.Err() == nil && (passes(err) || errors.Is(err, ErrTimeout)) {
			err = p.again(ctx, err)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// begin connects, and gets a tray.
func (p *production) begin(ctx context.Context) error {
	c, err := dial(ctx, p.client.Socket, p.client.logger())
	if err != nil {
		return err
	}
	told, err := c.request(ctx, quietTime, "produce", "producer", maps.Clone(p.request), nil)
	if err != nil {
		c.close()
		return err
	}
	p.conn, p.tray = c, told.tray
	p.ctx, p.stop = context.WithCancel(ctx)
	go func(stop func()) {
		<-c.gone
		stop()
	}(p.stop)
	nice := int(told.uint("nice"))
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && 20-now < nice {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice) // of this thread
	}
	return nil
}

func (p *production) end() {
	p.conn.close()
	p.stop()
	p.tray.drop()
}

// again begins with a daemon that comes back.
func (p *production) again(ctx context.Context, away error) error {
	log, wait := p.client.logger(), p.client.reconnect()
	if errors.Is(away, ErrTimeout) {
		log.Warn("stoker: a sample took too long, and another producer makes it", "error", away)
	} else {
		log.Warn("stoker: the daemon went away from a producer", "error", away, "waiting", wait)
	}
	until := time.Now().Add(wait)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		err := p.begin(ctx)
		if err == nil || !passes(err) {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%w: %w; it did not come back within %v", ErrDisconnected, away, wait)
		}
	}
}

// serve makes what the daemon asks for, until the connection ends.
func (p *production) serve(ctx context.Context) error {
	for ctx.Err() == nil {
		m, err := p.conn.receive(ctx, func(*message) bool { return true })
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			err = p.handle(m)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	// What it has is lent to others as it was, and no failure of the samples.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyTime)
	defer cancel()
	_, _ = p.conn.request(last, replyTime, "detach", "ok", map[string]any{}, nil)
	return ctx.Err()
}

func (p *production) handle(m *message) error {
	switch m.name {
	case "work":
		return p.work(m)
	case "producer": // a larger tray in the stead of the one before
		p.tray.drop()
		p.tray = m.tray
	case "goaway": // readers finish what they hold; the end of the connection follows
	case "error":
		return errorOf(m)
	default:
		m.drop()
		return broken("%s for a producer", m.name)
	}
	return nil
}

// A group of samples, on their way into the tray.
type group struct {
	conn   *conn
	number uint64
	room   []byte // of the tray, that is left
	at     uint64 // where in the tray that is
	made   []any  // what is not told yet
	told   time.Time
}

func (p *production) work(m *message) error {
	at, size := m.uint("offset"), m.uint("bytes")
	if length := uint64(len(p.tray.memory)); at > length || size > length-at {
		return broken("WORK whose part is outside of the tray")
	}
	samples, ok := m.fields["samples"].([]any)
	if !ok {
		return broken("WORK without a list of samples")
	}
	g := group{conn: p.conn, number: m.uint("group"), room: p.tray.memory[at : at+size], at: at,
		told: time.Now()}
	for place, item := range samples {
		sample, err := p.sampleOf(item, m.uint("seed"))
		if err != nil {
			return err
		}
		parts, err := p.make(sample)
		if p.ctx.Err() != nil {
			return nil // whatever it says, and the reason is told by who waits for messages
		}
		if err == nil {
			err = g.put(place, parts)
		} else {
			err = g.fail(place, err.Error(), 0)
		}
		if err != nil {
			return err
		}
	}
	return g.tell()
}

func (p *production) sampleOf(item any, seed uint64) (Sample, error) {
	list, _ := item.([]any)
	numbers := make([]uint64, len(list))
	for i := range list {
		number, ok := list[i].(uint64)
		if !ok {
			return Sample{}, broken("WORK with a sample of other things than numbers")
		}
		numbers[i] = number
	}
	if wanted := p.producer.numbers(); len(numbers) != wanted {
		return Sample{}, broken("WORK with a sample of %d numbers, not %d", len(numbers), wanted)
	}
	out := Sample{Index: numbers[0], Epoch: numbers[1], Position: numbers[2], Seed: seed}
	if p.producer.Map == nil {
		return out, nil
	}
	picture, ok := p.tray.picture(numbers[3], numbers[4], numbers[5])
	if !ok {
		return out, broken("WORK with a picture that is outside of the tray")
	}
	out.Picture = picture
	return out, nil
}

// make a sample by the user's code, whose panic is an error like others.
func (p *production) make(sample Sample) (parts [][]byte, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v%s", thrown, whereThrown())
		}
	}()
	record, err := p.producer.Make(p.ctx, sample)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, errors.New("neither a Record nor an error came from Make")
	}
	parts, err = record.parts(p.declared)
	if p.producer.Map == nil || p.declared != nil || err != nil {
		return parts, err
	}
	if _, ok := record.(Picture); !ok {
		return nil, fmt.Errorf("a Map gives a Picture, and this is a %T", record)
	}
	return parts[1:], nil // without the label, which is the dataset's
}

// whereThrown: the place of a panic, asked in a deferred function.
func whereThrown() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	thrown := false
	for {
		frame, more := frames.Next()
		if thrown && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("; %s:%d in %s", filepath.Base(frame.File), frame.Line, frame.Function)
		}
		thrown = thrown || frame.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}

// put a record into the tray.
func (g *group) put(place int, parts [][]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size > len(g.room) {
		return g.fail(place, fmt.Sprintf("the sample has %d bytes, and its tray has room for %d", size,
			len(g.room)), uint64(size))
	}
	at := 0
	for _, part := range parts {
		at += copy(g.room[at:], part)
	}
	g.made = append(g.made, []any{uint64(place), g.at, uint64(size)})
	next := min((size+recordsAlign-1)/recordsAlign*recordsAlign, len(g.room))
	g.room, g.at = g.room[next:], g.at+uint64(next)
	if time.Since(g.told) < tellTime {
		return nil
	}
	return g.tell()
}

// tell the daemon what was put since it was told last.
func (g *group) tell() error {
	if len(g.made) == 0 {
		return nil
	}
	made := g.made
	g.made, g.told = nil, time.Now()
	return g.send("made", map[string]any{"group": g.number, "samples": made})
}

// fail says that a sample cannot be made, or, with `needed`, that it does not fit here.
func (g *group) fail(place int, text string, needed uint64) error {
	if err := g.tell(); err != nil {
		return err
	}
	text = strings.ToValidUTF8(text[:min(len(text), failedTextMax)], "?")
	return g.send("failed", map[string]any{"group": g.number, "sample": uint64(place), "text": text,
		"needed": needed})
}

// send: if the daemon has hung up, reading says why.
func (g *group) send(name string, values map[string]any) error {
	if err := g.conn.send(name, values); !errors.Is(err, ErrDisconnected) {
		return err
	}
	return nil
}
