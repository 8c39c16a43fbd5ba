package base

import (
	"bytes"
	"time"
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

	line []byte
	sent int
	last time.Time
}

func (p *progress) write(chunk []byte) {
	for len(chunk) > 0 && p.sent < maxNotes {
		end := bytes.IndexByte(chunk, '\n')
		piece := chunk
		if end >= 0 {
			piece = chunk[:end]
		}
		if room := maxNote - len(p.line); room > 0 {
			p.line = append(p.line, piece[:min(room, len(piece))]...)
		}
		if end < 0 {
			return
		}
		p.flush()
		chunk = chunk[end+1:]
	}
}

func (p *progress) flush() {
	line := bytes.TrimSpace(bytes.ToValidUTF8(p.line, nil))
	p.line = p.line[:0]
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
