package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
)

// A session is a job on its way through a container: one goroutine that takes what comes
// from the container, the proxy, the daemon and the user, and writes it down.
type session struct {
	runner   *runner
	follower *engine.Follower
	log      *slog.Logger

	notes chan event.Body
	over  chan struct{} // closed when no more notes are taken

	replies     chan func() error // what is left to do for requests of the container
	deciding    int               // decisions that are not made yet
	asked       *question         // what the user is asked; nil if nothing
	answers     chan func()       // to do for answers of other processes
	approverErr error

	written int64 // bytes of the journal
	failed  error // the first note that could not be written

	shown   int64 // bytes that were shown and not kept
	logged  int   // lines
	greeted bool
	checked int      // outcomes of the self-test
	checks  []string // those that failed
	started bool     // the self-test is passed, and the engine at work
	stopped bool     // the engine was told to stop because of a limit that the host met
	end     *hostlink.End
	talk    *talk // nil before the container has started
	left    bool  // nothing is taken from the container any more
}

func newSession(r *runner, f *engine.Follower) *session {
	return &session{
		runner: r, follower: f, log: r.parts.Log,
		notes: make(chan event.Body), over: make(chan struct{}), replies: make(chan func() error), answers: make(chan func()),
	}
}

func (s *session) close() { close(s.over) }

// report takes what happens on the daemon, from any goroutine.
func (s *session) report(body event.Body) {
	select {
	case s.notes <- body:
	case <-s.over:
	}
}

// while takes notes, and answers of the user, until work is done.
func (s *session) while(work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case body := <-s.notes:
			s.note(body)
		case take := <-s.answers:
			take()
		case err := <-done:
			return err
		}
	}
}

// note writes down and tells what happened around the engine. A failure ends the run: a
// job must not continue with what is not in the journal.
func (s *session) note(body event.Body) {
	if access, ok := body.(event.ProxyAccess); ok && !s.started && access.Domain == selftest.OutsideHost {
		return // the self-test knocks there, and tells itself what came of it
	}
	err := s.follower.Note(body)
	if err == nil {
		err = s.count(sizeOf(body))
	}
	if err != nil && s.failed == nil {
		s.failed = err
	}
}

// sizeOf is about what a note takes in the journal: no less than it does.
func sizeOf(body event.Body) int64 {
	const head = 512
	switch b := body.(type) {
	case event.SandboxCheck:
		return int64(head + 6*(len(b.Check)+len(b.Message))) // each byte may need an escape
	case event.ProxyAccess:
		return int64(head + 6*(len(b.Domain)+len(b.Listener)))
	case event.DockerBuildProgress:
		return int64(head + 6*len(b.Message))
	case event.DockerContainerStatus:
		return int64(head + 6*len(b.Message))
	}
	return head
}

func (s *session) count(bytes int64) error {
	if s.written += bytes; s.written > s.runner.container().MaxJournalBytes {
		return fmt.Errorf("the run has written more than %d bytes of history (maxJournalBytes in [docker])", s.runner.container().MaxJournalBytes)
	}
	return nil
}

// A place is where the container of a session is started: a [Site].
type place interface {
	Start(ctx context.Context) (*Container, error)
	Stop(ctx context.Context) error
}

// live starts the container and stays with it until it has ended. Failed has a value when
// a part of the isolation is gone.
func (s *session) live(ctx context.Context, site place, failed <-chan error, document *hostlink.Document) (engine.Result, error) {
	var c *Container
	if err := s.while(func() (err error) {
		c, err = site.Start(ctx)
		return err
	}); err != nil {
		return engine.Result{}, cause(ctx, err)
	}
	first, err := s.opening(ctx, document)
	if err != nil {
		return engine.Result{}, err
	}
	s.talk = newTalk(c, first)
	why := s.attend(ctx, s.talk, failed)
	s.left = true
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if err := s.while(func() error { return leave(stopping, site, s.talk, why) }); err != nil {
		s.log.Debug("the container could not be stopped", "error", err)
	}
	return s.settle(ctx, why)
}

// opening returns the first lines for the container: the document, and the history as it is now. The
// user can have answered while the container was made.
func (s *session) opening(ctx context.Context, document *hostlink.Document) ([][]byte, error) {
	records, err := s.follower.Records(ctx)
	if err != nil {
		return nil, err
	}
	document.Records = int64(len(records))
	line, err := hostlink.Encode(hostlink.Down{Document: document})
	return append([][]byte{line}, records...), err
}

// leave waits for a container that has said that it ends, and ends any other.
func leave(ctx context.Context, site place, t *talk, why error) error {
	if errors.Is(why, errEnded) {
		select {
		case <-t.exited:
			return nil
		case <-time.After(ending):
		}
	}
	return site.Stop(ctx)
}

// ending is how long a container may take to end after its engine has.
const ending = 5 * time.Second

// errEnded says that the container has told its end, and nothing is amiss.
var errEnded = errors.New("the engine in the container has ended")

// How long the engine in the container may take to save when it is told to stop.
const saving = 15 * time.Second

// secondLook is how long a container is listened to that seems to be dead: two pulses.
const secondLook = 2 * hostlink.Pulse

