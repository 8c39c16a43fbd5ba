// Package inputs keeps what the user typed, so that it can be typed again with a key. The file is private,
// and has no secret that perstack knows.
//
// A line of the file is one input, the oldest first. A line that cannot be read is left out: the file is
// a convenience, and one bad line must not cost all others. Start reading at [File].
package inputs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/internal/userfile"
)

const (
	// maxEntries is how many inputs are kept.
	maxEntries = 1000
	// maxEntry is how long an input can be that is kept. A long paste is not typed again.
	maxEntry = 64 << 10
	// maxFile bounds the file. The oldest inputs leave if it would be larger.
	maxFile = 4 << 20
	// patience is how long a process waits for another one that adds an input.
	patience = 5 * time.Second
)

// A File has inputs. Without a path it has none, and keeps none.
type File struct {
	Path    string
	Secrets *secret.Set // what is not written
}

// An entry is a line of the file.
type entry struct {
	Text string `json:"text"`
}

// Load returns the inputs, the oldest first. A file that does not exist has none.
func (f File) Load() ([]string, error) {
	if f.Path == "" {
		return nil, nil
	}
	data, err := userfile.ReadOwn(f.Path, maxFile)
	if userfile.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the inputs of earlier sessions in %s: %w; remove the file to begin again", f.Path, err)
	}
	return parse(string(data)), nil
}

// parse reads the lines of a file.
func parse(text string) (inputs []string) {
	for line := range strings.Lines(text) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e, json.RejectUnknownMembers(true)); err == nil && isKept(e.Text) {
			inputs = append(inputs, e.Text)
		}
	}
	return inputs[max(0, len(inputs)-maxEntries):]
}

func isKept(text string) bool { return strings.TrimSpace(text) != "" && len(text) <= maxEntry }

// Add adds an input, unless it is blank, too long, or the last one again. Of two sessions, none loses what
// the other adds.
func (f File) Add(ctx context.Context, text string) error {
	text = f.Secrets.Redact(text)
	if f.Path == "" || !isKept(text) {
		return nil
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return fmt.Errorf("keep the input in %s: %w", f.Path, err)
	}
	defer unlock()
	inputs, err := f.Load()
	if err != nil || len(inputs) > 0 && inputs[len(inputs)-1] == text {
		return err
	}
	data, err := encode(append(inputs, text))
	if err == nil {
		err = privatefile.Replace(f.Path, data)
	}
	if err != nil {
		return fmt.Errorf("keep the input in %s: %w", f.Path, err)
	}
	return nil
}

// lock waits for other sessions.
func (f File) lock(ctx context.Context) (unlock func(), err error) {
	name := filepath.Dir(f.Path)
	if err := os.MkdirAll(name, 0o700); err != nil {
		return nil, err
	}
	dir, err := opendir.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	lock, err := dir.Update(filepath.Base(f.Path)+".lock", 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := filelock.Wait(ctx, lock); err != nil {
		if ctx.Err() != nil {
			err = errors.New("another session writes it, and does not end")
		}
		return nil, errors.Join(err, lock.Close())
	}
	return func() { _ = lock.Close() }, nil // which releases it
}

// encode writes the newest inputs, as many as fit.
func encode(inputs []string) ([]byte, error) {
	inputs = inputs[max(0, len(inputs)-maxEntries):]
	lines, size := make([][]byte, len(inputs)), 0
	for i := len(inputs) - 1; i >= 0; i-- {
		line, err := json.Marshal(entry{strings.ToValidUTF8(inputs[i], "\ufffd")})
		if err != nil {
			return nil, err
		}
		if size += len(line) + 1; size > maxFile {
			break
		}
		lines[i] = append(line, '\n')
	}
	var data []byte
	for _, line := range lines {
		data = append(data, line...)
	}
	return data, nil
}
