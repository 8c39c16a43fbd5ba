package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/store"
)

// take does what a line from the container asks for. An error ends the session: an engine
// that is ours does not send such lines.
func (s *session) take(ctx context.Context, up hostlink.Up, t *talk) error {
	switch {
	case s.end != nil:
		return errors.New("the container sent a line after its last one")
	case !s.greeted && up.Hello == nil:
		return errors.New("the first line of the container is not its version")
	}
	switch {
	case up.Hello != nil:
		return s.greet(*up.Hello)
	case up.Check != nil:
		return s.check(*up.Check)
	case up.Append != nil:
		if err := s.begin(); err != nil {
			return err
		}
		return s.append(*up.Append, t)
	case up.Commit != 0:
		return t.send(hostlink.Down{Done: done(up.Commit, 0, s.follower.Commit())})
	case up.Decide != nil:
		return s.decide(ctx, *up.Decide, t)
	case up.Ask != nil:
		return s.ask(ctx, *up.Ask, t)
	case len(up.Show) > 0:
		if err := s.begin(); err != nil {
			return err
		}
		if s.shown += int64(len(up.Show)); s.shown > maxShown {
			return fmt.Errorf("the container has shown more than %d GiB", maxShown>>30)
		}
		e, err := s.event(up.Show)
		if err != nil {
			return err
		}
		return s.follower.Show(e)
	case up.Log != nil:
		s.relay(ctx, *up.Log)
	case up.Note != nil, up.Found != nil:
		return errors.New("the container lists tools, and a job was started")
	case up.End != nil:
		s.end = up.End
	}
	return nil
}

func (s *session) greet(h hostlink.Hello) error {
	if s.greeted {
		return errors.New("the container sent its version twice")
	}
	s.greeted = true
	if h.Protocol != hostlink.Protocol {
		return fmt.Errorf("the perstack in the container is another version (%s, protocol %d; here %s, protocol %d); use the same version",
			s.clean(h.Version), h.Protocol, version.String(), hostlink.Protocol)
	}
	return nil
}

// begin notes that the self-test is over. Our engine begins only if all checks passed.
func (s *session) begin() error {
	switch {
	case s.started:
		return nil
	case s.checked == 0:
		return errors.New("the engine in the container began without checking its isolation")
	case len(s.checks) == 0:
		s.note(event.DockerContainerStatus{Service: string(roleRuntime), Status: "healthy"})
	}
	s.started = true
	return nil
}

// maxChecks bounds what a self-test may say.
const maxChecks = 100

// check tells one outcome of the self-test. When the engine is at work, there
// are no more checks.
func (s *session) check(c hostlink.Check) error {
	if s.checked++; s.started || s.checked > maxChecks {
		return errors.New("the container reported more checks than there are")
	}
	name, detail := s.clean(c.Name), s.clean(c.Detail)
	if !c.OK && len(s.checks) == 0 {
		s.note(event.DockerContainerStatus{Service: string(roleRuntime), Status: "unhealthy", Message: name})
	}
	if !c.OK {
		s.checks = append(s.checks, name+": "+detail)
	}
	s.note(event.SandboxCheck{Check: name, OK: c.OK, Message: detail})
	return nil
}

// append writes down an event and says so. That the disk is full, or that a record cannot
// be written, is for the engine to deal with; an event that is not of this job is not.
func (s *session) append(a hostlink.Append, t *talk) error {
	if len(s.checks) > 0 {
		return errors.New("the engine in the container began although the check of its isolation failed")
	}
	e, err := s.event(a.Event)
	if err != nil {
		return err
	}
	if err := s.count(int64(len(a.Event))); err != nil {
		return err
	}
	record, err := s.follower.Append(e)
	if errors.Is(err, engine.ErrForged) {
		return err
	}
	if limit := s.follower.Limit(); limit != nil && !s.stopped {
		// The engine must know it before it starts the call that waits for this record.
		s.stopped = true
		if err := t.send(hostlink.Down{Stop: &hostlink.Stop{Reason: limit.Error(), Limit: (*hostlink.Limit)(limit)}}); err != nil {
			return err
		}
	}
	return t.send(hostlink.Down{Done: done(a.ID, record.Seq, err)})
}

// event decodes what the container says has happened, without the host's secrets.
func (s *session) event(data []byte) (event.Event, error) {
	e, err := event.Unmarshal([]byte(s.redact(string(data))))
	if err != nil {
		return e, fmt.Errorf("what the container says cannot be understood: %w", err)
	}
	start, ok := e.Body.(event.StartRun)
	if !ok || len(start.Spec) == 0 {
		return e, nil
	}
	// The Spec stays as it is: the follower accepts no other one than the host's own, in
	// which the user can have written a secret.
	said, err := event.Unmarshal(data)
	if err != nil {
		return e, fmt.Errorf("what the container says cannot be understood: %w", err)
	}
	if unchanged, ok := said.Body.(event.StartRun); ok {
		start.Spec = unchanged.Spec
		e.Body = start
	}
	return e, nil
}

func done(id, seq int64, err error) *hostlink.Done {
	d := &hostlink.Done{ID: id, Seq: seq}
	if err != nil {
		d.Seq, d.Error, d.Full = 0, err.Error(), errors.Is(err, store.ErrFull)
	}
	return d
}

// maxShown is how many bytes of what is not kept a run may show: far more than a model
// says in a day.
const maxShown = 4 << 30

// maxLogged is how many lines of the container's log are passed on. Standard error may lead
// into a file.
const maxLogged = 1000

// relay logs what the engine in the container logs.
func (s *session) relay(ctx context.Context, l hostlink.Log) {
	if s.logged++; s.logged >= maxLogged {
		if s.logged == maxLogged {
			s.log.Warn("the container logs too much; the rest is left out")
		}
		return
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, s.clean(l.Text))
}

// maxSaid is how much of a text that the container chose is shown.
const maxSaid = 2000

// clean makes a text of the container safe to show.
func (s *session) clean(text string) string { return s.runner.clean(text) }

// clean makes text from a container safe to print and to keep.
func (r *runner) clean(text string) string {
	text = r.parts.Secrets.Redact(terminal.CleanLine(strings.ToValidUTF8(text, "\uFFFD")))
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + "..."
	}
	return text
}

// redact takes out secrets that only the host knows: the container has its own only.
func (s *session) redact(text string) string {
	return s.runner.parts.Secrets.Redact(text)
}
