// SPDX-License-Identifier: MIT

package stoker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// One connection: sends requests, and reads all that comes in a goroutine of its own, so that an
// error that ends the connection is known before the batches that came before it are given. Knows
// no batch.

const (
	replyTime  = 30 * time.Second // for a reply that needs no work, and for the rest of a frame
	dialTime   = 10 * time.Second
	greetTime  = 10 * time.Second // then the next socket is tried
	quietTime  = 60 * time.Second // an ATTACH reports progress more often
	inboxMax   = 65536
	endingCode = 19 // errors up to this one end the connection
	client     = "stoker-go " + Version
)

type conn struct {
	socket           *net.UnixConn
	path             string // of the socket, for people
	logger           *slog.Logger
	uid              uint32
	takesCredentials bool
	resizes          bool // it knows the word resize

	takesFds bool // descriptors of a dataset: those show what the daemon's user may not read

	sending sync.Mutex
	seq     uint64
	pulse   pulse // of who waits

	leases    sync.Map // those that the program has not released
	lastLease uint64   // that the reader took

	mutex sync.Mutex
	inbox []*message
	err   error         // why it ended
	fatal bool          // ... by an ERROR: held batches are lost, and nobody comes back
	news  chan struct{} // has something when the inbox or err has changed
	gone  chan struct{} // closed when nothing more comes
}

// socketPaths are where a daemon may listen, in the order to try.
func socketPaths(given string) []string {
	if given != "" {
		return []string{given}
	}
	if path := os.Getenv("STOKER_SOCKET"); path != "" {
		return []string{path}
	}
	var out []string
	if folder := os.Getenv("XDG_RUNTIME_DIR"); folder != "" {
		out = append(out, filepath.Join(folder, "stoker", "stokerd.sock"))
	}
	return append(out, fmt.Sprintf("/tmp/stoker-%d/stokerd.sock", os.Getuid()),
		"/run/stoker/stokerd.sock")
}

// dial connects to the first socket that answers, and says HELLO.
func dial(ctx context.Context, given string, logger *slog.Logger) (*conn, error) {
	var tried error
	for _, path := range socketPaths(given) {
		c, err := dialPath(ctx, path, logger)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, ErrUnavailable) {
			return nil, err
		}
		tried = errors.Join(tried, err)
	}
	return nil, tried
}

