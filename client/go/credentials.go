// SPDX-License-Identifier: MIT

package stoker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Credentials of one's own, of S3, for what lies beneath a URL: a daemon of another user reads with
// them.
type Credentials struct {
	URL         string // s3://BUCKET or s3://BUCKET/PREFIX
	Key, Secret string
	Token       string    // of a session; may be empty
	Expires     time.Time // zero: never
}

// String names the URL alone.
func (c Credentials) String() string { return "credentials for " + c.URL }

// GoString names the URL alone.
func (c Credentials) GoString() string { return c.String() }

func (c *conn) sendCredentials(ctx context.Context, all []Credentials) error {
	if len(all) > 0 && !c.takesCredentials {
		return fmt.Errorf("%w: this stokerd is too old to take credentials: update it", ErrOption)
	}
	for _, one := range all {
		values := map[string]any{"url": one.URL, "key": one.Key, "secret": one.Secret,
			"token": one.Token, "expires": uint64(0)}
		if !one.Expires.IsZero() {
			values["expires"] = uint64(max(1, one.Expires.Unix()))
		}
		if _, err := c.request(ctx, quietTime, "credentials", "ok", values, nil); err != nil {
			return err
		}
	}
	return nil
}

// dial connects, and sends the credentials.
func (r *Reader) dial(ctx context.Context) (*conn, error) {
	c, err := dial(ctx, r.client.Socket, r.client.logger())
	if err != nil {
		return nil, err
	}
	if err = c.sendCredentials(ctx, r.credentials); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// SetCredentials sends others in the place of Client.Credentials, some minutes before these expire.
// If the daemon is away, the next one gets them.
func (r *Reader) SetCredentials(ctx context.Context, all ...Credentials) error {
	if r.conn != nil {
		err := r.conn.sendCredentials(ctx, all)
		if err != nil && !errors.Is(err, ErrDisconnected) {
			return err
		}
	}
	r.credentials = slices.Clone(all)
	return nil
}
