// SPDX-License-Identifier: MIT

package stoker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"time"

	"stoker.dev/stoker"
)

// One epoch in order, for an evaluation.
func ExampleAttach() {
	ctx := context.Background()
	reader, err := stoker.Attach(ctx, &stoker.Options{
		Dataset:    stoker.Dataset{Path: "/data/val"},
		Transforms: []stoker.Transform{{"name": "Resize", "size": 256}, {"name": "CenterCrop", "size": 224}},
		BatchSize:  64, Epochs: 1, Shuffle: stoker.Some(false),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()
	for batch, err := range reader.Batches(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		labels, err := stoker.Values[int64](batch, "label")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Position, labels)
	}
}

// A loop that goes past bad samples, and waits for a batch at most ten seconds.
func ExampleReader_Next() {
	reader := open()
	defer reader.Close()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		batch, err := reader.Next(ctx)
		cancel()
		var bad *stoker.SampleError
		switch {
		case errors.As(err, &bad):
			log.Print(bad) // its batch is left out
		case errors.Is(err, context.DeadlineExceeded):
			log.Print("no batch yet") // nothing is lost
		case err != nil:
			return // io.EOF behind the last epoch
		default:
			fmt.Println(batch.Epoch, batch.Position, batch.Count)
			batch.Release()
		}
	}
}

// Where to resume, in a file that a client of any language reads.
func ExampleReader_Token() {
	reader := open()
	defer reader.Close()
	text, err := json.Marshal(reader.Token())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("stream.json", text, 0o644); err != nil {
		log.Fatal(err)
	}
}

// A batch that is kept beyond the body of the loop.
func ExampleBatch_Keep() {
	reader := open()
	defer reader.Close()
	var first *stoker.Batch
	for batch, err := range reader.Batches(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		if first == nil {
			batch.Keep()
			first = batch
		}
	}
	if first != nil {
		first.Release()
	}
}

func ExampleSome() {
	options := stoker.Options{Shuffle: stoker.Some(false), Inflight: stoker.Some(uint32(5))}
	fmt.Println(*options.Shuffle, *options.Inflight)
	// Output: false 5
}

// Samples of two arrays that this program makes, until its context ends.
func ExampleProduce() {
	secret, err := stoker.UserSecret()
	if err != nil {
		log.Fatal(err)
	}
	err = stoker.Produce(context.Background(), &stoker.Producer{
		Dataset: stoker.Dataset{Path: "code:waves", Kind: "code", Code: "waves 1", Samples: "1000",
			Arrays: "wave:float32:256 shift:int64:"},
		Secret: secret, Count: 4,
		Make: func(_ context.Context, sample stoker.Sample) (stoker.Record, error) {
			shift := sample.Rand().Int64N(256)
			wave := make([]float32, 256)
			for i := range wave {
				wave[i] = float32(math.Sin(float64(int64(i) + shift)))
			}
			return stoker.Arrays{stoker.ArrayOf(wave, 256), stoker.ArrayOf([]int64{shift})}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
}

func open() *stoker.Reader {
	reader, err := stoker.Attach(context.Background(), &stoker.Options{
		Dataset: stoker.Dataset{Path: "/data/train"}, BatchSize: 64, Epochs: 1,
		Transforms: []stoker.Transform{{"name": "RandomResizedCrop", "size": 224}},
	})
	if err != nil {
		log.Fatal(err)
	}
	return reader
}
