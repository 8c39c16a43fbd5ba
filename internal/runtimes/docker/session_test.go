package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// A stage plays the container of a session without one: act has its standard input and
// output, and the session must come to terms with whatever it says.
type stage struct {
	t      *testing.T
	store  store.Store
	spec   job.Spec
	secret secret.Set // what only the host hides

	exit    Exit
	told    []event.Event
	stopped chan struct{} // closed when the session ends the container

	approvals engine.Approvals
	approver  engine.Approver
	inbox     engine.Inbox
	starting  func() // called before the container starts
}

const stageJob = "job"

// passed reports a check that passed.
var passed = hostlink.Up{Check: &hostlink.Check{Name: "stage", OK: true}}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, store: memory.New(), stopped: make(chan struct{})}
	s.spec = job.Spec{
		JobID: stageJob, RunID: "run", Input: job.Input{Query: "go"},
		Expert: "writer", Experts: []*expert.Expert{{Key: "writer", Name: "writer", Version: "1.0.0"}},
	}
	s.spec.Isolation.Container = job.DefaultContainer()
	s.spec.Limits.MaxSteps = 10
	return s
}

func (s *stage) limits() *job.Container { return &s.spec.Isolation.Container }

// host are the parts that the session works with.
func (s *stage) host(emit func(event.Event) error) engine.Parts {
	return engine.Parts{Store: s.store, Source: engine.SystemSource(), Log: slog.New(slog.DiscardHandler), Secrets: &s.secret, Lean: true, Emit: emit, Approvals: s.approvals, Approver: s.approver}
}

// start is the first event of the coordinator's Run.
func (s *stage) start() event.StartRun {
	spec, err := s.spec.Recorded()
	if err != nil {
		s.t.Fatal(err)
	}
	return event.StartRun{CheckpointID: "c1", Spec: spec, InputMessages: []*event.Message{}, Expert: event.ExpertRef{Key: "writer", Name: "writer", Version: "1.0.0"}}
}

// document is what the session sends into the container.
func (s *stage) document(f *engine.Follower) *hostlink.Document {
	d := &hostlink.Document{Protocol: hostlink.Protocol, Spec: s.spec}
	d.Spec.RunID = f.RunID()
	return d
}

// run plays the session with a container that does act.
func (s *stage) run(ctx context.Context, act func(in io.Reader, out io.Writer)) (engine.Result, error) {
	s.t.Helper()
	parts := s.host(func(e event.Event) error { s.told = append(s.told, e); return nil })
	f, err := engine.Follow(ctx, s.spec, parts)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	session := newSession(&runner{spec: s.spec, parts: parts}, f)
	defer s.inbox.Attach(session.takeAnswer)()
	defer session.close()
	return session.live(ctx, &stagePlace{s, act}, nil, s.document(f))
}

type stagePlace struct {
	*stage
	act func(in io.Reader, out io.Writer)
}

