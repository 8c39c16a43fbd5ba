package replay

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/model"
)

const (
	// MaxSize is the largest cassette that [Parse] reads.
	MaxSize = 8 << 20

	// maxTurns bounds the turns of a cassette: each is compared with all before it.
	maxTurns = 10_000
)

// A Cassette is a script of answers. It is never changed after [Parse] made it.
type Cassette struct {
	name  string
	turns []turn
}

// A turn is one prepared answer and the rules that say when it is given.
type turn struct {
	rules turns.Rules
	line  int // where it is written; 0 if that is not known

	delay     time.Duration
	reasoning string
	text      string
	calls     []call
	finish    model.Finish
	usage     event.Usage
	failure   *failure
}

// A call is a tool call. One without an id gets it from its place when it is played.
type call struct {
	id, tool string
	args     []byte
}

// A failure is an error instead of an answer, or in the middle of one.
type failure struct {
	model.Error
	after string // what is streamed before: nothing, reasoning or text
}

// Load reads the cassette at path, which must be a regular file of at most [MaxSize]
// bytes. It never blocks, not even on a named pipe. Errors name the path.
func Load(path string) (*Cassette, error) { return LoadBy(userfile.Read, path) }

// LoadBy is [Load] with a function that reads files.
func LoadBy(read func(path string, limit int64) ([]byte, error), path string) (*Cassette, error) {
	data, err := read(path, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("cannot read the cassette %q: %w", path, err)
	}
	return Parse(path, data)
}

// Parse reads a cassette. Its name stands in errors, which also say the line.
func Parse(name string, data []byte) (*Cassette, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: a cassette may have %d bytes, this one has %d", name, MaxSize, len(data))
	}
	lines, err := checkNames(data)
	if err != nil {
		return nil, located(name, err)
	}
	var file struct {
		Turn []turnTable `toml:"turn"`
	}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, located(name, err)
	}
	if len(file.Turn) == 0 {
		return nil, fmt.Errorf("%s: the cassette has no answers; write a [[turn]] for each", name)
	}
	if len(file.Turn) > maxTurns {
		return nil, fmt.Errorf("%s: a cassette may have %d turns, this one has %d", name, maxTurns, len(file.Turn))
	}
	c := &Cassette{name: name, turns: make([]turn, len(file.Turn))}
	for i, table := range file.Turn {
		t, err := table.turn()
		if i < len(lines) {
			t.line = lines[i]
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, t.place(i), err)
		}
		c.turns[i] = t
	}
	entries := make([]turns.Entry, len(c.turns))
	for i := range c.turns {
		t := &c.turns[i]
		entries[i] = turns.Entry{Rules: &t.rules, Place: t.place(i), Again: t.failure != nil && t.failure.Retryable}
	}
	turns.Number(entries)
	if err := turns.CheckReachable(entries); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// place says where the turn at index i is written.
func (t *turn) place(i int) string {
	if t.line == 0 {
		return fmt.Sprintf("the %s [[turn]]", ordinal(i+1))
	}
	return fmt.Sprintf("the [[turn]] in line %d", t.line)
}

func ordinal(n int) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// located puts name and line before an error in the text of a cassette.
func located(name string, err error) error {
	var unknown *nameError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%s:%d: %w", name, unknown.line, err)
	}
	return turns.Located(name, err)
}
