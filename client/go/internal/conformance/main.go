// SPDX-License-Identifier: MIT

// The conformance program of the Go client: docs/LANGUAGES.md has its command line and its output.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"stoker.dev/stoker"
)

type request struct {
	Attach      map[string]json.RawMessage `json:"attach"`
	Transport   string                     `json:"transport"`
	Token       *stoker.Token              `json:"token"`
	Take        int                        `json:"take"`
	Pause       int                        `json:"pause"`
	Hold        int                        `json:"hold"`
	Keep        int                        `json:"keep"`
	Credit      []int                      `json:"credit"`
	Again       bool                       `json:"again"`
	Classes     bool                       `json:"classes"`
	Paths       []uint64                   `json:"paths"`
	Measure     bool                       `json:"measure"`
	ReconnectMS *int                       `json:"reconnect_ms"`
	TimeoutMS   int                        `json:"timeout_ms"`
	AttachMS    int                        `json:"attach_timeout_ms"`
	Credentials credentials                `json:"credentials"`
	Refresh     credentials                `json:"refresh"`
	Produce     *produce                   `json:"produce"`
}

type credentials []struct {
	URL, Key, Secret, Token string
	Expires                 int64
}

func (c credentials) own() []stoker.Credentials {
	var all []stoker.Credentials
	for _, c := range c {
		one := stoker.Credentials{URL: c.URL, Key: c.Key, Secret: c.Secret, Token: c.Token}
		if c.Expires != 0 {
			one.Expires = time.Unix(c.Expires, 0)
		}
		all = append(all, one)
	}
	return all
}

type held struct {
	batch  *stoker.Batch
	digest string
}

type program struct {
	request
	reader *stoker.Reader
	held   []held
	taken  int
}

func main() {
	var p program
	if err := json.Unmarshal([]byte(os.Args[2]), &p.request); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(64)
	}
	if err := p.run(os.Args[1]); err != nil {
		fmt.Printf("error name=%s text=%s\n", nameOf(err), hex.EncodeToString([]byte(err.Error())))
		os.Exit(1)
	}
}

func nameOf(err error) string {
	var refused *stoker.Error
	for _, row := range []struct {
		err  error
		name string
	}{
		{stoker.ErrProtocol, "broken"}, {context.DeadlineExceeded, "timeout"},
		{stoker.ErrHeld, "held"}, {stoker.ErrDisconnected, "disconnected"}, {stoker.ErrUnavailable, "unavailable"},
		{stoker.ErrOption, "option"},
	} {
		if errors.Is(err, row.err) {
			return row.name
		}
	}
	if errors.As(err, &refused) {
		return refused.Name
	}
	return "other"
}

func (p *program) run(socket string) error {
	options, err := optionsOf(p.Attach)
	if err != nil {
		return err
	}
	options.Token = p.Token
	client := &stoker.Client{Socket: socket, Transport: p.Transport}
	if p.ReconnectMS != nil {
		client.Reconnect = time.Duration(*p.ReconnectMS) * time.Millisecond
	}
	client.Credentials = p.Credentials.own()
	if p.Produce != nil {
		return p.Produce.run(client, options)
	}
	ctx := context.Background()
	attaching := ctx
	if p.AttachMS > 0 {
		var cancel context.CancelFunc
		attaching, cancel = context.WithTimeout(ctx, time.Duration(p.AttachMS)*time.Millisecond)
		defer cancel()
	}
	if p.reader, err = client.Attach(attaching, options); err != nil {
		return err
	}
	defer p.reader.Close()
	if err := p.attached(ctx); err != nil {
		return err
	}
	if p.Measure {
		return p.measure(ctx)
	}
	if err := p.read(ctx); err != nil || !p.Again {
		return err
	}
	if err := p.reader.Seek(ctx, p.reader.Place()); err != nil {
		return err
	}
	p.Take, p.taken = 0, 0
	if err := p.attached(ctx); err != nil {
		return err
	}
	return p.read(ctx)
}

