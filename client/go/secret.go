// SPDX-License-Identifier: MIT

package stoker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// UserSecret is the secret that this user's producers and readers of all languages share: 16 bytes
// of the file $STOKER_SECRET, else of stoker-producers.secret in $XDG_RUNTIME_DIR or in
// /tmp/stoker-<uid>. It is made if it is not there, and must be readable by nobody else.
func UserSecret() (string, error) {
	path := os.Getenv("STOKER_SECRET")
	if path == "" {
		folder, err := userFolder()
		if err != nil {
			return "", err
		}
		path = filepath.Join(folder, "stoker-producers.secret")
	}
	return secretIn(path)
}

func userFolder() (string, error) {
	folder := os.Getenv("XDG_RUNTIME_DIR")
	if folder == "" {
		folder = filepath.Join(os.TempDir(), fmt.Sprintf("stoker-%d", os.Geteuid()))
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("stoker: %w", err)
	}
	var status unix.Stat_t
	if err := unix.Lstat(folder, &status); err != nil {
		return "", fmt.Errorf("stoker: %s: %w", folder, err)
	}
	if status.Mode&unix.S_IFMT != unix.S_IFDIR || int(status.Uid) != os.Geteuid() ||
		status.Mode&0o022 != 0 {
		return "", fmt.Errorf("stoker: %s must be a folder of yours that nobody else can write to: set "+
			"XDG_RUNTIME_DIR to one", folder)
	}
	return folder, nil
}

func secretIn(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		secret := make([]byte, secretBytes)
		_, err = rand.Read(secret)
		if err == nil {
			_, err = file.Write(secret)
		}
		err = errors.Join(err, file.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("stoker: %w", err)
	}
	file, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", fmt.Errorf("stoker: %w", err)
	}
	defer file.Close()
	var status unix.Stat_t
	secret, err := io.ReadAll(io.LimitReader(file, secretBytes+1))
	if err = errors.Join(err, unix.Fstat(int(file.Fd()), &status)); err != nil {
		return "", fmt.Errorf("stoker: %s: %w", path, err)
	}
	if int(status.Uid) != os.Geteuid() || status.Mode&0o077 != 0 || len(secret) != secretBytes {
		return "", fmt.Errorf("stoker: %s must be a file of yours that only you can read, of %d bytes",
			path, secretBytes)
	}
	return string(secret), nil
}