func (p *stagePlace) Start(context.Context) (*Container, error) {
	if p.starting != nil {
		p.starting()
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	exited, stopped := make(chan Exit, 1), p.stopped
	go func() {
		p.act(inR, outW)
		exited <- p.exit
		outW.Close()
		inR.Close()
	}()
	go func() { // the end of a container closes its streams
		<-stopped
		outW.Close()
		inR.Close()
	}()
	return &Container{Stdin: inW, Stdout: outR, Stderr: strings.NewReader("last words\x1b[2J\n"), Exited: exited}, nil
}

func (p *stagePlace) Stop(context.Context) error {
	close(p.stopped)
	return nil
}

// works is an honest container: the real engine, with a model that gives one answer.
func (s *stage) works(before func(*hostlink.Conn)) func(io.Reader, io.Writer) {
	thinker := s.model()
	return func(in io.Reader, out io.Writer) {
		conn, err := hostlink.Dial(in, out)
		if err != nil {
			s.t.Errorf("dial: %v", err)
			return
		}
		go func() { _ = conn.Serve() }()
		if before != nil {
			before(conn)
		}
		_ = conn.Send(passed)
		ctx, cancel := context.WithCancelCause(s.t.Context())
		defer cancel(nil)
		go func() {
			select {
			case stop := <-conn.Stopped():
				cancel(errors.New(stop.Reason))
			case <-conn.Gone():
				cancel(hostlink.ErrGone)
			case <-ctx.Done():
			}
		}()
		_, err = engine.Execute(ctx, conn.Document().Spec, engine.Parts{
			Model: thinker, Store: conn.Store(), Source: engine.SystemSource(), Log: slog.New(slog.DiscardHandler), Lean: true,
			Emit: func(e event.Event) error {
				if e.IsKept() {
					return nil
				}
				data, err := event.Marshal(e)
				if err != nil {
					return err
				}
				return conn.Send(hostlink.Up{Show: data})
			},
		}, func(ctx context.Context, _ engine.SkillRequest) (*skill.Toolbox, error) {
			return skill.NewToolbox(ctx, nil, slog.New(slog.DiscardHandler))
		})
		end := &hostlink.End{}
		if err != nil {
			end.Error = err.Error()
		}
		_ = conn.Send(hostlink.Up{End: end}) // the listener may be gone
	}
}

func (s *stage) model() *replay.Model {
	cassette, err := replay.Parse("answers", []byte("[[turn]]\ntext = \"the answer\"\n[[turn]]\ntext = \"another answer\"\n"))
	if err != nil {
		s.t.Fatal(err)
	}
	return replay.New(cassette)
}

func (s *stage) types() string {
	var all []string
	for r, err := range s.store.Read(s.t.Context(), stageJob, 0) {
		if err != nil {
			return err.Error()
		}
		all = append(all, string(r.Event.Type()))
	}
	return strings.Join(all, " ")
}

func TestSessionOfAnHonestContainer(t *testing.T) {
	s := newStage(t)
	result, err := s.run(t.Context(), s.works(func(c *hostlink.Conn) {
		_ = c.Send(hostlink.Up{Check: &hostlink.Check{Name: "root", OK: true}})
		_ = c.Send(hostlink.Up{Alive: true})
		_ = c.Send(hostlink.Up{Log: &hostlink.Log{Level: "INFO", Text: "hello"}})
	}))
	if err != nil || result.Status != event.StatusCompleted || result.Text != "the answer" {
		t.Fatalf("it ended as %+v, %v", result, err)
	}
	if got := s.types(); !strings.HasPrefix(got, "startRun sandboxCheck sandboxCheck dockerContainerStatus ") || !strings.HasSuffix(got, "completeRun") {
		t.Errorf("recorded %s", got)
	}

	// It continues with the history that the host sends.
	s.spec.Input = job.Input{Query: "more", Continue: true}
	s.spec.RunID = ""
	s.stopped = make(chan struct{})
	result, err = s.run(t.Context(), s.works(nil))
	if err != nil || result.Status != event.StatusCompleted {
		t.Fatalf("it continued to %+v, %v", result, err)
	}
	if n := strings.Count(s.types(), "completeRun"); n != 2 {
		t.Errorf("%d ends: %s", n, s.types())
	}
	if _, err := store.Verify(t.Context(), s.store, stageJob); err != nil {
		t.Error(err)
	}
}

// A container that fails its self-test runs nothing, and one that begins all the same is
// cut off.
func TestSessionRefusesFailedCheck(t *testing.T) {
	failing := func(c *hostlink.Conn) {
		_ = c.Send(hostlink.Up{Check: &hostlink.Check{Name: "gateway", OK: false, Detail: "it answers\x1b[31m"}})
	}
	t.Run("honest", func(t *testing.T) {
		s := newStage(t)
		_, err := s.run(t.Context(), func(in io.Reader, out io.Writer) {
			conn, err := hostlink.Dial(in, out)
			if err != nil {
				t.Error(err)
				return
			}
			failing(conn)
			_ = conn.Send(hostlink.Up{End: &hostlink.End{Error: "the self-test failed"}})
		})
		if err == nil || !strings.Contains(err.Error(), "the container is not isolated") || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "gateway") {
			t.Errorf("%v", err)
		}
		if got := s.types(); !strings.Contains(got, "no such job") {
			t.Errorf("recorded %s", got)
		}
		if status, ok := s.told[0].Body.(event.DockerContainerStatus); !ok || status.Status != "unhealthy" {
			t.Errorf("told first: %+v", s.told[0])
		}
	})
	t.Run("begins", func(t *testing.T) {
		s := newStage(t)
		_, err := s.run(t.Context(), s.works(failing))
		if err == nil || !strings.Contains(err.Error(), "the container is not isolated") {
			t.Errorf("%v", err)
		}
		if got := s.types(); !strings.Contains(got, "no such job") {
			t.Errorf("recorded %s", got)
		}
	})
}

