// Package mcp gives an Expert the tools of an MCP server: one that is started as a
// process and spoken to by its streams, or one that is reached over HTTP.
//
// A server is untrusted code. What it says has limits of size, depth, number and time;
// what it asks of us is refused; what it does wrong becomes an error that the model reads.
//
// Of the MCP SDK (github.com/modelcontextprotocol/go-sdk) we use the client and its session
// (the handshake, versions of the protocol, requests, cancellation, keeping of ids), the
// JSON-RPC messages, and the client of streamable HTTP for posting messages and reading
// their answers. These parts are ours, because those of the SDK fall short; TestUpstreamFaults
// fails when the SDK no longer does:
//
//   - Package frame parses messages. The SDK accepts members that are given twice, and cuts
//     an id of 1.5 to 1, so that two readers can understand one message differently.
//   - The pipe speaks to a process, which the sandbox starts. To the SDK one line that is
//     no message, such as a log line on standard output, is the end of the session.
//   - The sseConn is the older HTTP transport. The SDK ends its stream with the context of
//     the handshake, and loses events that arrive together with the first one.
//   - The httpConn sends the agreed version with each request, and listens to the server's
//     own stream. The SDK does both only if nothing stands between its session and its
//     connection. Our guard does.
//   - Results and lists of tools are read by us (result.go, list.go); the SDK gets an empty
//     one. It refuses a whole result for one content of a new type, and a whole list for one
//     bad definition.
//
// The guard itself is a decision, not a repair: a server gets no answer to what it asks of
// us but a refusal, and cannot make us keep what nobody asked for.
//
// Start reading at [New]; a server is started in start.go, lives in life.go and server.go,
// and what it sends goes through guard.go.
package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Options say what a skill is and what it works with.
type Options struct {
	Name string // of the skill

	// Process says how the server is started; it may take a while, since packages may
	// have to be fetched. Nil for a remote server.
	Process func(ctx context.Context) (Process, error)
	// Remote says how it is reached; nil for a process.
	Remote *Remote

	Commands *sandbox.Supervisor

	// Locked are the tools that the server must offer, as they were installed. With them
	// the server is started by the first call. Nil when there is no lockfile.
	Locked []skill.Tool
	// Background starts the server without waiting for it.
	Background bool

	StartTimeout time.Duration // 0 means DefaultStartTimeout
	CallTimeout  time.Duration // 0 means DefaultCallTimeout

	// Report is told what happens to the server (skillStarting, skillConnected,
	// skillStderr). It is called from several goroutines and returns at once.
	Report func(event.Body)
	// Stop ends the run: the server does not offer what it offered before.
	Stop func(error)
	// Changed is told that the list of tools is another now, when there is no lock that
	// forbids it. The new list is what Tools returns.
	Changed func()

	// Redact takes secrets out of a text; nil leaves it as it is. Whoever gets the text
	// does so again. But here texts are cut, and half a key is no longer known as one.
	Redact func(string) string

	Now func() time.Time
	Log *slog.Logger
}

// The limits of time that hold when the skill does not set its own.
const (
	DefaultStartTimeout = 60 * time.Second
	DefaultCallTimeout  = 60 * time.Second
)

// A Process is an MCP server to be started.
type Process struct {
	Server  sandbox.Server
	Command string   // as the user knows it: npx, not node
	Args    []string // the same
}

// A Remote is an MCP server to be reached.
type Remote struct {
	Endpoint string
	Client   *http.Client      // speaks to that origin only
	Header   map[string]string // sent with every request
	SSE      bool              // the older transport is tried if the newer is not offered
}

// A Skill is an MCP server as a [skill.Skill].
type Skill struct {
	o       Options
	chatter *chatter

	mu       sync.Mutex
	end      context.CancelFunc // of all that was started; nil before
	life     context.Context
	attempt  *attempt // the last start, under way or not
	listed   *listing // what the server offered last; nil before
	failures int      // deaths and failed starts since a call was answered
	final    error    // why it is not started again
	closed   bool
}

// New returns a skill. Nothing is started: that is Start, Tools or Call.
func New(o Options) *Skill {
	if o.StartTimeout <= 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.Report == nil {
		o.Report = func(event.Body) {}
	}
	if o.Stop == nil {
		o.Stop = func(error) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Skill{o: o}
	s.chatter = &chatter{now: o.Now, report: func(line string) {
		o.Report(event.SkillStderr{SkillName: o.Name, Message: line})
	}}
	return s
}

// Name is the key of the skill in perstack.toml.
func (s *Skill) Name() string { return s.o.Name }

// Start starts the server and lists its tools. With Locked it does nothing; with
// Background it returns at once, and Tools waits.
func (s *Skill) Start(ctx context.Context) error {
	if s.isLocked() {
		return nil
	}
	a, err := s.begin(ctx)
	if err != nil || s.o.Background {
		return err
	}
	_, err = a.wait(ctx)
	return err
}

// Tools lists what the server offers. With Locked nothing is asked of it. A start that
// failed is not repeated: that is what a call does.
func (s *Skill) Tools(ctx context.Context) ([]skill.Tool, error) {
	if s.isLocked() {
		return append([]skill.Tool(nil), s.o.Locked...), nil
	}
	l, err := s.offered(ctx)
	if err != nil {
		return nil, unnamed(err) // a toolbox says whose list it is
	}
	return append([]skill.Tool(nil), l.tools...), nil
}

// Definitions returns the definitions of the tools, in the order of Tools: the objects of
// name, title, description, inputSchema, outputSchema and annotations that the server
// sent, for [lockfile.ParseTool]. The server is started for it, also with Locked.
func (s *Skill) Definitions(ctx context.Context) ([]rawjson.Value, error) {
	l, err := s.offered(ctx)
	if err != nil {
		return nil, err
	}
	return append([]rawjson.Value(nil), l.definitions...), nil
}

func (s *Skill) isLocked() bool { return s.o.Locked != nil }

// offered is what the server offered last; the server is started if it never was.
func (s *Skill) offered(ctx context.Context) (*listing, error) {
	s.mu.Lock()
	a, listed := s.attempt, s.listed
	s.mu.Unlock()
	if listed != nil {
		return listed, nil
	}
	if a == nil {
		var err error
		if a, err = s.begin(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := a.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed, nil
}
