package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store/storetest"
)

// A model is what a journal must hold: the lines that were appended, and how many of
// them were promised to survive a power cut.
type model struct {
	s       *Store
	j       *journal // nil while closed
	lines   []string
	events  []event.Event
	durable int
}

// Whatever happens to a journal, in whatever order, it holds what the model holds.
func TestModel(t *testing.T) {
	all := fastDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(all, "")
		if err != nil {
			rt.Fatal(err)
		}
		m := &model{s: inMemory(New(filepath.Join(dir, "perstack"), nil))}
		defer func() {
			if m.j != nil {
				m.j.abandon()
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"append":    func(rt *rapid.T) { m.append(t, rt) },
			"commit":    func(rt *rapid.T) { m.commit(t, rt) },
			"close":     func(rt *rapid.T) { m.close(rt) },
			"crash":     func(rt *rapid.T) { m.crash(t, rt) },
			"power cut": func(rt *rapid.T) { m.powerCut(t, rt) },
			"":          func(rt *rapid.T) { m.check(t, rt) },
		})
	})
}

func (m *model) open(t *testing.T, rt *rapid.T) {
	if m.j != nil {
		return
	}
	j, err := m.s.Open(t.Context(), "job1")
	if err != nil {
		rt.Fatal(err)
	}
	m.j, m.durable = j.(*journal), len(m.lines)
}

func (m *model) append(t *testing.T, rt *rapid.T) {
	m.open(t, rt)
	e := rapid.SampledFrom(storetest.Sample("job1")).Draw(rt, "event")
	if rapid.Bool().Draw(rt, "note") {
		e = storetest.Note("job1", len(m.lines), rapid.String().Draw(rt, "text"))
	}
	r, err := m.j.Append(t.Context(), e)
	if err != nil {
		rt.Fatal(err)
	}
	m.lines, m.events = append(m.lines, string(r.Line)), append(m.events, e)
}

func (m *model) commit(t *testing.T, rt *rapid.T) {
	m.open(t, rt)
	if err := m.j.Commit(t.Context()); err != nil {
		rt.Fatal(err)
	}
	m.durable = len(m.lines)
}

func (m *model) close(rt *rapid.T) {
	if m.j == nil {
		return
	}
	if err := m.j.Close(); err != nil {
		rt.Fatal(err)
	}
	m.j, m.durable = nil, len(m.lines)
}

// crash ends the writer without a word, perhaps in the middle of a record.
func (m *model) crash(t *testing.T, rt *rapid.T) {
	m.open(t, rt)
	m.j.abandon()
	m.j = nil
	torn := rapid.SampledFrom([]string{"", `{"seq":`, "\x00\x00\x00", strings.Repeat("x", 200_000)}).Draw(rt, "torn")
	f, err := os.OpenFile(m.s.path(journalName), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(torn)
		f.Close()
	}
	if err != nil {
		rt.Fatal(err)
	}
}

// powerCut ends the writer and forgets a part of what it had not committed.
func (m *model) powerCut(t *testing.T, rt *rapid.T) {
	m.open(t, rt)
	m.j.abandon()
	m.j = nil
	least, most := 0, 0
	for i, line := range m.lines {
		if most += len(line) + 1; i < m.durable {
			least = most
		}
	}
	size := rapid.IntRange(least, most).Draw(rt, "size")
	if err := os.Truncate(m.s.path(journalName), int64(size)); err != nil {
		rt.Fatal(err)
	}
	for n := most; n > size; {
		last := len(m.lines) - 1
		n -= len(m.lines[last]) + 1
		m.lines, m.events = m.lines[:last], m.events[:last]
	}
}

func (m *model) check(t *testing.T, rt *rapid.T) {
	if _, err := os.Lstat(m.s.path(journalName)); err != nil {
		return // nothing was opened yet
	}
	n := 0
	for r, err := range m.s.Read(t.Context(), "job1", 0) {
		if err != nil {
			rt.Fatal(err)
		}
		if n == len(m.lines) || string(r.Line) != m.lines[n] {
			rt.Fatalf("record %d is %s", r.Seq, r.Line)
		}
		n++
	}
	if n != len(m.lines) {
		rt.Fatalf("%d records, want %d", n, len(m.lines))
	}
	if head, err := m.s.RecordedHead(t.Context(), "job1"); err != nil || head.Seq > int64(m.durable) {
		rt.Fatalf("record %d is promised, and %d are durable (%v)", head.Seq, m.durable, err)
	}
	if n == 0 {
		return
	}
	var want event.Job
	for _, e := range m.events {
		want = want.Apply(e)
	}
	got, err := m.s.FindJob(t.Context(), "job1")
	if err != nil || got.Status != want.Status || got.TotalSteps != want.TotalSteps || got.Usage.TotalTokens != want.Usage.TotalTokens ||
		got.Interrupted != (want.Status == event.JobRunning && m.j == nil) {
		rt.Fatalf("summary %+v, want %+v (%v)", got, want, err)
	}
}
