package mcp

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// The limits of the lines of a server on its standard error and in log notifications.
const (
	maxLineBytes      = 2 << 10
	maxLinesPerMinute = 200
	maxLinesPerRun    = 2_000
)

// A lineLimit reports the lines of a server, as many as the limits allow.
type lineLimit struct {
	now    func() time.Time
	report func(line string)

	mu       sync.Mutex
	minute   time.Time
	inMinute int
	inRun    int
}

// add reports a line, or that the following ones are left out. It keeps the order of the lines.
func (c *lineLimit) add(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inRun > maxLinesPerRun {
		return
	}
	if now := c.now(); now.Sub(c.minute) >= time.Minute {
		c.minute, c.inMinute = now, 0
	}
	if c.inMinute > maxLinesPerMinute {
		return
	}
	c.inMinute++
	c.inRun++
	switch {
	case c.inRun > maxLinesPerRun:
		line = fmt.Sprintf("[more than %d lines; the rest of this run is left out]", maxLinesPerRun)
	case c.inMinute > maxLinesPerMinute:
		line = fmt.Sprintf("[more than %d lines in a minute; the rest of this minute is left out]", maxLinesPerMinute)
	}
	c.report(line)
}

// A memory keeps the last lines of a server, for the error about its end.
type memory struct {
	mu    sync.Mutex
	lines []string
}

const (
	lastLines     = 5
	lastLineBytes = 300
)

func (m *memory) keep(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lines) == lastLines {
		m.lines = slices.Delete(m.lines, 0, 1)
	}
	m.lines = append(m.lines, line)
}

// String joins the last lines, made safe for terminals and models.
func (m *memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var shown []string
	for _, line := range m.lines {
		if line = terminal.CleanLine(wording.Cut(line, lastLineBytes)); line != "" {
			shown = append(shown, line)
		}
	}
	return strings.Join(shown, " | ")
}

// edgeBytes is how much more of a line is read than is reported: a secret is recognized only if
// it is complete.
const edgeBytes = 4 << 10

// readLines reads the lines of a stream, without blank ones and secrets, in UTF-8. Of a long line
// it returns the beginning and keeps no more in memory.
func readLines(stream io.Reader, redact func(string) string, take func(line string)) {
	const most = maxLineBytes + edgeBytes
	in := bufio.NewReaderSize(stream, 2*maxLineBytes)
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece[:min(len(piece), most+1-len(line))]...)
		if err == bufio.ErrBufferFull { //nolint:errorlint // ReadSlice returns it as it is
			continue
		}
		text := redact(strings.TrimSpace(strings.ToValidUTF8(string(line), "\ufffd")))
		if len(line) > most { // the end can be half a secret
			text = strings.ToValidUTF8(text[:max(0, len(text)-edgeBytes)], "") + "…"
		}
		if text != "" {
			take(wording.Cut(text, maxLineBytes))
		}
		line = line[:0]
		if err != nil {
			return
		}
	}
}
