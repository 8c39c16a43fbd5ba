package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
)

const (
	// probeTimeout is how long to wait for the answer to the first request of the newer protocol.
	// Some old servers never answer an unknown request.
	probeTimeout = 2 * time.Second
	// lastHello is the last version of the protocol that begins with initialize and has the older
	// transport. Newer ones begin with another request.
	lastHello = "2025-11-25"
)

// start starts the server and lists its tools. The context is that of the skill, which the server
// lives as long as.
func (s *Skill) start(life context.Context) (*server, error) {
	var process Process
	if s.o.Remote == nil {
		var err error
		// Fetching a package has its own timeout.
		if process, err = s.o.Process(life); err != nil {
			return nil, s.startError(life, nil, err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(life, s.o.StartTimeout, errStartTimeout)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	clock := timing{began: s.o.Now()}
	var sv *server
	var err error
	if s.o.Remote != nil {
		sv, err = s.reach(ctx, life, &clock)
	} else {
		sv, err = s.spawn(ctx, life, process, &clock, "", giveUp)
		if sv != nil && err != nil && sv.guard.endedProbing() && ctx.Err() == nil {
			// It ended at a request that it does not know: use the older protocol.
			sv, err = s.spawn(ctx, life, process, &clock, lastHello, giveUp)
		}
	}
	if err != nil {
		return nil, s.startError(ctx, sv, err)
	}
	go sv.watch()
	listed, err := sv.list(ctx)
	if err != nil {
		_ = sv.stop(errEnded) // the first error is returned
		return nil, s.startError(ctx, sv, fmt.Errorf("list its tools: %w", err))
	}
	clock.listed = s.o.Now()
	sv.first = listed
	s.o.Report(clock.report(s.o.Name, sv.session.InitializeResult(), s.o.Redact))
	return sv, nil
}

// spawn starts the process and connects to it. With an error the returned server, if any, has
// ended.
func (s *Skill) spawn(ctx, life context.Context, process Process, clock *timing, askFor string, giveUp context.CancelCauseFunc) (*server, error) {
	s.o.Report(event.SkillStarting{SkillName: s.o.Name, Command: process.Command, Args: append([]string{}, process.Args...)})
	clock.began = s.o.Now()
	label := s.o.Redact(strings.Join(append([]string{process.Command}, process.Args...), " "))
	sv := s.newServer(life, wording.Cut(label, lastLineBytes))
	var err error
	if sv.process, err = s.o.Commands.Start(ctx, process.Server); err != nil {
		sv.cancel()
		return nil, fmt.Errorf("%s: %w", sv.label, s.explainMissing(err, process.Server.Program))
	}
	clock.spawned = s.o.Now()
	go sv.listen()
	sv.pipe = newPipe(ctx, sv.process.Stdout, sv.process.Stdin)
	if !s.patient {
		go sv.pipe.giveUpIfStray(ctx, giveUp)
	}
	return sv, sv.handshake(ctx, sv.pipe, clock, askFor)
}

// ChooseImage is the advice for a program that the image of a container does not have. A command
// line can replace it with the flag for that.
const ChooseImage = "choose an image that has it"

// explainMissing adds that a missing program is missing in the image. A path with a separator is
// that of a file in the workspace, mostly, which no image would have.
func (s *Skill) explainMissing(err error, program string) error {
	switch {
	case !s.o.InImage:
	case errors.Is(err, sandbox.ErrInterpreter):
		return fmt.Errorf("%w; %s", err, ChooseImage)
	case errors.Is(err, sandbox.ErrNotFound) && filepath.Base(program) == program:
		return fmt.Errorf("%w: the image of the container has no such program; %s", err, ChooseImage)
	}
	return err
}

// strayTimeout is how long a program has that wrote something else than a message before it sent
// one. Some servers greet people on standard output, and then work. Those that need longer can
// have a startTimeout.
const strayTimeout = 5 * time.Second

var errNoServer = errors.New("it sent no message")

// giveUpIfStray gives a start up if the program is no MCP server.
func (p *pipe) giveUpIfStray(ctx context.Context, giveUp context.CancelCauseFunc) {
	select {
	case <-p.strayed:
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(strayTimeout):
		if !p.hasSpoken() {
			giveUp(errNoServer)
		}
	case <-ctx.Done():
	}
}

// reach connects to a remote server with the first transport that it offers.
func (s *Skill) reach(ctx, life context.Context, clock *timing) (*server, error) {
	label := s.o.Remote.label()
	s.o.Report(event.SkillStarting{SkillName: s.o.Name, Command: label, Args: []string{}})
	var failures []error
	for _, way := range s.o.Remote.transports(s.warn) {
		sv := s.newServer(life, label)
		connection, err := way.connect(ctx)
		if err != nil {
			sv.cancel()
		} else {
			clock.spawned = s.o.Now()
			err = sv.handshake(ctx, connection, clock, way.version)
		}
		if err == nil {
			return sv, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", way.name, remoteError(err)))
		if !isNotOffered(err) {
			break
		}
	}
	return nil, fmt.Errorf("%s: %w", label, oneLine(failures))
}

// warn logs a failure outside of calls.
func (s *Skill) warn(what string, why error) {
	s.o.Log.Warn(what, "skill", s.o.Name, "why", s.o.Redact(remoteError(why).Error()))
}

// oneLine joins errors for a message that has no lines.
func oneLine(errs []error) error {
	joined := errs[0]
	for _, err := range errs[1:] {
		joined = fmt.Errorf("%w; %w", joined, err)
	}
	return joined
}

// handshake agrees on a version of the protocol. With an error the server has ended.
func (s *server) handshake(ctx context.Context, connection sdk.Connection, clock *timing, askFor string) error {
	s.guard = newGuard(s.ctx, connection, s, s.skill.o.Now)
	session, err := s.client().Connect(ctx, s.guard, &sdk.ClientSessionOptions{ProtocolVersion: askFor})
	if err != nil {
		_ = s.stop(errEnded) // the first error is returned
		return err
	}
	s.session = session
	clock.greeted = s.skill.o.Now()
	return nil
}

// client offers a server no capability: no model, no directories, no user input. The guard
// refuses requests for them.
func (s *server) client() *sdk.Client {
	client := sdk.NewClient(&sdk.Implementation{Name: "perstack", Version: version.String()}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		// The guard handles notifications. With this handler set, the library subscribes to
		// them in versions of the protocol that need it.
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.listChanged() },
	})
	client.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == discoverMethod {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, probeTimeout)
				defer cancel()
			}
			return next(ctx, method, r)
		}
	})
	return client
}

