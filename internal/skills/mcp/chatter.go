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
)

// The limits of what a server says beside the protocol, on its standard error or in
// notifications. Whoever watches a run must not drown in it.
const (
	maxLineBytes      = 2 << 10
	maxLinesPerMinute = 200
	maxLinesPerRun    = 2_000
)

// A chatter passes on the lines of a server, as many as the limits allow.
type chatter struct {
	now    func() time.Time
	report func(line string)

	mu       sync.Mutex
	minute   time.Time
	inMinute int
	inRun    int
}

// say reports a line, or that there will be none for a while. It is called in the order
// of the lines, and reports in that order.
func (c *chatter) say(line string) {
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

// A memory keeps the last lines of a server, for saying why it ended.
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

// String is the last lines in one, made safe to show: an error goes to terminals and to
// models.
func (m *memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var shown []string
	for _, line := range m.lines {
		if line = terminal.CleanLine(clip(line, lastLineBytes)); line != "" {
			shown = append(shown, line)
		}
	}
	return strings.Join(shown, " | ")
}

// edgeBytes is how much more of a line is read than is passed on: a secret that begins
// within the line is known as one only when it is there to its end.
const edgeBytes = 4 << 10

// readLines reads a stream to its end and hands over its lines: without blank ones and
// secrets, in UTF-8, and of a long one the beginning. No more than that is kept in memory.
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
		if len(line) > most { // the end of what was kept may be half a secret
			text = strings.ToValidUTF8(text[:max(0, len(text)-edgeBytes)], "") + "…"
		}
		if text != "" {
			take(clip(text, maxLineBytes))
		}
		line = line[:0]
		if err != nil {
			return
		}
	}
}

// clip keeps the beginning of a text, and says if there was more.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
