// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"

	"stoker.dev/stoker"
)

// The samples that docs/LANGUAGES.md has formulas of.

type produce struct {
	Gives string
	Count int
	Fails *uint64
	Wrong *uint64
}

const width, height = 8, 6

func (p *produce) run(client *stoker.Client, options *stoker.Options) error {
	ctx, leave := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		leave()
	}()
	err := client.Produce(ctx, &stoker.Producer{Dataset: options.Dataset, Secret: options.Secret,
		Make: p.make, Count: p.Count})
	if err == nil {
		fmt.Println("left")
	}
	return err
}

func (p *produce) make(_ context.Context, sample stoker.Sample) (stoker.Record, error) {
	label := int64(sample.Index % 7)
	if p.Fails != nil && *p.Fails == sample.Index {
		return nil, fmt.Errorf("no luck with %d", sample.Index)
	}
	switch p.Gives {
	case "arrays":
		return p.arrays(sample), nil
	case "picture":
		picture := image.NewNRGBA(image.Rect(0, 0, width, height))
		for i := range width * height {
			first := byte(31*sample.Index) + byte(3*i)
			picture.Set(i%width, i/width, color.NRGBA{first, first + 1, first + 2, 255})
		}
		return stoker.Picture{Label: label, Image: picture}, nil
	}
	file := fmt.Appendf(nil, "P5\n%d %d\n255\n", width, height)
	for i := range width * height {
		file = append(file, byte(31*sample.Index)+byte(i))
	}
	return stoker.File{Label: label, Bytes: file}, nil
}

func (p *produce) arrays(sample stoker.Sample) stoker.Record {
	grid, shape := make([]float32, 6), []int{2, 3}
	for i := range grid {
		grid[i] = float32(sample.Index) + float32(i)/2
	}
	if p.Wrong != nil && *p.Wrong == sample.Index {
		shape = []int{3, 3}
		grid = append(grid, 7, 8, 9)
	}
	rows := int(sample.Index % 3)
	boxes := make([]uint16, 2*rows)
	for i := range boxes {
		boxes[i] = uint16(sample.Index) + uint16(i)
	}
	place := int64(sample.Seed + 1000*sample.Epoch + sample.Position)
	return stoker.Arrays{
		stoker.ArrayOf(grid, shape...),
		stoker.ArrayOf([]int64{place}),
		stoker.ArrayOf(boxes, rows, 2),
		stoker.TextOf(fmt.Sprintf("sample %d", sample.Index)),
	}
}
