package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
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
	torn    bool // a power cut left zeros between the lines and the end of the file
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
	m.j, m.durable, m.torn = j.(*journal), len(m.lines), false
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

// powerCut ends the writer and forgets a part of what it had not committed: the end,
// and pages before it.
func (m *model) powerCut(t *testing.T, rt *rapid.T) {
	m.open(t, rt)
	m.j.abandon()
	m.j = nil
	data, err := os.ReadFile(m.s.path(journalName))
	if err != nil {
		rt.Fatal(err)
	}
	least := 0
	for _, line := range m.lines[:m.durable] {
		least += len(line) + 1
	}
	data = data[:rapid.IntRange(least, len(data)).Draw(rt, "size")]
	// Smaller than real pages, so that short records meet their borders.
	page := rapid.SampledFrom([]int{64, 300, 4096}).Draw(rt, "page")
	for from := least; from < len(data); from = (from/page + 1) * page {
		if rapid.IntRange(0, 3).Draw(rt, "lost") == 0 {
			clear(data[from:min((from/page+1)*page, len(data))])
		}
	}
	if err := os.WriteFile(m.s.path(journalName), data, 0o600); err != nil {
		rt.Fatal(err)
	}
	m.forget(data)
}

// forget drops the lines that are not in the file any more.
func (m *model) forget(data []byte) {
	kept, rest := 0, string(data)
	for kept < len(m.lines) && strings.HasPrefix(rest, m.lines[kept]+"\n") {
		rest = rest[len(m.lines[kept])+1:]
		kept++
	}
	m.lines, m.events = m.lines[:kept], m.events[:kept]
	m.torn = strings.Contains(rest, "\n") // otherwise it is one incomplete line
}

func (m *model) check(t *testing.T, rt *rapid.T) {
	if _, err := os.Lstat(m.s.path(journalName)); err != nil {
		return // nothing was opened yet
	}
	n, torn := 0, false
	for r, err := range m.s.Read(t.Context(), "job1", 0) {
		if damage := (*store.DamageError)(nil); m.torn && errors.As(err, &damage) && damage.Torn && damage.Seq == int64(n)+1 {
			torn = true
			break
		}
		if err != nil {
			rt.Fatal(err)
		}
		if n == len(m.lines) || string(r.Line) != m.lines[n] {
			rt.Fatalf("record %d is %s", r.Seq, r.Line)
		}
		n++
	}
	if n != len(m.lines) || torn != m.torn {
		rt.Fatalf("%d records, torn %v, want %d, %v", n, torn, len(m.lines), m.torn)
	}
	if head, err := m.s.RecordedHead(t.Context(), "job1"); err != nil || head.Head.Seq > int64(m.durable) {
		rt.Fatalf("record %d is promised, and %d are durable (%v)", head.Head.Seq, m.durable, err)
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