// What a container that was taken over may say: the session ends, the journal stays sound,
// and nothing that acts on a terminal gets through.
func TestSessionOfAHostileContainer(t *testing.T) {
	raw := func(lines ...string) func(*hostlink.Conn, io.Writer) {
		return func(_ *hostlink.Conn, out io.Writer) {
			for _, line := range lines {
				if _, err := io.WriteString(out, line+"\n"); err != nil {
					return
				}
			}
		}
	}
	const checked = `{"check":{"name":"isolation","ok":true}}`
	foreign := `{"type":"startRun","id":"e1","expertKey":"writer","timestamp":1,"jobId":"other","runId":"run","stepNumber":1,"inputMessages":[],"checkpointId":"c1","expert":{"key":"writer","name":"writer","version":"1.0.0"}}`
	for name, c := range map[string]struct {
		say  func(*hostlink.Conn, io.Writer)
		want string
	}{
		"no JSON":           {raw("hello \x1b[2J"), "cannot be trusted"},
		"unknown member":    {raw(`{"rm":"-rf"}`), "cannot be trusted"},
		"nothing":           {raw(`{}`), "one thing"},
		"two things":        {raw(`{"alive":true,"commit":1}`), "one thing"},
		"twice the same":    {raw(`{"alive":true,"alive":true}`), "cannot be trusted"},
		"a deep line":       {raw(strings.Repeat(`{"show":`, 20000)), "cannot be trusted"},
		"no self-test":      {raw(`{"append":{"id":1,"event":` + foreign + `}}`), "without checking its isolation"},
		"two names":         {raw(`{"hello":{"protocol":1,"version":"v"}}`), "its version twice"},
		"a late check":      {raw(checked, `{"show":`+strings.Replace(strings.Replace(foreign, "startRun", "skillDisconnected", 1), "other", "job", 1)+`}`, checked), "more checks than there are"},
		"another job":       {raw(checked, `{"append":{"id":1,"event":`+foreign+`}}`), "another job"},
		"a broken event":    {raw(checked, `{"append":{"id":1,"event":{"type":"startRun","id":7}}}`), "cannot be understood"},
		"an unknown event":  {raw(checked, `{"append":{"id":1,"event":{"type":"ownTheHost"}}}`), "cannot be understood"},
		"shows what counts": {raw(checked, `{"show":`+foreign+`}`), "must be recorded"},
		"an endless line": {func(_ *hostlink.Conn, out io.Writer) {
			_, _ = io.WriteString(out, `{"log":{"level":"INFO","text":"`)
			chunk := strings.Repeat("x", 1<<20)
			for {
				if _, err := io.WriteString(out, chunk); err != nil {
					return
				}
			}
		}, "longer than 64 MiB"},
		"dies at once": {func(*hostlink.Conn, io.Writer) {}, "ended with code 7"},
		"never reads": {func(_ *hostlink.Conn, out io.Writer) {
			for i := int64(1); ; i++ {
				if _, err := fmt.Fprintf(out, "{\"commit\":%d}\n", i); err != nil {
					return
				}
			}
		}, "does not read the answers"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.exit = Exit{Code: 7}
			_, err := s.run(t.Context(), func(in io.Reader, out io.Writer) {
				conn, err := hostlink.Dial(in, out)
				if err != nil {
					t.Error(err)
					return
				}
				c.say(conn, out)
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended with %v, not with %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\x1b") {
				t.Errorf("it can act on a terminal: %q", err)
			}
			if got := s.types(); !strings.Contains(got, "no such job") {
				t.Errorf("recorded %s", got)
			}
		})
	}
}