// attend takes what comes until there is no more, and says why.
func (s *session) attend(ctx context.Context, t *talk, failed <-chan error) error {
	defer t.hangUp()
	ctx, cancel := context.WithCancelCause(ctx) // ends what the user is asked
	defer cancel(nil)
	interrupted := ctx.Done()
	start := time.NewTimer(s.runner.container().StartTimeout)
	idle := time.NewTimer(s.runner.container().IdleTimeout)
	total := newCountdown(s.runner.container().TotalTimeout)
	var grace <-chan time.Time
	quiet := false // nothing was heard for idleTimeout; it is listened once more
	stop := func(why hostlink.Stop) {
		interrupted = nil
		if err := t.send(hostlink.Down{Stop: &why}); err != nil {
			s.log.Debug("the container could not be told to stop", "error", err)
		}
		grace = time.After(saving)
	}
	for {
		select {
		case up, ok := <-t.ups:
			if !ok {
				if t.err == nil && s.end != nil {
					return errEnded
				}
				return s.gone(t)
			}
			if err := s.take(ctx, up, t); err != nil {
				return err
			}
			total.pause(s.asked != nil)
			quiet = false
			idle.Reset(s.runner.container().IdleTimeout)
			if s.started {
				start.Stop()
			}
		case reply := <-s.replies:
			if err := reply(); err != nil {
				return err
			}
			total.pause(s.asked != nil)
		case take := <-s.answers:
			take()
		case body := <-s.notes:
			s.note(body)
		case err := <-failed:
			return err
		case <-interrupted:
			stop(hostlink.Stop{Reason: context.Cause(ctx).Error()})
		case <-start.C:
			return fmt.Errorf("the engine in the container was not ready within %s (startTimeout in [docker])", s.runner.container().StartTimeout)
		case <-idle.C:
			if !quiet { // it may be us who were held up, by a pager or a stopped terminal
				quiet = true
				idle.Reset(min(secondLook, s.runner.container().IdleTimeout))
				continue
			}
			return fmt.Errorf("the engine in the container sent nothing for %s (idleTimeout in [docker])", s.runner.container().IdleTimeout)
		case <-total.timer.C:
			seconds := s.runner.container().TotalTimeout.Seconds()
			stop(hostlink.Stop{Reason: "totalTimeout in [docker] is over", Limit: &hostlink.Limit{Limit: event.LimitDuration, Used: seconds, Max: seconds}})
		case <-grace:
			return errors.New("the engine in the container did not stop when it was told to")
		}
		switch {
		case s.failed != nil:
			return s.failed
		case s.stopped && grace == nil:
			interrupted, grace = nil, time.After(saving)
		case s.follower.Silent() != nil && interrupted != nil:
			stop(hostlink.Stop{Reason: s.follower.Silent().Error()})
		}
	}
}

// A countdown is a timer that stands still while it is paused.
type countdown struct {
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	paused bool
}

func newCountdown(d time.Duration) *countdown {
	return &countdown{timer: time.NewTimer(d), left: d, since: time.Now()}
}

// pause stops the countdown, or continues it.
func (c *countdown) pause(paused bool) {
	if paused == c.paused {
		return
	}
	if c.paused = paused; paused {
		c.left -= time.Since(c.since)
		c.timer.Stop()
		return
	}
	c.since = time.Now()
	c.timer.Reset(max(c.left, 0))
}

// gone says why nothing comes from the container any more.
func (s *session) gone(t *talk) error {
	if t.err != nil && !errors.Is(t.err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("what the container says cannot be trusted: %w", t.err)
	}
	var exit Exit
	// The end is reported as a note first, so notes are taken meanwhile.
	if err := s.while(func() error {
		select {
		case exit = <-t.exited:
			return nil
		case <-time.After(ending):
			return errors.New("the container stopped answering, and the Docker daemon does not report how it ended")
		}
	}); err != nil {
		return err
	}
	switch {
	case exit.OutOfMemory:
		return fmt.Errorf("the container used up its memory of %d MiB and was killed; allow more with memory in [docker]", s.runner.container().Memory>>20)
	case exit.Err != nil:
		return fmt.Errorf("the container ended: %w", exit.Err)
	}
	text := fmt.Sprintf("the container ended with code %d before its engine had saved", exit.Code)
	if tail := s.clean(t.stderr.text()); tail != "" {
		text += ": " + tail
	}
	return errors.New(text)
}

// settle says how the job was left. What the engine in the container did not record, it
// records.
func (s *session) settle(ctx context.Context, why error) (engine.Result, error) {
	switch {
	case s.follower.Ended():
		if !errors.Is(why, errEnded) {
			s.log.Warn("the job has ended, but not its container", "error", why)
		}
		result := s.follower.Result()
		if s.end != nil {
			result.Limit = limitOf(result, s.end.Limit)
		}
		return s.result(result), nil
	case !s.follower.Begun():
		return engine.Result{}, cause(ctx, s.unbegun(why))
	}
	if err := s.follower.Abandon(why.Error()); err != nil {
		return engine.Result{}, errors.Join(why, err)
	}
	if ctx.Err() != nil {
		return s.follower.Result(), nil // it was told to stop, and is saved
	}
	if errors.Is(why, errEnded) && s.end.Error != "" {
		why = s.ended()
	}
	return engine.Result{}, &LostError{JobID: s.follower.Result().JobID, Err: why}
}

// unbegun is why nothing was recorded.
func (s *session) unbegun(why error) error {
	switch {
	case len(s.checks) > 0:
		return fmt.Errorf("the container is not isolated, so nothing was run: %s; please report it with the version of your Docker daemon (docker version)",
			strings.Join(s.checks, "; "))
	case s.end != nil && s.end.Error != "":
		return s.ended()
	}
	return why
}

// ended is what the engine in the container says of its own end.
func (s *session) ended() error {
	err := errors.New(s.clean(s.end.Error))
	if engine.Kind(s.end.Kind) == engine.KindInput {
		return &engine.Error{Kind: engine.KindInput, Err: err}
	}
	return err
}

// limitOf returns the numbers of the limit that the journal says was met.
func limitOf(r engine.Result, l *hostlink.Limit) *engine.LimitError {
	if r.Status != event.StatusStoppedByLimit || l == nil || l.Limit != r.Reason {
		return nil
	}
	return (*engine.LimitError)(l)
}
