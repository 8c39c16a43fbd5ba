// Package mcp gives an Expert the tools of an MCP server: one that is started as a
// process and spoken to by its streams, or one that is reached over HTTP.
//
// A server is untrusted code. Its messages have limits of size, depth, number and time; its
// requests are refused; its failures become results that the model reads.
//
// Of the MCP SDK (github.com/modelcontextprotocol/go-sdk) we use the client and its session
// (the handshake, versions of the protocol, requests, cancellation, keeping of ids), the
// JSON-RPC messages, and the client of streamable HTTP for posting messages and reading
// their answers. These parts are our own, because those of the SDK have faults;
// TestUpstreamFaults fails when the SDK no longer has them:
//
//   - Package frame parses messages. The SDK accepts members that are given twice, and cuts
//     an id of 1.5 to 1, so that two readers can understand one message differently.
//   - The pipe connects to a process, which the sandbox starts. The SDK ends the session at a
//     line that is no message, such as a log line on standard output.
//   - The sseConn is the older HTTP transport. The SDK ends its stream with the context of
//     the handshake, and loses events that arrive together with the first one.
//   - The httpConn sends the agreed version with each request, and listens to the server's
//     own stream. The SDK does both only if its session uses its connection directly, and not
//     through our guard.
//   - Results and lists of tools are read here (result.go, list.go); the SDK gets an empty one. It
//     refuses a whole result for one content of a new type, and a whole list for one bad
//     definition.
//
// The guard is no workaround: it refuses all requests of a server, and drops messages that were
// not asked for.
//
// Start reading at [New]. A server is started in start.go, restarted and ended in life.go and
// server.go, and its messages go through guard.go.
package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/stopwatch"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Options say what a skill is and what it works with. All functions are set, except for Process.
type Options struct {
	Name string // of the skill

	// Process returns how the server is started. It can take a while, since it fetches packages.
	// Nil for a remote server.
	Process func(ctx context.Context) (Process, error)
	// Remote says how it is reached; nil for a process.
	Remote *Remote

	Commands *sandbox.Supervisor
	// InImage says that the programs are those of the image of a container.
	InImage bool

	// Locked are the tools that were installed, which the server must offer. With them the server
	// is started by the first call. Nil without a lockfile.
	Locked []skill.Tool
	// Background starts the server without waiting for it.
	Background bool

	StartTimeout time.Duration // 0 means DefaultStartTimeout
	CallTimeout  time.Duration // 0 means DefaultCallTimeout
	// Clock drives CallTimeout; nil for one that is never paused.
	Clock *stopwatch.Clock

	// Report is told what happens to the server (skillStarting, skillConnected,
	// skillStderr). It is called from several goroutines and returns at once.
	Report func(event.Body)
	// Stop ends the run: the server does not offer the tools that were installed.
	Stop func(error)
	// Changed is called when the list of tools has changed, without Locked. Tools returns the new
	// list.
	Changed func()

	// Redact removes secrets from a text. The caller does so again, but here texts are cut, and
	// half a key is not recognized.
	Redact func(string) string

	Now func() time.Time
	Log *slog.Logger
}

// The defaults for the times of a skill.
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
	o         Options
	patient   bool // the user has said how long a start may take
	lineLimit *lineLimit

	mu       sync.Mutex
	end      context.CancelFunc // ends life; nil before the first start
	life     context.Context    // of all that was started
	attempt  *attempt           // the last start
	listed   *listing           // the last list of the server; nil before
	warning  string             // about the last list that had tools which were left out
	failures int                // since a call was answered
	final    error              // why it is not started again
	closed   bool
}

// New returns a skill. It starts nothing: Start, Tools and Call do.
func New(o Options) *Skill {
	patient := o.StartTimeout != 0
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	o.CallTimeout = cmp.Or(o.CallTimeout, DefaultCallTimeout)
	return &Skill{o: o, patient: patient, lineLimit: &lineLimit{now: o.Now, report: func(line string) {
		o.Report(event.SkillStderr{SkillName: o.Name, Message: line})
	}}}
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

// Tools lists what the server offers; with Locked, without starting it. A start that failed is
// not repeated; a call does that.
func (s *Skill) Tools(ctx context.Context) ([]skill.Tool, error) {
	if s.isLocked() {
		return slices.Clone(s.o.Locked), nil
	}
	l, err := s.offered(ctx)
	if err != nil {
		return nil, unnamed(err) // the toolbox adds the name
	}
	return slices.Clone(l.tools), nil
}

// Definitions returns the definitions of the tools, in the order of Tools: the objects of
// name, title, description, inputSchema, outputSchema and annotations that the server
// sent, for [lockfile.ParseTool]. The server is started for it, even with Locked.
func (s *Skill) Definitions(ctx context.Context) ([]rawjson.Value, error) {
	l, err := s.offered(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(l.definitions), nil
}

func (s *Skill) isLocked() bool { return s.o.Locked != nil }

// offered returns the last list of the server, and starts it if it never was.
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
