// Package trust keeps what this machine has seen of registries, so that a registry cannot tell another
// story later: the newest checkpoint of each log and the key that signs it, which digests were verified,
// which names were signed, and the definitions themselves.
//
//	<dir>/definitions/<digest>         canonical texts, checked against their digest at every read
//	<dir>/logs/<hash>/head.json        newest checkpoint, key and origin of the log of one registry
//	<dir>/logs/<hash>/verified/<hash>  that a digest was verified, with its leaf and signature
//	<dir>/logs/<hash>/names/<hash>     what was seen of a name: tags, and the newest signed version
//	<dir>/logs/<hash>/evidence/<hash>  two checkpoints that cannot both be true
//
// It verifies nothing itself but digests: package client decides what is stored. Every file is written
// whole or not at all, and only the user can read it. Start reading at [Log.Commit].
package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/userfile"
)

const (
	maxRecord = 1 << 20 // bytes of a file other than a definition
	patience  = 10 * time.Second
)

// A Store is the directory of one user.
type Store struct {
	dir      string
	maxBytes int64
}

// Open returns the store in a directory, which is made when something is stored.
func Open(dir string) *Store { return &Store{dir: dir, maxBytes: maxCache} }

// A Log is what is known of the log of one registry.
type Log struct {
	store *Store
	base  string
	dir   string
}

// Log returns the log of the registry at an address.
func (s *Store) Log(base string) *Log {
	return &Log{s, base, filepath.Join(s.dir, "logs", hashed(base))}
}

// hashed makes the name of a file from a text of others, which can have any character.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A Head is the newest state of a log.
type Head struct {
	Registry   string `json:"registry"` // address, for people
	Origin     string `json:"origin"`
	Key        string `json:"key"`             // verifier key
	Before     string `json:"before,omitzero"` // keys that the log had earlier, separated by spaces
	API        string `json:"api"`             // path of version 2
	LogPath    string `json:"logPath"`         // path of the log
	Checkpoint string `json:"checkpoint"`      // signed note; empty before the first one
}

// Known reports whether the log was ever seen.
func (h Head) Known() bool { return h.Key != "" }

// HadKey reports whether the log had a key earlier.
func (h Head) HadKey(key string) bool {
	return key != "" && slices.Contains(strings.Fields(h.Before), key)
}

// SetKey gives the log another key.
func (h *Head) SetKey(key string) { h.Before, h.Key = strings.TrimSpace(h.Before+" "+h.Key), key }

// Head returns the newest state of the log. It is empty if the log was never seen.
func (l *Log) Head() (h Head, err error) {
	_, err = read(filepath.Join(l.dir, "head.json"), &h)
	return h, err
}

// A Record says that a digest was verified on this machine.
type Record struct {
	Digest     string `json:"digest"`
	Key        string `json:"key"` // exact
	Index      int64  `json:"index"`
	Leaf       string `json:"leaf,omitzero"` // empty for a registry without a log
	Signature  string `json:"signature,omitzero"`
	Status     string `json:"status"`
	Message    string `json:"message,omitzero"`
	ReplacedBy string `json:"replacedBy,omitzero"`
	// Delegates are the exact keys and digests of the delegates of an Expert without a leaf.
	Delegates []Delegate `json:"delegates,omitempty"`
	Time      time.Time  `json:"time"` // when it was verified
}

// A Delegate is what a delegate meant.
type Delegate struct {
	Key    string `json:"key"`
	Exact  string `json:"exact"`
	Digest string `json:"digest"`
}

// Verified returns the record of a digest, and whether there is one.
func (l *Log) Verified(digest string) (r Record, ok bool, err error) {
	if ok, err = read(filepath.Join(l.dir, "verified", hashed(digest)), &r); ok && r.Digest != digest {
		return Record{}, false, nil
	}
	return r, ok, err
}

// A Name is what was seen of all versions of a name.
type Name struct {
	Name string `json:"name"`
	// Tags has the number of the newest leaf that set a tag.
	Tags map[string]int64 `json:"tags,omitempty"`
	// Signed is the number of the oldest publication that had a signature, and one more; 0 if there was none.
	Signed  int64  `json:"signed,omitzero"`
	Version string `json:"version,omitzero"` // of that one
	// Latest is the newest version that the registry has said to be the newest one.
	Latest string `json:"latest,omitzero"`
	// Digests are those of versions that a registry without a log has shown.
	Digests map[string]string `json:"digests,omitempty"`
}

// Name returns what was seen of a name.
func (l *Log) Name(name string) (n Name, err error) {
	if _, err = read(filepath.Join(l.dir, "names", hashed(name)), &n); n.Name != name {
		n = Name{Name: name}
	}
	return n, err
}