var errStartTimeout = errors.New("the server was not ready in time")

// startError describes a failed start: the skill, the program, its end and its last lines.
func (s *Skill) startError(ctx context.Context, sv *server, err error) error {
	stray := sv.stray()
	switch {
	case errors.Is(context.Cause(ctx), errStartTimeout):
		err = fmt.Errorf("the server was not ready within %v%s; set startTimeout to wait longer", s.o.StartTimeout, stray)
		if sv == nil && s.o.Remote != nil {
			err = fmt.Errorf("%s: %w", s.o.Remote.label(), err)
		}
	case errors.Is(context.Cause(ctx), errNoServer):
		err = fmt.Errorf("the server did not answer%s", stray)
	case ctx.Err() != nil:
		return s.named(errClosed)
	case sv != nil && isEnd(err):
		return s.named(fmt.Errorf("%w%s", unnamed(sv.endError("before it was ready")), stray))
	}
	if sv == nil {
		return s.named(err)
	}
	text := sv.label + ": " + err.Error()
	if last := sv.memory.String(); last != "" {
		text += "; it said last: " + last
	}
	return s.named(errors.New(text))
}

// stray describes output of a process that is not a message: it is not an MCP server, or it
// writes its log to standard output.
func (s *server) stray() string {
	if s == nil || s.pipe == nil {
		return ""
	}
	line := terminal.CleanLine(wording.Cut(s.redact(s.pipe.firstStray()), lastLineBytes))
	if line == "" {
		return ""
	}
	return fmt.Sprintf(": it wrote %q where a message was expected; check that the command starts an MCP server", line)
}

// isEnd reports whether an error of the library means that the connection has ended.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, sdk.ErrConnectionClosed)
}

// A timing has the times at which the steps of a start were done.
type timing struct {
	began, spawned, greeted, listed time.Time
}

// report is the event of a server that is ready.
func (t timing) report(name string, hello *sdk.InitializeResult, redact func(string) string) event.SkillConnected {
	between := func(from, to time.Time) *int64 {
		ms := to.Sub(from).Milliseconds()
		return &ms
	}
	connected := event.SkillConnected{
		SkillName:               name,
		SpawnDurationMS:         between(t.began, t.spawned),
		HandshakeDurationMS:     between(t.spawned, t.greeted),
		ToolDiscoveryDurationMS: between(t.greeted, t.listed),
		ConnectDurationMS:       between(t.began, t.greeted),
		TotalDurationMS:         between(t.began, t.listed),
	}
	if hello != nil && hello.ServerInfo != nil {
		connected.ServerInfo = &event.ServerInfo{
			Name: wording.Cut(redact(hello.ServerInfo.Name), lastLineBytes), Version: wording.Cut(redact(hello.ServerInfo.Version), lastLineBytes),
		}
	}
	return connected
}
