package state

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
)

const (
	keysName = "seal.keys"
	maxKeys  = 64 << 10 // bytes of the file
)

// A Key seals the records of jobs.
type Key struct {
	Secret [32]byte
	Made   time.Time
}

// KeyFile returns the path of the file with the keys of the user.
func (d Dir) KeyFile() string { return filepath.Join(string(d), keysName) }

// Keys returns the keys of the user, newest first. If there is none, it makes one.
func (d Dir) Keys() ([]Key, error) {
	keys, err := d.ReadKeys()
	if err != nil || len(keys) > 0 {
		return keys, err
	}
	// Another process may be doing the same, and both must end up with one key.
	if err := d.writeKeys(d.KeyFile(), []Key{newKey()}); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the seal key: %w", err)
	}
	return d.ReadKeys()
}

// RotateKey makes a new key, which seals from now on. The older ones still check.
func (d Dir) RotateKey() (Key, error) {
	if _, err := d.Keys(); err != nil {
		return Key{}, err
	}
	// The name is not random: of two processes that rotate at once, one must not lose the key
	// of the other. So the keys are read when no other process makes one.
	made, next := newKey(), d.KeyFile()+".new"
	err := d.writeKeys(next, []Key{made})
	if errors.Is(err, fs.ErrExist) {
		return Key{}, fmt.Errorf("another process makes a key; if there is none, remove %s", next)
	}
	if err != nil {
		return Key{}, fmt.Errorf("make a new seal key: %w", err)
	}
	defer os.Remove(next)
	keys, err := d.ReadKeys()
	if err != nil {
		return Key{}, err
	}
	temp := next + "er"
	if err = d.writeKeys(temp, append([]Key{made}, keys...)); err == nil {
		err = os.Rename(temp, d.KeyFile())
	}
	if err != nil {
		return Key{}, errors.Join(fmt.Errorf("make a new seal key: %w", err), os.Remove(temp))
	}
	return made, nil
}

func newKey() (k Key) {
	rand.Read(k.Secret[:]) // never fails
	k.Made = time.Now().UTC().Truncate(time.Second)
	return k
}

// writeKeys writes keys to a new file, durably. It is [fs.ErrExist] if the file exists.
func (d Dir) writeKeys(path string, keys []Key) error {
	var text bytes.Buffer
	for _, k := range keys {
		fmt.Fprintf(&text, "%s %s\n", k.Made.Format(time.RFC3339), hex.EncodeToString(k.Secret[:]))
	}
	return privatefile.CreateDurable(path, text.Bytes())
}

// ReadKeys returns the keys of the user, newest first; none if there is no file. A key that
// other users can read or write is not a secret, and is refused.
func (d Dir) ReadKeys() ([]Key, error) {
	path := d.KeyFile()
	f, err := userfile.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case userfile.Foreign(f):
		return nil, fmt.Errorf("the seal key %s belongs to another user; move it away", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("the seal key %s is open to other users, who may have read it; run: chmod 600 %s", path, terminal.ShellJoin(path))
	}
	if err := userfile.OwnDir(string(d)); err != nil {
		return nil, fmt.Errorf("the seal key %s is not used: %w; let only yourself write to %s", path, err, d)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeys))
	if err != nil {
		return nil, err
	}
	keys, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore it, or move it away to begin with a new key", path, err)
	}
	return keys, nil
}

func parseKeys(text []byte) (keys []Key, err error) {
	for line := range bytes.Lines(text) {
		made, secret, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		var k Key
		if ok && len(secret) == hex.EncodedLen(len(k.Secret)) {
			if k.Made, err = time.Parse(time.RFC3339, string(made)); err == nil {
				_, err = hex.Decode(k.Secret[:], secret)
			}
		} else {
			err = errors.New("wrong length")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d is not a key", len(keys)+1) // the error could repeat a part of it
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key in it")
	}
	return keys, nil
}