// A Commit is what a verified answer adds.
type Commit struct {
	From, To    Head // the head that the answer was verified against, and the one that it proves
	Records     []Record
	Names       []Name
	Definitions [][]byte
}

// ErrMoved is returned if another process has stored a newer head in between. The answer has to be verified
// against that one.
var ErrMoved = errors.New("another process has seen a newer state of the log")

// Commit stores what an answer has proved. The head comes first: without the rest, which a crash can
// prevent, an answer is only asked for again.
func (l *Log) Commit(ctx context.Context, c Commit) error {
	return l.locked(ctx, func() error {
		now, err := l.Head()
		if err != nil {
			return err
		}
		if now != c.From {
			return ErrMoved
		}
		if c.To != now {
			c.To.Registry = l.base
			if err := write(filepath.Join(l.dir, "head.json"), c.To); err != nil {
				return err
			}
		}
		for _, n := range c.Names {
			seen, err := l.Name(n.Name)
			if err != nil {
				return err
			}
			seen.add(n)
			if err := write(filepath.Join(l.dir, "names", hashed(n.Name)), seen); err != nil {
				return err
			}
		}
		if err := l.store.addDefinitions(c.Definitions); err != nil {
			return err
		}
		for _, r := range c.Records {
			if err := write(filepath.Join(l.dir, "verified", hashed(r.Digest)), r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Newer reports whether a version comes after another one, as the newest version of a name: a release comes
// after every prerelease. "" comes before all.
func Newer(a, b string) bool {
	if a == "" || b == "" {
		return a != ""
	}
	if x, y := strings.Contains(a, "-"), strings.Contains(b, "-"); x != y {
		return y
	}
	return definition.CompareVersions(a, b) > 0
}

// add keeps the newest of two views of a name.
func (n *Name) add(other Name) {
	if Newer(other.Latest, n.Latest) {
		n.Latest = other.Latest
	}
	if other.Signed > 0 && (n.Signed == 0 || other.Signed < n.Signed) {
		n.Signed, n.Version = other.Signed, other.Version
	}
	for tag, index := range other.Tags {
		if n.Tags == nil {
			n.Tags = map[string]int64{}
		}
		n.Tags[tag] = max(n.Tags[tag], index)
	}
	for version, digest := range other.Digests {
		if n.Digests == nil {
			n.Digests = map[string]string{}
		}
		if n.Digests[version] == "" { // the first one counts
			n.Digests[version] = digest
		}
	}
}

// Evidence are two checkpoints of a log that do not agree, or one that cannot be trusted.
type Evidence struct {
	Registry string    `json:"registry"`
	Time     time.Time `json:"time"`
	Reason   string    `json:"reason"`
	Key      string    `json:"key"`
	Known    string    `json:"known"` // checkpoint that was stored
	Shown    string    `json:"shown"` // and the one of the answer
}

// maxEvidence bounds how many a hostile registry can leave. The first ones are kept.
const maxEvidence = 100

// Keep stores evidence, and returns where. The same evidence is stored once.
func (l *Log) Keep(ctx context.Context, e Evidence) (path string, err error) {
	e.Registry = l.base
	dir := filepath.Join(l.dir, "evidence")
	path = filepath.Join(dir, hashed(e.Known+"\x00"+e.Shown)+".json")
	err = l.locked(ctx, func() error {
		names, err := userfile.Names(dir, 10*maxEvidence)
		if err != nil && !userfile.Absent(err) || len(names) >= maxEvidence {
			return err
		}
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
		return write(path, e)
	})
	return path, err
}

// locked calls do while no other process changes what is known of the log.
func (l *Log) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	dir, err := opendir.Open(l.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.Update("lock", 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // which releases it
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := filelock.Wait(waiting, lock); err != nil {
		if ctx.Err() == nil && waiting.Err() != nil {
			return fmt.Errorf("another process keeps the lock of %s", l.dir)
		}
		return err
	}
	return do()
}

// read reads a file of the store. It is not ok if there is none.
func read(path string, into any) (ok bool, err error) {
	data, err := userfile.ReadOwn(path, maxRecord)
	if userfile.Absent(err) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return false, fmt.Errorf("what is known of a registry cannot be read from %s: %w", path, err)
	}
	return true, nil
}

func write(path string, value any) error {
	data, err := json.Marshal(value, json.Deterministic(true))
	if err == nil {
		err = privatefile.Replace(path, data)
	}
	if err != nil {
		return fmt.Errorf("what is known of a registry cannot be written to %s: %w", path, err)
	}
	return nil
}