func dialPath(ctx context.Context, path string, logger *slog.Logger) (*conn, error) {
	soon, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	socket, err := connectSocket(soon, path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	c := &conn{socket: socket, path: path, logger: logger, news: make(chan struct{}, 1),
		gone: make(chan struct{})}
	if c.uid, err = peerUser(socket); err == nil {
		err = trusted(path, c.uid)
	}
	if err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	go c.read()
	welcome, err := c.request(ctx, greetTime, "hello", "welcome", map[string]any{
		"version_min": uint64(protoVersion), "version_max": uint64(protoVersion), "client": client},
		nil)
	if err != nil {
		c.close()
		silent := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
		if silent || errors.Is(err, ErrDisconnected) {
			err = fmt.Errorf("%w: %s does not answer: %w", ErrUnavailable, path, err)
		}
		return nil, err
	}
	c.pulse.greeted = true
	able, _ := welcome.fields["capabilities"].([]any)
	c.takesFds = int(c.uid) != os.Geteuid() && slices.Contains(able, any("descriptors"))
	c.takesCredentials = slices.Contains(able, any("credentials"))
	c.resizes = slices.Contains(able, any(pillow13))
	return c, nil
}

// pathMost is how many bytes the path in an address can have.
const pathMost = 107

// connectSocket waits while the daemon's queue of connections is full.
func connectSocket(ctx context.Context, path string) (*net.UnixConn, error) {
	if len(path) > pathMost {
		return nil, fmt.Errorf("%s has %d bytes; a socket's path can have at most %d",
			path, len(path), pathMost)
	}
	for {
		var dialer net.Dialer
		socket, err := dialer.DialContext(ctx, "unix", path)
		if err == nil {
			return socket.(*net.UnixConn), nil
		}
		if !errors.Is(err, syscall.EAGAIN) || sleep(ctx, 10*time.Millisecond) != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func peerUser(socket *net.UnixConn) (uint32, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return peer.Uid, nil
}

// trusted: root and this user are; so is the owner of the directory, unless others could have made
// the directory.
func trusted(path string, uid uint32) error {
	if uid == 0 || int(uid) == os.Geteuid() {
		return nil
	}
	why := fmt.Errorf("%s is not trusted: it is served by uid %d, which is neither root, nor you, "+
		"nor the owner of its directory", path, uid)
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return err
	}
	for folder := real; ; folder = filepath.Dir(folder) {
		var status unix.Stat_t
		if err := unix.Stat(folder, &status); err != nil {
			return err
		}
		if status.Mode&unix.S_IWOTH != 0 || (folder == real && status.Uid != uid) {
			return why
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
}

// Sending

func (c *conn) send(name string, values map[string]any) error {
	return c.sendWith(nil, name, values)
}

// sendWith: descriptors go with the first byte.
func (c *conn) sendWith(fds []int, name string, values map[string]any) error {
	frame, err := encode(name, values)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	sent := 0
	if len(fds) > 0 {
		sent, _, err = c.socket.WriteMsgUnix(frame, unix.UnixRights(fds...), nil)
	}
	if err == nil {
		_, err = c.socket.Write(frame[sent:])
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDisconnected, err) // reading says why
	}
	return nil
}

// request waits for the reply; other messages stay in the inbox. `quiet` is how long the daemon may
// say nothing. A reply that is given up may still come, so the connection is then closed.
func (c *conn) request(ctx context.Context, quiet time.Duration, name, reply string,
	values map[string]any, fds []int) (*message, error) {
	c.seq++
	seq := c.seq
	values["seq"] = seq
	// If the daemon has hung up, reading says why.
	if err := c.sendWith(fds, name, values); err != nil && errors.Is(err, ErrOption) {
		return nil, err
	}
	for {
		m, err := c.reply(ctx, quiet, seq)
		if err != nil {
			c.close()
			return nil, err
		}
		switch m.name {
		case "progress":
		case "error":
			return nil, errorOf(m)
		case reply:
			return m, nil
		default:
			c.close()
			m.drop()
			return nil, broken("%s as the answer to %s", m.name, name)
		}
	}
}

// reply takes the next message with the number of the request.
func (c *conn) reply(ctx context.Context, quiet time.Duration, seq uint64) (*message, error) {
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	return c.receive(ctx, func(m *message) bool { return m.seq() == seq })
}

// release gives a batch back. If the daemon is gone, there is nobody to tell.
func (c *conn) release(lease uint64) {
	c.leases.Delete(lease)
	_ = c.send("release", map[string]any{"lease": lease})
}

// Receiving

// receive takes the next message that is wanted. After the end of the connection it gives what came
// before, unless an ERROR was the end.
func (c *conn) receive(ctx context.Context, wanted func(*message) bool) (*message, error) {
	c.pulse.begin()
	for {
		m, err := c.take(wanted)
		if m != nil || err != nil {
			return m, err
		}
		timer := time.NewTimer(c.left())
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.news:
			c.pulse.begin()
		case <-timer.C:
			c.feel()
		}
		timer.Stop()
		if err != nil {
			return nil, err
		}
	}
}

func (c *conn) take(wanted func(*message) bool) (*message, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.fatal {
		return nil, c.err
	}
	if c.pulse.ping > 0 {
		c.inbox = slices.DeleteFunc(c.inbox, c.pulse.isPong)
	}
	for i, m := range c.inbox {
		if wanted(m) {
			c.inbox = append(c.inbox[:i:i], c.inbox[i+1:]...)
			return m, nil
		}
	}
	return nil, c.err
}

func (c *conn) put(m *message) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	defer c.tell()
	if m.name == "error" && m.uint("code") <= endingCode && c.err == nil {
		c.err, c.fatal = errorOf(m), true
		return c.err
	}
	if len(c.inbox) >= inboxMax {
		return broken("more than %d messages at a time", inboxMax)
	}
	c.inbox = append(c.inbox, m)
	return nil
}

// ended: the first reason counts.
func (c *conn) ended(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.err == nil {
		// What violates the protocol makes what came before it doubtful, too.
		c.err, c.fatal = err, errors.Is(err, ErrProtocol)
	}
	c.tell()
}

func (c *conn) tell() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// lost: may another daemon be waited for?
func (c *conn) lost() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.err != nil && !c.fatal
}

// close frees what was not taken. Held batches keep their rings.
func (c *conn) close() {
	_ = c.socket.Close()
	c.ended(ErrClosed)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, m := range c.inbox {
		m.drop()
	}
	c.inbox = nil
}

