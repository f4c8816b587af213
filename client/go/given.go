// SPDX-License-Identifier: MIT

package stoker

import (
	"maps"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Descriptors of a dataset, for a daemon of another user: they show what this one may read, so that
// it needs no rule for us (PROTOCOL.md, section 6). What cannot be opened is left out: a rule may
// allow it. Knows no socket.

const givenMax = 34 // that the daemon takes with a message

type given struct {
	fds    []int
	fields map[string]any // of ATTACH: dataset and sampler, with the numbers of fds
}

func newGiven(request map[string]any) *given {
	g := &given{fields: map[string]any{}}
	if dataset, ok := request["dataset"].(map[string]any); ok {
		g.fields["dataset"] = g.joined(dataset)
	}
	if sampler, ok := request["sampler"].(map[string]any); ok {
		g.fields["sampler"] = g.sampler(sampler)
	}
	runtime.SetFinalizer(g, (*given).close) // of a Reader that nobody closed
	return g
}

func (g *given) close() {
	if g == nil {
		return
	}
	for _, fd := range g.fds {
		_ = unix.Close(fd)
	}
	g.fds = nil
}

func (g *given) joined(dataset map[string]any) map[string]any {
	parts, ok := dataset["parts"].([]any)
	if !ok {
		return g.dataset(dataset)
	}
	out := make([]any, len(parts))
	for i, part := range parts {
		out[i] = g.dataset(part.(map[string]any))
	}
	return map[string]any{"parts": out}
}

func (g *given) dataset(dataset map[string]any) map[string]any {
	out := maps.Clone(dataset)
	path, _ := out["path"].(string)
	if folder, ok := patternFolder(path); ok { // of shards
		if g.add(out, "path_fd", folder) != 0 && g.add(out, "root_fd", folder) != 0 &&
			out["kind"] == nil {
			out["kind"] = "tar"
			if strings.Contains(filepath.Base(path), ".tfrecord") {
				out["kind"] = "tfrecord"
			}
		}
		return out
	}
	if g.add(out, "path_fd", path) == unix.S_IFREG {
		root, ok := out["root"].(string)
		if !ok {
			root = folderOf(path)
		}
		g.add(out, "root_fd", root)
	}
	if labels, ok := out["labels"].(string); ok && filepath.IsAbs(labels) {
		g.add(out, "labels_fd", labels)
	}
	return out
}

func (g *given) sampler(sampler map[string]any) map[string]any {
	out := maps.Clone(sampler)
	for _, key := range []string{"indices", "weights"} {
		if path, ok := out[key].(string); ok {
			g.add(out, "list_fd", path)
		}
	}
	return out
}

// isURL: it would be opened as a file, beneath a folder "s3:".
func isURL(path string) bool {
	return strings.Contains(path, "://")
}

// add opens it and puts its number into a map. Its type; 0: it was left out.
func (g *given) add(out map[string]any, key, path string) uint32 {
	if len(g.fds) == givenMax || isURL(path) {
		return 0
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return 0
	}
	var status unix.Stat_t
	kind := uint32(0)
	if unix.Fstat(fd, &status) == nil {
		kind = status.Mode & unix.S_IFMT
	}
	if kind != unix.S_IFREG && kind != unix.S_IFDIR {
		_ = unix.Close(fd)
		return 0
	}
	out[key] = uint64(len(g.fds))
	g.fds = append(g.fds, fd)
	return kind
}

// folderOf is what an absolute path lies in. Unlike filepath.Dir it leaves "..".
func folderOf(path string) string {
	return path[:max(1, strings.LastIndex(path, "/"))]
}

// patternFolder: the folder that a pattern of shards begins at; false: the path is no pattern.
func patternFolder(path string) (string, bool) {
	special := strings.IndexAny(path, "{*?[")
	var status unix.Stat_t
	if special < 0 || isURL(path) || unix.Lstat(path, &status) == nil {
		return "", false
	}
	return folderOf(path[:special] + "x"), true
}