func (p *program) attached(ctx context.Context) error {
	var fields []string
	for _, field := range p.reader.Fields() {
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(field.Shape), "[]"), " ", "x")
		fields = append(fields, field.Name+":"+string(field.DType)+":"+shape)
	}
	dataset, pipeline, sampling := p.reader.Hashes()
	fmt.Printf("attached samples=%d batches=%d dataset=%s pipeline=%s sampling=%s fields=%s\n",
		p.reader.Samples(), p.reader.BatchCount(), dataset, pipeline, sampling,
		strings.Join(fields, ","))
	if p.Classes {
		names, err := p.reader.Classes(ctx)
		if err != nil {
			return err
		}
		sayNames("classes", names)
	}
	if p.Paths != nil {
		names, err := p.reader.Paths(ctx, p.Paths...)
		if err != nil {
			return err
		}
		sayNames("paths", names)
	}
	return nil
}

func sayNames(event string, names []string) {
	for i, name := range names {
		names[i] = hex.EncodeToString([]byte(name))
	}
	fmt.Printf("%s names=%s\n", event, strings.Join(names, ","))
}

func (p *program) read(ctx context.Context) error {
	end := false
	for !end && (p.Take == 0 || p.taken < p.Take) {
		batch, err := p.next(ctx)
		var bad *stoker.SampleError
		switch {
		case err == io.EOF:
			end = true
		case errors.As(err, &bad):
			fmt.Printf("bad name=%s position=%d sample=%d\n", bad.Name, bad.Position, bad.Sample)
		case err != nil:
			return err
		default:
			if err := p.have(batch); err != nil {
				return err
			}
		}
	}
	token, err := json.Marshal(p.reader.Token())
	if err != nil {
		return err
	}
	fmt.Printf("token %s\n", token)
	for len(p.held) > 0 {
		if err := p.letGo(0); err != nil {
			return err
		}
	}
	word := "left"
	if end {
		word = "end"
	}
	fmt.Printf("%s reconnects=%d\n", word, p.reader.Reconnects())
	return nil
}