// The first line must come from a perstack that speaks as we do.
func TestSessionOfAnotherProtocol(t *testing.T) {
	for line, want := range map[string]string{
		`{"hello":{"protocol":99,"version":"v9"}}`: "protocol 99",
		`{"alive":true}`: "is not its version",
		`{"check":{"name":"isolation","ok":true}}`: "is not its version",
	} {
		s := newStage(t)
		_, err := s.run(t.Context(), func(_ io.Reader, out io.Writer) { _, _ = io.WriteString(out, line+"\n") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A container cannot fill the disk of the host.
func TestSessionLimitsTheJournal(t *testing.T) {
	s := newStage(t)
	s.limits().MaxJournalBytes = 2000
	_, err := s.run(t.Context(), func(in io.Reader, out io.Writer) {
		conn, err := hostlink.Dial(in, out)
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _ = conn.Serve() }()
		_ = conn.Send(passed)
		j, err := conn.Store().Open(t.Context(), stageJob)
		if err != nil {
			t.Error(err)
			return
		}
		e := event.Event{ID: "e1", JobID: stageJob, RunID: "run", ExpertKey: "writer", StepNumber: 1,
			Body: s.start()}
		for i := 0; err == nil; i++ {
			e.ID = fmt.Sprintf("e%d", i)
			_, err = j.Append(t.Context(), e)
			e.Body = event.LimitWarning{Limit: event.LimitSteps}
		}
	})
	if err == nil || !strings.Contains(err.Error(), "maxJournalBytes") {
		t.Errorf("it ended with %v", err)
	}
	if got := s.types(); !strings.HasSuffix(got, "stopRunByInterrupt") || len(got) > 2000 {
		t.Errorf("recorded %s", got)
	}
}

// Who interrupts gets a job that is saved, also if the container does not obey.
func TestSessionIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := newStage(t)
	result, err := s.run(ctx, func(in io.Reader, out io.Writer) {
		conn, err := hostlink.Dial(in, out)
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _ = conn.Serve() }()
		_ = conn.Send(passed)
		j, _ := conn.Store().Open(t.Context(), stageJob)
		if _, err := j.Append(t.Context(), event.Event{ID: "e1", JobID: stageJob, RunID: "run", ExpertKey: "writer", StepNumber: 1,
			Body: s.start()}); err != nil {
			t.Error(err)
		}
		cancel(errors.New("ctrl-c"))
		if stop := <-conn.Stopped(); stop.Reason != "ctrl-c" {
			t.Errorf("told to stop because of %q", stop.Reason)
		}
		// It does not save, and ends.
	})
	if err != nil || result.Status != event.StatusStoppedByInterrupt {
		t.Errorf("it ended as %+v, %v", result, err)
	}
}

// A container that hangs is ended: before it is ready, and while it works.
func TestSessionDeadlines(t *testing.T) {
	for want, set := range map[string]func(*job.Container){
		"startTimeout": func(d *job.Container) { d.StartTimeout = 50 * time.Millisecond },
		"idleTimeout":  func(d *job.Container) { d.IdleTimeout = 50 * time.Millisecond },
	} {
		t.Run(want, func(t *testing.T) {
			s := newStage(t)
			set(s.limits())
			_, err := s.run(t.Context(), func(io.Reader, io.Writer) { <-s.stopped })
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// What the container says is recorded without the secrets that only the host knows.
func TestSessionRedacts(t *testing.T) {
	s := newStage(t)
	s.secret.Add("X", "the answer")
	result, err := s.run(t.Context(), s.works(nil))
	if err != nil || strings.Contains(result.Text, "answer") || !strings.Contains(result.Text, "[redacted: X]") {
		t.Errorf("%+v, %v", result, err)
	}
}

// A secret that the user wrote into an instruction is part of the Spec on both sides, and
// does not make the container look as if it had another one.
func TestSessionOfASpecWithASecret(t *testing.T) {
	s := newStage(t)
	s.secret.Add("X", "a-key-in-the-instruction")
	s.spec.Experts[0].Instruction = "Use a-key-in-the-instruction."
	result, err := s.run(t.Context(), s.works(nil))
	if err != nil || result.Status != event.StatusCompleted {
		t.Errorf("%+v, %v", result, err)
	}
}