// The goroutine that reads

type incoming struct {
	conn    *conn
	data    []byte
	fds     []int
	room    []byte // for one read
	control []byte
}

func (c *conn) read() {
	in := incoming{conn: c, room: make([]byte, 16384), control: make([]byte, unix.CmsgSpace(8*4))}
	err := in.loop()
	in.closeDescriptors()
	_ = c.socket.Close()
	c.ended(err)
	close(c.gone)
}

func (in *incoming) loop() error {
	for {
		m, err := in.next()
		if err != nil {
			return err
		}
		if err := in.conn.put(m); err != nil {
			m.drop()
			return err
		}
	}
}

// next reads one whole message, with its ring or tray.
func (in *incoming) next() (*message, error) {
	for {
		if len(in.data) >= 4 {
			size := int(binary.BigEndian.Uint32(in.data))
			if size == 0 || size > protoFrameMax {
				return nil, broken("a frame of %d bytes; valid are 1 to %d", size, protoFrameMax)
			}
			if len(in.data) >= 4+size {
				payload := in.data[4 : 4+size]
				in.data = in.data[4+size:]
				m, err := decode(payload)
				if err != nil {
					return nil, broken("%w", err)
				}
				return m, in.addMemory(m)
			}
		}
		if err := in.more(); err != nil {
			return nil, err
		}
	}
}

func (in *incoming) more() error {
	var until time.Time
	if len(in.data) > 0 {
		until = time.Now().Add(replyTime)
	}
	_ = in.conn.socket.SetReadDeadline(until)
	n, controlled, flags, _, err := in.conn.socket.ReadMsgUnix(in.room, in.control)
	if controlled > 0 {
		if err := in.keepDescriptors(in.control[:controlled]); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return broken("the rest of a frame did not come")
	case err == io.EOF || err == nil && n == 0:
		return fmt.Errorf("%w: stokerd closed the connection", ErrDisconnected)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDisconnected, err)
	case flags&unix.MSG_CTRUNC != 0:
		return broken("unexpected descriptors")
	}
	in.data = append(in.data, in.room[:n]...)
	return nil
}

func (in *incoming) keepDescriptors(control []byte) error {
	parts, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return broken("%w", err)
	}
	for i := range parts {
		fds, err := unix.ParseUnixRights(&parts[i])
		if err != nil {
			return broken("%w", err)
		}
		in.fds = append(in.fds, fds...)
	}
	if len(in.fds) > 8 {
		return broken("unexpected descriptors")
	}
	return nil
}

func (in *incoming) closeDescriptors() {
	for _, fd := range in.fds {
		_ = unix.Close(fd)
	}
	in.fds = nil
}

// addMemory maps what ATTACHED, RING or PRODUCER announces. A descriptor comes with the first byte of
// its message, so descriptors are in the order of messages.
func (in *incoming) addMemory(m *message) error {
	err := in.mapMemory(m)
	if errors.Is(err, os.ErrNotExist) { // a daemon that ends, or its successor, removes it
		return fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	if err != nil {
		return broken("%w", err)
	}
	if len(in.fds) > 0 && len(in.data) == 0 {
		return broken("unexpected descriptors")
	}
	return nil
}

func (in *incoming) mapMemory(m *message) error {
	switch m.name {
	case "attached", "ring":
		return in.mapRing(m)
	case "producer":
		return in.mapTray(m)
	}
	return nil
}

func (in *incoming) takeDescriptor() int {
	fd := in.fds[0]
	in.fds = in.fds[1:]
	return fd
}

func (in *incoming) mapTray(m *message) (err error) {
	if len(in.fds) == 0 {
		return errors.New("the descriptor of the tray is missing")
	}
	fd := in.takeDescriptor()
	defer unix.Close(fd)
	m.tray, err = mapTray(fd, m.uint("bytes"))
	return err
}

func (in *incoming) mapRing(m *message) (err error) {
	size, number := m.uint("bytes"), m.uint("ring")
	switch transport := m.text("transport"); {
	case transport == "fd" && len(in.fds) > 0:
		fd := in.takeDescriptor()
		defer unix.Close(fd)
		m.ring, err = mapDescriptor(fd, size, number)
	case transport == "path" && m.text("path") != "":
		m.ring, err = mapPath(m.text("path"), size, number, in.conn.uid)
	default:
		err = fmt.Errorf("the ring announced with the transport %s is missing", transport)
	}
	return err
}
