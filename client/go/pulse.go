// SPDX-License-Identifier: MIT

package stoker

import (
	"fmt"
	"time"
)

const (
	askAfter = 2 * time.Second         // of silence, after which PING is sent
	sayAfter = 5 * time.Second         // of silence, after which it is said
	fairTime = 2500 * time.Millisecond // that an answer to PING has: this process may have been stopped
)

// A pulse says whether a daemon that is waited for lives. Knows no socket.
type pulse struct {
	greeted bool      // PING is allowed
	ping    uint64    // the number of one without an answer; 0: there is none ...
	asked   time.Time // ... sent at this time
	silent  time.Time // since when, within this wait
	said    bool      // in this wait
}

// begin: a wait begins, or something has come.
func (p *pulse) begin() {
	p.silent, p.said = time.Now(), false
}

// due: when to ask, or to say that there was no answer.
func (p *pulse) due() (at time.Time, asks bool) {
	if p.greeted && p.ping == 0 {
		return p.silent.Add(askAfter), true
	}
	at = p.silent.Add(sayAfter)
	if fair := p.asked.Add(fairTime); p.greeted && fair.After(at) {
		at = fair
	}
	return at, false
}

// isPong: the answer to the PING; nobody else waits for it.
func (p *pulse) isPong(m *message) bool {
	pong := m.name == "ok" && m.seq() == p.ping
	if pong {
		p.ping = 0
	}
	return pong
}

// left until feel() has something to do; long, if it has not.
func (c *conn) left() time.Duration {
	if c.pulse.said {
		return time.Hour
	}
	at, _ := c.pulse.due()
	return time.Until(at)
}

// feel asks a daemon that is silent for a sign of life, or says that none has come.
func (c *conn) feel() {
	at, asks := c.pulse.due()
	if c.pulse.said || time.Now().Before(at) {
		return
	}
	if asks {
		c.seq++
		c.pulse.ping, c.pulse.asked = c.seq, time.Now()
		_ = c.send("ping", map[string]any{"seq": c.seq}) // reading says why
		return
	}
	c.pulse.said = true
	c.logger.Warn(fmt.Sprintf("stoker: stokerd at %s has not answered for %d s: is it stopped, "+
		"or is the machine busy? Waiting on", plain(c.path), sayAfter/time.Second))
}
