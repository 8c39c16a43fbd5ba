package base

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// An excerpt equals what splitting the whole text would give, however it is read.
func TestExcerpt(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-c]{0,6}\n?){0,12}`).Draw(t, "text")
		e := excerpt{
			from:     rapid.Int64Range(0, 8).Draw(t, "from"),
			to:       rapid.Int64Range(-1, 10).Draw(t, "to"),
			maxLines: rapid.Int64Range(1, 6).Draw(t, "maxLines"),
			maxBytes: rapid.IntRange(1, 30).Draw(t, "maxBytes"),
		}
		if err := e.read(ctx, iotest.OneByteReader(strings.NewReader(text)), 1000); err != nil {
			t.Fatal(err)
		}
		whole := e
		whole.text, whole.line, whole.begun, whole.next, whole.truncated, whole.lineCut = nil, 0, false, 0, false, false
		if err := whole.read(ctx, strings.NewReader(text), 1000); err != nil {
			t.Fatal(err)
		}
		if string(whole.text) != string(e.text) || whole.end() != e.end() || whole.truncated != e.truncated {
			t.Fatalf("depends on the chunks: %+v, %+v", e, whole)
		}

		lines := strings.Split(text, "\n")
		if e.line+1 != int64(len(lines)) {
			t.Fatalf("%d lines, want %d", e.line+1, len(lines))
		}
		counted := int64(strings.Count(text, "\n"))
		if lines[len(lines)-1] != "" {
			counted++
		}
		if e.lines() != counted {
			t.Fatalf("%q: %d lines, want %d", text, e.lines(), counted)
		}
		end := int64(len(lines))
		if e.to >= 0 {
			end = min(e.to, end)
		}
		var want []string
		if e.from < end {
			want = lines[e.from:end]
		}
		full := strings.Join(want, "\n")
		if int64(len(want)) <= e.maxLines && len(full) <= e.maxBytes {
			if e.truncated || string(e.text) != full {
				t.Fatalf("got %q, truncated %t; want %q", e.text, e.truncated, full)
			}
			return
		}
		if !e.truncated || len(e.text) > e.maxBytes || !strings.HasPrefix(full, string(e.text)) {
			t.Fatalf("got %q, truncated %t, of %q", e.text, e.truncated, full)
		}
		if e.end() <= e.from || e.end() >= end && !e.lineCut {
			t.Fatalf("cannot continue: from %d, to %d of %d", e.from, e.end(), end)
		}
		if !e.lineCut && string(e.text) != strings.Join(lines[e.from:e.end()], "\n") {
			t.Fatalf("text %q is not lines %d to %d", e.text, e.from, e.end())
		}
	})
}

func TestExcerptInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := excerpt{to: -1, maxLines: 10, maxBytes: 10}
	if err := e.read(ctx, iotest.ErrReader(errBinary), 10); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestExcerptLimits(t *testing.T) {
	e := excerpt{to: -1, maxLines: 10, maxBytes: 10}
	if err := e.read(t.Context(), strings.NewReader("0123456789a"), 10); err != errTooLong {
		t.Errorf("error %v", err)
	}
	e = excerpt{from: 5, to: 6, maxLines: 10, maxBytes: 10}
	if err := e.read(t.Context(), strings.NewReader("text\n\x00"), 100); err != errBinary {
		t.Errorf("error %v", err)
	}
}
