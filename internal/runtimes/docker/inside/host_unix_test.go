//go:build unix

package inside

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// A fakeHost is the host at the other end of the link: it writes down what it is handed.
type fakeHost struct {
	t       *testing.T
	store   store.Store
	journal store.Journal
	down    *hostlink.Writer
	hangUp  func() // closes the input of the command

	// before is asked before an event is written; an answer of its own is given in the
	// place of the usual one.
	before func(d *fakeHost, e event.Event) *hostlink.Done
	// after is told when it is written, and before the engine knows.
	after func(d *fakeHost, e event.Event)

	events []event.Event // written
	shown  []event.Event
	checks []hostlink.Check
	logs   []hostlink.Log
	end    *hostlink.End
	asked  map[int64]bool // numbers of requests
}

func newFakeHost(t *testing.T) *fakeHost { return &fakeHost{t: t, store: memory.New()} }

// document describes a job of the Expert lead, in a new workspace.
func document(t *testing.T, config, cassette string) *hostlink.Document {
	t.Helper()
	parsed, problems := manifest.Parse("/home/user/project/perstack.toml", []byte(config))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	lead, ok := parsed.Lookup("lead")
	if !ok {
		t.Fatal("no lead")
	}
	spec := parsed.Spec(lead)
	spec.JobID, spec.RunID, spec.Input.Query = "job1", "run1", "go"
	spec.Provider, spec.Model, spec.Setting.Cassette = "replay", "cassette", "/home/user/project/cassette.toml"
	spec.Limits.MaxSteps, spec.Limits.Timeout = 20, time.Minute
	spec.Runtime, spec.Workspace.Dir = job.Docker, "/home/user/project"
	// Where the kernel has no sandboxes, the rest is tested without them.
	spec.Isolation.SharedSandbox = landlock.Available() != nil
	return &hostlink.Document{
		Protocol:  hostlink.Protocol,
		Version:   "test",
		Spec:      spec,
		Addresses: hostlink.Addresses{Workspace: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}, Gateway: "192.0.2.1"},
		Secrets: hostlink.Secrets{
			Proxy:   "http://perstack:token-of-the-engine@192.0.2.2:4000",
			Proxies: map[string]string{engine.ProxyName("lead", "@perstack/base"): "http://perstack:token-of-the-commands@192.0.2.2:4001"},
			Files:   []hostlink.File{{Path: "/home/user/project/cassette.toml", Data: []byte(cassette)}},
		},
	}
}

// stands is a self-test that passes.
func stands(context.Context, selftest.Spec) []selftest.Result {
	return []selftest.Result{{Name: "user", OK: true, Detail: "uid 1000"}, {Name: "proxy", OK: true, Detail: "refuses"}}
}

// newOptions are those of a container, apart from its isolation.
func newOptions(input io.Reader, output io.Writer) *options {
	return &options{
		stdin: input, stdout: output, secrets: &secret.Set{}, source: engine.SystemSource(), runJob: RunForTests, begun: func() {}, check: stands,
	}
}

// run runs the command with itself as its host, and returns what it returned.
func (d *fakeHost) run(doc *hostlink.Document, check func(context.Context, selftest.Spec) []selftest.Result) error {
	d.t.Helper()
	return d.serve(doc, func(input io.Reader, output io.Writer) error {
		o := newOptions(input, output)
		o.check, o.tmp, o.home = check, d.t.TempDir(), d.t.TempDir()
		return run(d.t.Context(), o)
	})
}

// serve is the host of a command, wherever it runs. What is on record of the job goes
// along.
func (d *fakeHost) serve(doc *hostlink.Document, command func(io.Reader, io.Writer) error) error {
	d.t.Helper()
	var records [][]byte
	for r, err := range d.store.Read(d.t.Context(), doc.Spec.JobID, 0) {
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			d.t.Fatal(err)
		}
		records = append(records, r.Line)
	}
	doc.Records = int64(len(records))
	var err error
	if d.journal, err = d.store.Open(d.t.Context(), doc.Spec.JobID); err != nil {
		d.t.Fatal(err)
	}
	defer d.journal.Close()

	input, toInput := io.Pipe()
	fromOutput, output := io.Pipe()
	d.down, d.hangUp = hostlink.NewWriter(toInput), func() { toInput.Close() }
	d.events, d.shown, d.checks, d.logs, d.end, d.asked = nil, nil, nil, nil, nil, map[int64]bool{}
	ended := make(chan error, 1)
	go func() {
		err := command(input, output)
		output.Close()
		input.CloseWithError(io.ErrClosedPipe)
		ended <- err
	}()
	// The document may be larger than what a pipe holds, and the command speaks first.
	go func() {
		err := d.down.Write(hostlink.Down{Document: doc})
		for _, line := range records {
			if err == nil {
				err = d.down.Raw(bytes.Clone(line))
			}
		}
	}()
	d.listen(fromOutput)
	d.hangUp()
	return <-ended
}

