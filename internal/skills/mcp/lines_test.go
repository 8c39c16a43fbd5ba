package mcp

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestReadLines(t *testing.T) {
	long := strings.Repeat("é", 3*maxLineBytes)
	var got []string
	stream := "one\n\n  \r\ntwo\r\nbad \xff\xfe\n" + long + "\nlast"
	readLines(iotest.HalfReader(strings.NewReader(stream)), asIs, func(line string) { got = append(got, line) })
	if len(got) != 5 || !slices.Equal(got[:3], []string{"one", "two", "bad \ufffd"}) || got[4] != "last" {
		t.Fatalf("%.200q", got)
	}
	if len(got[3]) > maxLineBytes || !strings.HasSuffix(got[3], "é…") || strings.Contains(got[3], "\ufffd") {
		t.Errorf("a long line has %d bytes and ends in %q", len(got[3]), got[3][len(got[3])-9:])
	}
}

// M10: an endless line takes no memory and ends with the stream.
func TestEndlessLine(t *testing.T) {
	const size = 32 << 20
	var got []string
	allocated := testing.AllocsPerRun(1, func() {
		readLines(io.LimitReader(zeros{}, size), asIs, func(line string) { got = append(got, line) })
	})
	for _, line := range got {
		if len(line) > maxLineBytes {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if len(got) != 2 || allocated > 100 { // the function runs twice
		t.Errorf("%d lines, %v allocations", len(got), allocated)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Of a flood, a part of each minute is passed on, and a part of the run; each end is said
// once.
func TestLineLimit(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var got []string
	c := &lineLimit{now: func() time.Time { return now }, report: func(line string) { got = append(got, line) }}
	for range 1000 {
		c.add("x")
	}
	if len(got) != maxLinesPerMinute+1 || !strings.Contains(got[maxLinesPerMinute], "200 lines in a minute") {
		t.Errorf("%d lines, the last is %q", len(got), got[len(got)-1])
	}
	for range 20 {
		now = now.Add(time.Minute)
		for range 300 {
			c.add("x")
		}
	}
	if len(got) != maxLinesPerRun+1 || !strings.Contains(got[maxLinesPerRun], "2000 lines; the rest of this run") {
		t.Errorf("%d lines, the last is %q", len(got), got[len(got)-1])
	}
}

// The last words of a server are few, short and harmless.
func TestMemory(t *testing.T) {
	var m memory
	if m.String() != "" {
		t.Error("words that the server did not write")
	}
	for _, line := range []string{"first", "a", "b\x1b[2J", "\x1b[31m", strings.Repeat("x", 5000), "last"} {
		m.keep(line)
	}
	got := m.String()
	if strings.Contains(got, "first") || strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "a | b | x") || !strings.HasSuffix(got, " | last") || len(got) > 400 {
		t.Errorf("%q", got)
	}
}
