// SPDX-License-Identifier: MIT

package stoker

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// An Error is what the daemon says when it refuses a request or ends a connection. errors.Is finds
// it by its code: errors.Is(err, stoker.ErrDataset).
type Error struct {
	Code uint32
	Name string // in the protocol's table
	Text string // what happened, to what, what to do

	description map[string]any // of ErrToken: of what was asked for
}

func (e *Error) Error() string {
	if e.Text == "" {
		return "stoker: " + plain(e.Name)
	}
	return plain(fmt.Sprintf("stoker: %s (%s)", e.Text, e.Name))
}

// Is compares codes.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// What the client finds itself.
var (
	// ErrUnavailable: no daemon answers, or it is not trusted.
	ErrUnavailable = errors.New("stoker: no daemon")
	// ErrDisconnected: the daemon went away, and did not come back in time.
	ErrDisconnected = errors.New("stoker: disconnected")
	// ErrProtocol: the daemon violated the protocol. The connection is closed.
	ErrProtocol = errors.New("stoker: the daemon violated the protocol")
	// ErrOption: an option is wrong; the daemon was not asked.
	ErrOption = errors.New("stoker: option")
	// ErrHeld: no other batch can come before one is released. The text says which.
	ErrHeld = errors.New("stoker: held")
	// ErrReleased: the batch was released.
	ErrReleased = errors.New("stoker: the batch was released")
	// ErrClosed: the reader was closed.
	ErrClosed = errors.New("stoker: the reader is closed")
)

// A SampleError says that a sample of a batch cannot be made. The batch is left out, and the next
// one follows. With Options.BadSamples "substitute" a neighbour replaces the sample instead.
type SampleError struct {
	Code            uint32
	Name            string // in the protocol's table
	Text            string
	Epoch, Position uint64 // of the sample; the position counts over all ranks
	Sample          uint64 // its index in the dataset
	Path            string // of its file, as bytes
}

func (e *SampleError) Error() string {
	return plain(fmt.Sprintf("stoker: epoch %d, position %d: sample %d (%s): %s (%s)", e.Epoch,
		e.Position, e.Sample, e.Path, e.Text, e.Name))
}

// plain: terminals obey control characters, which names of files and a peer's texts may have.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, text)
}

func errorOf(m *message) *Error {
	description, _ := m.fields["description"].(map[string]any)
	return &Error{uint32(m.uint("code")), m.text("name"), m.text("text"), description}
}

func sampleErrorOf(m *message) *SampleError {
	return &SampleError{Code: uint32(m.uint("code")), Name: m.text("name"), Text: m.text("text"),
		Epoch: m.uint("epoch"), Position: m.uint("position"), Sample: m.uint("sample"),
		Path: m.text("path")}
}

func broken(format string, arguments ...any) error {
	return fmt.Errorf("%w: %w", ErrProtocol, fmt.Errorf(format, arguments...))
}
