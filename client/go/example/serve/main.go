// SPDX-License-Identifier: MIT

// Serve gives the batches of one stream to whoever asks for the next one, over HTTP: each batch to
// one caller, as raw pixels, with its place and labels in the head.
//
//	go run ./example/serve -data /data/train -listen localhost:8080
//	curl -si localhost:8080/next | head -9
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	"stoker.dev/stoker"
)

func main() {
	data := flag.String("data", ".", "an image folder")
	size := flag.Int("size", 224, "edge of a picture")
	batch := flag.Uint("batch", 32, "samples in a batch")
	listen := flag.String("listen", "localhost:8080", "address")
	flag.Parse()
	reader, err := stoker.Attach(context.Background(), &stoker.Options{
		Dataset: stoker.Dataset{Path: *data},
		Transforms: []stoker.Transform{
			{"name": "RandomResizedCrop", "size": *size}, {"name": "RandomHorizontalFlip"}},
		DType: "uint8", Layout: "NHWC", BatchSize: uint32(*batch),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()
	var one sync.Mutex // a reader has one user at a time; batches may be read at the same time
	http.HandleFunc("GET /next", func(w http.ResponseWriter, r *http.Request) {
		one.Lock()
		batch, err := reader.Next(r.Context())
		one.Unlock()
		if err != nil {
			fail(w, err)
			return
		}
		defer batch.Release()
		if err := put(w, batch); err != nil {
			log.Print(err)
		}
	})
	server, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/next\n", server.Addr())
	log.Fatal(http.Serve(server, nil))
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	if errors.Is(err, io.EOF) {
		status = http.StatusGone
	}
	http.Error(w, err.Error(), status)
}

func put(w http.ResponseWriter, batch *stoker.Batch) error {
	labels, err := stoker.Values[int64](batch, "label")
	if err != nil {
		return err
	}
	images, err := batch.Bytes("image")
	if err != nil {
		return err
	}
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream")
	head.Set("Stoker-Epoch", fmt.Sprint(batch.Epoch))
	head.Set("Stoker-Position", fmt.Sprint(batch.Position))
	head.Set("Stoker-Labels", fmt.Sprint(labels))
	for _, run := range images {
		if _, err := w.Write(run); err != nil {
			return err
		}
	}
	return nil
}
