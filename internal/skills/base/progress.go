package base

import (
	"bytes"
	"time"

	"github.com/perstack-go/perstack/internal/sandbox"
)

const (
	maxNotes     = 100                    // notes of one call
	freeNotes    = 10                     // notes that need not keep the interval
	noteInterval = 250 * time.Millisecond // between the others
	maxNote      = 500                    // bytes
)

// A progress turns the output of a running command into notes for whoever watches:
// whole lines, some of them. A command can print faster than anybody reads, and for
// ever, so length, rate and number are bounded.
type progress struct {
	now    func() time.Time
	report func(string)

	lines [2][]byte // that are not finished, of each stream
	sent  int
	last  time.Time
}

func (p *progress) write(from sandbox.Stream, chunk []byte) {
	line := &p.lines[from]
	for len(chunk) > 0 && p.sent < maxNotes {
		end := bytes.IndexByte(chunk, '\n')
		piece := chunk
		if end >= 0 {
			piece = chunk[:end]
		}
		if room := maxNote - len(*line); room > 0 {
			*line = append(*line, piece[:min(room, len(piece))]...)
		}
		if end < 0 {
			return
		}
		p.note(bytes.TrimSpace(bytes.ToValidUTF8(*line, nil)))
		*line = (*line)[:0]
		chunk = chunk[end+1:]
	}
}

func (p *progress) note(line []byte) {
	if len(line) == 0 {
		return
	}
	now := p.now()
	if p.sent >= freeNotes && now.Sub(p.last) < noteInterval {
		return
	}
	p.sent++
	p.last = now
	p.report(string(line))
}
