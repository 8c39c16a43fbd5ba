package hostlink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

func TestReaderLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	r := NewReader(strings.NewReader("one\n\n" + long + "\ntwo\n"))
	for _, want := range []string{"one", "", long, "two"} {
		got, err := r.Line()
		if err != nil || string(got) != want {
			t.Fatalf("a line of %d bytes, %v; want one of %d", len(got), err, len(want))
		}
	}
	if _, err := r.Line(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last line: %v", err)
	}

	// A line that was cut off is not a shorter line.
	if line, err := NewReader(strings.NewReader(`{"alive":true}`)).Line(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a line without an end: %q, %v", line, err)
	}
	r = NewReader(strings.NewReader(strings.Repeat("x", 1<<20) + "\n"))
	r.max = 100 << 10
	if _, err := r.Line(); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a line over the limit: %v", err)
	}
}

func TestUpIsStrict(t *testing.T) {
	for line, ok := range map[string]bool{
		`{"alive":true}`: true,
		`{"append":{"id":1,"event":{"type":"x"}}}`: true,
		`{"end":{}}`:                        true,
		`{}`:                                false,
		`{"alive":false}`:                   false,
		`{"alive":true,"commit":2}`:         false,
		`{"Alive":true}`:                    false,
		`{"alive":true,"alive":true}`:       false,
		`{"alive":true} {"alive":true}`:     false,
		`{"end":{"unknown":1}}`:             false,
		`[]`:                                false,
		`null`:                              false,
		"{\"log\":{\"text\":\"\xff\"}}":     false,
		`{"append":{"id":1e99,"event":{}}}`: false,
	} {
		_, err := NewReader(strings.NewReader(line + "\n")).Up()
		if (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// FuzzUp feeds the host what a container may say. It must not panic, and what it accepts
// says one thing, the same when it is written and read again.
func FuzzUp(f *testing.F) {
	f.Add([]byte(`{"hello":{"protocol":1,"version":"v"}}`))
	f.Add([]byte(`{"append":{"id":1,"event":{"type":"startRun"}}}`))
	f.Add([]byte(`{"check":{"name":"x","ok":false,"detail":"\u001b[2J"}}`))
	f.Add([]byte(`{"end":{"limit":{"name":"steps","used":1,"max":1}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		up, err := NewReader(bytes.NewReader(append(line, '\n'))).Up()
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := NewWriter(&out).Write(up); err != nil {
			t.Fatalf("%q was read and cannot be written: %v", line, err)
		}
		again, err := NewReader(bytes.NewReader(out.Bytes())).Up()
		if err != nil {
			t.Fatalf("%q became %q, which cannot be read: %v", line, out.Bytes(), err)
		}
		if fmt.Sprintf("%+v", up.Check) != fmt.Sprintf("%+v", again.Check) || up.Commit != again.Commit {
			t.Errorf("%q became %q", line, out.Bytes())
		}
	})
}

// A host that the tests play: it sends the document and the history, and answers.
type playedHost struct {
	in  *io.PipeWriter // to the container
	out *Reader        // from it
	w   *Writer
}

func dial(t *testing.T, d Document, records ...string) (*Conn, *playedHost) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h := &playedHost{in: inW, out: NewReader(outR), w: NewWriter(inW)}
	d.Protocol, d.Records = Protocol, int64(len(records))
	go func() {
		if _, err := h.out.Up(); err != nil {
			t.Errorf("no hello: %v", err)
		}
		if err := h.w.Write(Down{Document: &d}); err != nil {
			t.Errorf("the document cannot be written: %v", err)
		}
		for _, r := range records {
			_ = h.w.Raw([]byte(r))
		}
	}()
	c, err := Dial(inR, outW)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inW.Close(); outW.Close() })
	return c, h
}

func started(run string) event.Event {
	return event.Event{ID: "e1", JobID: "job", RunID: run, ExpertKey: "writer", StepNumber: 1, Body: event.StartRun{CheckpointID: "c", InputMessages: []*event.Message{}}}
}

// The history comes byte for byte: its chain is checked on this side too.
func TestHistoryGoesIn(t *testing.T) {
	s := memory.New()
	j, err := s.Open(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for range 3 {
		r, err := j.Append(t.Context(), started("run"))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(r.Line))
	}
	read := func(c *Conn, after int64) (seqs []int64, err error) {
		for r, err := range c.Store().Read(t.Context(), "job", after) {
			if err != nil {
				return seqs, err
			}
			seqs = append(seqs, r.Seq)
		}
		return seqs, nil
	}
	c, _ := dial(t, Document{Spec: job.Spec{JobID: "job"}}, lines...)
	if seqs, err := read(c, 1); err != nil || fmt.Sprint(seqs) != "[2 3]" {
		t.Errorf("read %v, %v", seqs, err)
	}
	c, _ = dial(t, Document{Spec: job.Spec{JobID: "job"}})
	if _, err := read(c, 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a new job: %v", err)
	}
	c, _ = dial(t, Document{Spec: job.Spec{JobID: "job"}}, lines[0], lines[2])
	var damage *store.DamageError
	if _, err := read(c, 0); !errors.As(err, &damage) {
		t.Errorf("a history with a hole: %v", err)
	}
	if _, err := c.Store().Open(t.Context(), "other"); !errors.Is(err, store.ErrBadID) {
		t.Errorf("another job: %v", err)
	}
}

// An event counts as recorded when the host says so, and not before.
func TestAppendWaitsForTheHost(t *testing.T) {
	c, h := dial(t, Document{Spec: job.Spec{JobID: "job"}})
	go func() { _ = c.Serve() }()
	j, err := c.Store().Open(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		record store.Record
		err    error
	}
	for name, answer := range map[string]struct {
		done Done
		want error
		seq  int64
	}{
		"written": {Done{Seq: 7}, nil, 7},
		"full":    {Done{Error: "no room", Full: true}, store.ErrFull, 0},
		"refused": {Done{Error: "too large"}, errAny, 0},
	} {
		t.Run(name, func(t *testing.T) {
			result := make(chan outcome, 1)
			go func() {
				r, err := j.Append(t.Context(), started("run"))
				result <- outcome{r, err}
			}()
			up, err := h.out.Up()
			if err != nil || up.Append == nil {
				t.Fatalf("it asked for %+v, %v", up, err)
			}
			select {
			case r := <-result:
				t.Fatalf("it did not wait: %+v", r)
			default:
			}
			answer.done.ID = up.Append.ID
			if err := h.w.Write(Down{Done: &answer.done}); err != nil {
				t.Fatal(err)
			}
			r := <-result
			if r.record.Seq != answer.seq || (r.err == nil) != (answer.want == nil) {
				t.Errorf("%+v", r)
			}
			if answer.want != nil && !errors.Is(answer.want, errAny) && !errors.Is(r.err, answer.want) {
				t.Errorf("%v is not %v", r.err, answer.want)
			}
		})
	}

	// When the host goes away, no call waits for ever.
	result := make(chan error, 1)
	go func() { result <- j.Commit(t.Context()) }()
	if _, err := h.out.Up(); err != nil {
		t.Fatal(err)
	}
	h.in.Close()
	if err := <-result; !errors.Is(err, ErrGone) {
		t.Errorf("the host is gone: %v", err)
	}
	<-c.Gone()
	if _, err := j.Append(t.Context(), started("run")); !errors.Is(err, ErrGone) {
		t.Errorf("after it: %v", err)
	}
}

// The end is the last line, also if a commit was still to be asked for.
func TestNothingFollowsTheEnd(t *testing.T) {
	c, h := dial(t, Document{Spec: job.Spec{JobID: "job"}})
	go func() { _ = c.Serve() }()
	j, err := c.Store().Open(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { told <- c.Send(Up{End: &End{}}) }()
	if up, err := h.out.Up(); err != nil || up.End == nil {
		t.Fatalf("%+v, %v", up, err)
	}
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	// A line that was written would wait here for a reader.
	_, appendErr := j.Append(t.Context(), started("run"))
	for _, err := range []error{j.Commit(t.Context()), appendErr, c.Send(Up{Alive: true}), c.Send(Up{End: &End{}})} {
		if !errors.Is(err, ErrGone) {
			t.Errorf("after the end: %v", err)
		}
	}
}

var errAny = errors.New("any")

func TestDialRefusesOthers(t *testing.T) {
	later, err := Encode(Down{Document: &Document{Protocol: 99, Version: "v9"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, first := range map[string]string{
		"another protocol": string(later),
		"no document":      `{"stop":{"reason":"x"}}`,
		"nothing":          ``,
	} {
		if _, err := Dial(strings.NewReader(first+"\n"), io.Discard); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}
