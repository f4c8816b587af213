// SPDX-License-Identifier: MIT

// Train is a training loop that can be killed at any time: two epochs, whose batches another
// goroutine uses.
//
//	go run ./example/train DATASET STATE [BATCHES [STEP_MS]]
//
// After each batch it writes to the file STATE where to go on, and begins there if there is such a
// file. A batch with a bad sample is left out. The daemon may be killed and started again. It stops
// after BATCHES (0: at the end); a step takes STEP_MS.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"stoker.dev/stoker"
)

const epochs = 2

// A step is what the reading goroutine hands to the training one.
type step struct {
	batch *stoker.Batch
	token stoker.Token // where to go on once it is used
}

// learn prints the sums of a batch's pixels, labels and weights, if it has any.
func learn(what string, batch *stoker.Batch) error {
	images, err := stoker.Values[uint8](batch, "image")
	if err != nil {
		return err
	}
	labels, err := stoker.Values[int64](batch, "label")
	if err != nil {
		return err
	}
	pixels, label, weight := uint64(0), int64(0), float64(0)
	for _, value := range images {
		pixels += uint64(value)
	}
	for _, value := range labels {
		label += value
	}
	weights, _ := stoker.Values[float32](batch, "weight") // none: the dataset has no such field
	for _, value := range weights {
		weight += float64(value)
	}
	fmt.Println(what, batch.Epoch, batch.Position, batch.Count, pixels, label, weight)
	return nil
}

// save writes a file that is whole at any time, even if the program is killed here.
func save(token stoker.Token, state string) error {
	text, err := json.Marshal(token)
	if err != nil {
		return err
	}
	if err := os.WriteFile(state+".next", text, 0o666); err != nil {
		return err
	}
	return os.Rename(state+".next", state)
}

// load is nil if there is no such file.
func load(state string) (*stoker.Token, error) {
	text, err := os.ReadFile(state)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	token := new(stoker.Token)
	return token, json.Unmarshal(text, token)
}

// train uses one batch after the other and gives it back. Behind an error it uses none.
func train(steps <-chan step, state string, pause time.Duration) (err error) {
	for step := range steps {
		if err == nil {
			err = learn("batch", step.batch)
		}
		step.batch.Release()
		time.Sleep(pause)
		if err == nil {
			err = save(step.token, state)
		}
	}
	return err
}

// read takes batches up to the end, or so many, and hands them over; the first one is kept.
func read(reader *stoker.Reader, steps chan<- step, state string, batches int) error {
	var kept *stoker.Batch
	n := 0
	for batch, err := range reader.Batches(context.Background()) {
		var bad *stoker.SampleError
		if errors.As(err, &bad) {
			fmt.Println("left out:", bad)
			continue
		}
		if err != nil {
			return err
		}
		if batch.Epoch >= epochs {
			break
		}
		batch.Keep()
		if kept == nil {
			kept = batch
			defer kept.Release()
			if err := errors.Join(learn("first", kept), save(reader.Token(), state)); err != nil {
				return err
			}
		} else {
			steps <- step{batch, reader.Token()}
		}
		if n++; n == batches {
			break
		}
	}
	if kept == nil {
		return nil
	}
	return learn("kept", kept)
}

func run(dataset, state string, batches int, pause time.Duration) error {
	token, err := load(state)
	if err != nil {
		return err
	}
	reader, err := stoker.Attach(context.Background(), &stoker.Options{
		Dataset: stoker.Dataset{Path: dataset},
		Transforms: []stoker.Transform{
			{"name": "RandomResizedCrop", "size": 32}, {"name": "RandomHorizontalFlip"}},
		DType: stoker.DTypeUint8, BatchSize: 8, Token: token,
		Inflight: stoker.Some(uint32(4)), // one kept, one in use, one handed over, one to come
	})
	if err != nil {
		return err
	}
	defer reader.Close()
	for _, field := range reader.Fields() {
		fmt.Println("field", field.Name, field.DType)
	}
	steps, trained := make(chan step), make(chan error)
	go func() { trained <- train(steps, state, pause) }()
	err = read(reader, steps, state, batches)
	close(steps)
	err = errors.Join(err, <-trained)
	fmt.Println("reconnects", reader.Reconnects())
	return err
}

// number is the argument at this place, or 0.
func number(at int) int {
	if at >= len(os.Args) {
		return 0
	}
	value, err := strconv.Atoi(os.Args[at])
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: train DATASET STATE [BATCHES [STEP_MS]]")
	}
	pause := time.Duration(number(4)) * time.Millisecond
	if err := run(os.Args[1], os.Args[2], number(3), pause); err != nil {
		log.Fatal(err)
	}
}