func (p *program) next(ctx context.Context) (*stoker.Batch, error) {
	if p.TimeoutMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(p.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	return p.reader.Next(ctx)
}

func (p *program) have(batch *stoker.Batch) error {
	digest, err := digestOf(batch)
	if err != nil {
		return err
	}
	fmt.Printf("batch epoch=%d position=%d count=%d padded=%d wrapped=%d substituted=%d "+
		"next_epoch=%d next_position=%d digest=%s\n", batch.Epoch, batch.Position, batch.Count,
		batch.Padded, batch.Wrapped, batch.Substituted, batch.Next.Epoch, batch.Next.Position, digest)
	p.held = append(p.held, held{batch, digest})
	p.taken++
	for len(p.held) > p.Keep+p.Hold {
		if err := p.letGo(p.Keep); err != nil {
			return err
		}
	}
	if p.taken == p.Pause {
		fmt.Println("paused")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		if p.Refresh != nil {
			if err := p.reader.SetCredentials(context.Background(), p.Refresh.own()...); err != nil {
				return err
			}
		}
	}
	if p.Credit != nil && p.taken == p.Credit[0] {
		return p.reader.SetInflight(p.Credit[1])
	}
	return nil
}

// letGo gives one back, after a look at whether it is as it was.
func (p *program) letGo(at int) error {
	one := p.held[at]
	p.held = slices.Delete(p.held, at, at+1)
	digest, err := digestOf(one.batch)
	if digest != one.digest {
		fmt.Printf("changed position=%d\n", one.batch.Position)
	}
	one.batch.Release()
	return err
}

// digestOf the samples in order, of each all fields.
func digestOf(batch *stoker.Batch) (string, error) {
	fields := batch.Fields()
	runs := make([][][]byte, len(fields))
	for f, field := range fields {
		var err error
		if runs[f], err = batch.Bytes(field.Name); err != nil {
			return "", err
		}
	}
	digest, sample := sha256.New(), 0
	for r := range runs[0] {
		for i := range len(runs[0][r]) / fields[0].Bytes {
			for f, field := range fields {
				if field.Ragged {
					numbers, shape, err := batch.Item(field.Name, sample)
					if err != nil {
						return "", err
					}
					for _, edge := range shape {
						digest.Write(binary.NativeEndian.AppendUint64(nil, uint64(edge)))
					}
					digest.Write(numbers)
					continue
				}
				digest.Write(runs[f][r][i*field.Bytes : (i+1)*field.Bytes])
			}
			sample++
		}
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// Measuring

// measure does what the lines of the standard input say.
func (p *program) measure(ctx context.Context) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var err error
		words := strings.Fields(lines.Text())
		numbers := make([]uint64, len(words)-1)
		for i, word := range words[1:] {
			if numbers[i], err = strconv.ParseUint(word, 10, 64); err != nil {
				return err
			}
		}
		switch words[0] {
		case "read":
			err = p.measureRead(ctx, numbers[0])
		case "seek":
			err = p.measureSeek(ctx, stoker.Place{Epoch: numbers[0], Position: numbers[1]})
		case "collect":
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			fmt.Printf("collected heap=%d\n", stats.HeapAlloc)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

func (p *program) measureRead(ctx context.Context, batches uint64) error {
	begun := time.Now()
	samples, sum := 0, uint64(0)
	for range batches {
		batch, err := p.reader.Next(ctx)
		if err != nil {
			return err
		}
		samples += batch.Count
		touched, err := touch(batch)
		if err != nil {
			return err
		}
		sum += touched
		batch.Release()
	}
	fmt.Printf("measured ns=%d samples=%d sum=%d\n", time.Since(begun).Nanoseconds(), samples, sum)
	return nil
}

func (p *program) measureSeek(ctx context.Context, place stoker.Place) error {
	begun := time.Now()
	if err := p.reader.Seek(ctx, place); err != nil {
		fmt.Printf("refused name=%s\n", nameOf(err))
		return nil
	}
	batch, err := p.reader.Next(ctx)
	if err != nil {
		return err
	}
	defer batch.Release()
	taken := time.Since(begun).Nanoseconds()
	sum, err := touch(batch)
	fmt.Printf("sought ns=%d position=%d sum=%d\n", taken, batch.Position, sum)
	return err
}

// touch reads one byte of each cache line of the images.
func touch(batch *stoker.Batch) (uint64, error) {
	images, err := stoker.Values[uint8](batch, "image")
	var sum uint64
	for i := 0; i < len(images); i += 64 {
		sum += uint64(images[i])
	}
	return sum, err
}

// From JSON to options

// optionsOf finds each option by its name.
func optionsOf(attach map[string]json.RawMessage) (*stoker.Options, error) {
	out := &stoker.Options{}
	for key, raw := range attach {
		value, err := valueOf(raw)
		if err != nil {
			return nil, err
		}
		field := reflect.ValueOf(out).Elem().FieldByName(camel(key))
		if !field.IsValid() {
			return nil, fmt.Errorf("%w: there is no %s", stoker.ErrOption, key)
		}
		if err := set(field, value); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", stoker.ErrOption, key, err)
		}
	}
	return out, nil
}

func camel(key string) string {
	if key == "dtype" {
		return "DType"
	}
	var out string
	for _, word := range strings.Split(key, "_") {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}

// valueOf reads {"hex": "ff00"} as a text and {"uint": "..."} as a number.
func valueOf(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return plain(value)
}

func plain(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil
		}
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			var err error
			if v[i], err = plain(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if digits, ok := v["hex"].(string); ok {
			bytes, err := hex.DecodeString(digits)
			return string(bytes), err
		}
		if digits, ok := v["uint"].(string); ok {
			return strconv.ParseUint(digits, 10, 64)
		}
		for key := range v {
			var err error
			if v[key], err = plain(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// set gives a field of the options a value of plain().
func set(field reflect.Value, value any) error {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		return set(field.Elem(), value)
	}
	switch v := value.(type) {
	case map[string]any:
		if field.Kind() == reflect.Struct {
			for key, item := range v {
				member := field.FieldByName(camel(key))
				if !member.IsValid() {
					return fmt.Errorf("there is no %s", key)
				}
				if err := set(member, item); err != nil {
					return err
				}
			}
			return nil
		}
	case []any:
		out := reflect.MakeSlice(field.Type(), len(v), len(v))
		for i := range v {
			if err := set(out.Index(i), v[i]); err != nil {
				return err
			}
		}
		field.Set(out)
		return nil
	}
	given := reflect.ValueOf(value)
	if !given.CanConvert(field.Type()) {
		return fmt.Errorf("%v does not fit", value)
	}
	field.Set(given.Convert(field.Type()))
	return nil
}