// listen takes lines until the command ends.
func (d *fakeHost) listen(from io.Reader) {
	d.t.Helper()
	lines := hostlink.NewReader(from)
	for n := 0; ; n++ {
		up, err := lines.Up()
		if errors.Is(err, io.EOF) {
			return
		}
		switch {
		case err != nil:
			d.t.Errorf("line %d: %v", n, err)
			return
		case (up.Hello != nil) != (n == 0):
			d.t.Errorf("line %d: %+v", n, up)
		case d.end != nil:
			d.t.Errorf("a line after the end: %+v", up)
		}
		d.take(up)
	}
}

func (d *fakeHost) take(up hostlink.Up) {
	switch {
	case up.Check != nil:
		if len(d.events) > 0 {
			d.t.Errorf("a check after the engine began: %+v", up.Check)
		}
		d.checks = append(d.checks, *up.Check)
	case up.Append != nil:
		d.answer(d.append(up.Append))
	case up.Commit != 0:
		d.next(up.Commit)
		done := &hostlink.Done{ID: up.Commit}
		if err := d.journal.Commit(d.t.Context()); err != nil {
			done.Error = err.Error()
		}
		d.answer(done)
	case len(up.Show) > 0:
		e, err := event.Unmarshal(up.Show)
		if err != nil || e.IsKept() {
			d.t.Errorf("shown: %s, %v", up.Show, err)
		}
		d.shown = append(d.shown, e)
	case up.Decide != nil: // everything is allowed
		d.next(up.Decide.ID)
		d.answer(&hostlink.Done{ID: up.Decide.ID, Decision: &hostlink.Decision{Do: job.Allow}})
	case up.Ask != nil: // and no question answered
		d.next(up.Ask.ID)
		d.answer(&hostlink.Done{ID: up.Ask.ID, Answer: &hostlink.Answer{None: true}})
	case up.Log != nil:
		d.logs = append(d.logs, *up.Log)
	case up.End != nil:
		d.end = up.End
	}
}

// next checks that no number is used for two requests.
func (d *fakeHost) next(id int64) {
	if id <= 0 || d.asked[id] {
		d.t.Errorf("request %d is not new", id)
	}
	d.asked[id] = true
}

func (d *fakeHost) append(a *hostlink.Append) *hostlink.Done {
	d.next(a.ID)
	e, err := event.Unmarshal(a.Event)
	if err != nil || !e.IsKept() {
		d.t.Errorf("to be written: %s, %v", a.Event, err)
	}
	if d.before != nil {
		if done := d.before(d, e); done != nil {
			done.ID = a.ID
			return done
		}
	}
	r, err := d.journal.Append(d.t.Context(), e)
	if err != nil {
		d.t.Error(err)
	}
	d.events = append(d.events, e)
	if d.after != nil {
		d.after(d, e)
	}
	return &hostlink.Done{ID: a.ID, Seq: r.Seq}
}

// answer fails when the command is gone, which shows on the other side.
func (d *fakeHost) answer(done *hostlink.Done) { _ = d.down.Write(hostlink.Down{Done: done}) }

// types lists the types of the events that were written.
func (d *fakeHost) types() (all []event.Type) {
	for _, e := range d.events {
		all = append(all, e.Type())
	}
	return all
}

// has reports whether an event of a type was written.
func (d *fakeHost) has(kind event.Type) bool { return slices.Contains(d.types(), kind) }

// text is all that came out of the container.
func (d *fakeHost) text() string {
	var b strings.Builder
	for _, all := range [][]event.Event{d.events, d.shown} {
		for _, e := range all {
			data, err := event.Marshal(e)
			if err != nil {
				d.t.Fatal(err)
			}
			b.Write(data)
		}
	}
	for _, v := range []any{d.checks, d.logs, d.end} {
		data, err := json.Marshal(v)
		if err != nil {
			d.t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}
