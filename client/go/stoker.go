// SPDX-License-Identifier: MIT

// Package stoker reads batches of decoded and transformed samples from stokerd, the data-loading
// daemon of this machine, in place: the memory of a batch is shared with the daemon, read-only.
//
//	reader, err := stoker.Attach(ctx, &stoker.Options{
//		Dataset:    stoker.Dataset{Path: "/data/train"},
//		Transforms: []stoker.Transform{{"name": "RandomResizedCrop", "size": 224}},
//		BatchSize:  64,
//		Epochs:     1,
//	})
//	if err != nil {
//		return err
//	}
//	defer reader.Close()
//	for batch, err := range reader.Batches(ctx) {
//		if err != nil {
//			return err
//		}
//		images, _ := stoker.Values[float32](batch, "image") // valid until the end of the body
//		train(images)
//	}
//
// The bytes of a batch depend on dataset, transforms, seeds, epoch and position, and on nothing
// else. If the daemon dies or is restarted, the reader waits for it and goes on after the last
// batch that it gave: the same batches come, after a pause.
//
// One goroutine at a time uses a Reader. Any goroutine may read a batch and release it.
package stoker

import (
	"context"
	"log/slog"
	"time"
)

// Version of the client.
const Version = "0.1.0"

// A Client says how to find the daemon. The zero value is ready for use.
type Client struct {
	// Socket of the daemon. Empty: $STOKER_SOCKET, else the first that answers of
	// $XDG_RUNTIME_DIR/stoker/stokerd.sock, /tmp/stoker-<uid>/stokerd.sock and
	// /run/stoker/stokerd.sock.
	Socket string

	// How long to wait for a daemon that went away. 0: a minute; negative: not at all.
	Reconnect time.Duration

	// Where to say that the daemon went away or came back, which read hangs, and what people
	// should know of a dataset. nil: slog.Default().
	Logger *slog.Logger

	// How rings may come: "fd" or "path". Empty: both, and the daemon chooses.
	Transport string

	// Sent over each connection, before the dataset is asked for.
	Credentials []Credentials
}

// Attach to a stream with the zero Client.
func Attach(ctx context.Context, options *Options) (*Reader, error) {
	return (&Client{}).Attach(ctx, options)
}

func (c *Client) logger() *slog.Logger {
	if c.Logger != nil {
		return c.Logger
	}
	return slog.Default()
}

func (c *Client) reconnect() time.Duration {
	if c.Reconnect == 0 {
		return time.Minute
	}
	return max(0, c.Reconnect)
}
