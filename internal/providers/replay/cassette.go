package replay

import (
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
	line  int // where it is written

	delay   time.Duration
	parts   []event.Part // a call without an id gets it from its place when it is played
	finish  model.Finish
	usage   event.Usage
	failure *model.Error // instead of an answer, or in the middle of one; nil if there is none
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

// Parse reads a cassette. Errors contain its name and the line.
func Parse(name string, data []byte) (*Cassette, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: a cassette may have %d bytes, this one has %d", name, MaxSize, len(data))
	}
	lines, err := readTree(name, data)
	if err != nil {
		return nil, err
	}
	var file fileTable
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, turns.Located(name, err)
	}
	if len(file.Turn) == 0 {
		return nil, fmt.Errorf("%s: the cassette has no answers; write a [[turn]] for each", name)
	}
	if len(file.Turn) > maxTurns {
		return nil, fmt.Errorf("%s: a cassette may have %d turns, this one has %d", name, maxTurns, len(file.Turn))
	}
	c := &Cassette{name: name, turns: make([]turn, len(file.Turn))}
	entries := make([]turns.Entry, len(file.Turn))
	for i, table := range file.Turn {
		t, err := table.turn()
		t.line = lines[i]
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, t.place(), err)
		}
		c.turns[i] = t
		entries[i] = turns.Entry{Rules: &c.turns[i].rules, Place: t.place(), Again: t.failure != nil && t.failure.Retryable}
	}
	turns.Number(entries)
	if err := turns.CheckReachable(entries); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func (t *turn) place() string { return fmt.Sprintf("the [[turn]] in line %d", t.line) }
