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
	producer := &stoker.Producer{Dataset: options.Dataset, Secret: options.Secret, Make: p.make,
		Count: p.Count}
	for _, transform := range options.Transforms {
		if transform["name"] == "Map" {
			producer.Dataset, producer.Map = stoker.Dataset{}, transform
		}
	}
	err := client.Produce(ctx, producer)
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
	case "negative":
		for i, value := range sample.Picture.Pix {
			sample.Picture.Pix[i] = 255 - value
		}
		return stoker.Picture{Image: sample.Picture}, nil
	case "sums":
		return p.sums(sample), nil
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

func placeOf(sample stoker.Sample) int64 {
	return int64(sample.Seed + 1000*sample.Epoch + sample.Position)
}

func (p *produce) sums(sample stoker.Sample) stoker.Record {
	place := stoker.ArrayOf([]int64{placeOf(sample)})
	if p.Wrong != nil && *p.Wrong == sample.Index {
		place = stoker.ArrayOf(make([]int64, 9), 3, 3)
	}
	sums := make([]uint64, sample.Picture.Rect.Dy())
	for i, value := range sample.Picture.Pix {
		if i%4 != 3 {
			sums[i/sample.Picture.Stride] += uint64(value)
		}
	}
	return stoker.Arrays{place, stoker.ArrayOf(sums, len(sums))}
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
	return stoker.Arrays{
		stoker.ArrayOf(grid, shape...),
		stoker.ArrayOf([]int64{placeOf(sample)}),
		stoker.ArrayOf(boxes, rows, 2),
		stoker.TextOf(fmt.Sprintf("sample %d", sample.Index)),
	}
}
