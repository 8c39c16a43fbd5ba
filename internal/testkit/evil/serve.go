package evil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// Options say how a server misbehaves. Only the first three are always needed.
type Options struct {
	Mode string
	In   io.Reader
	Out  io.Writer

	Log   io.Writer     // standard error of the server; nil drops it
	N     int           // how many, how deep, which call; each mode says what, and has a default
	MiB   int           // how big; each mode has a default
	Pause time.Duration // between bytes of the slow mode; 1ms unless set
	State string        // file by which rug-pull knows that it was started before
	File  string        // file of daemonise and forkbomb, see Alive
	Dir   string        // directory in which race swaps a directory and a link
	Self  string        // path of evilmcp, for modes that start processes

	Marker     string // these four are for hunt, see HuntOptions
	Home       string
	Levels     int
	Everywhere bool

	Targets  []string       // where probe tries to go, see ProbeAll
	Networks []netip.Prefix // what probe may reach beside this machine
}

func (o *Options) hunt() HuntOptions {
	return HuntOptions{Marker: o.Marker, Home: o.Home, Levels: o.Levels, Everywhere: o.Everywhere}
}

// A Mode is one way to misbehave.
type Mode struct {
	Name string
	Doc  string // one line

	set func(*server)
}

// Modes lists the modes of the server, by theme.
func Modes() []Mode {
	return slices.Concat(goodModes(), listModes(), schemaModes(), wireModes(), orderModes(), endModes(), askModes(), actModes())
}

// A DeathError says how a server wants to die. In a process of its own it does; in a
// test it is returned.
type DeathError struct {
	Code   int  // exit code
	Killed bool // by SIGKILL, not by itself
}

func (e *DeathError) Error() string {
	if e.Killed {
		return "the server kills itself"
	}
	return fmt.Sprintf("the server exits with code %d", e.Code)
}

// Serve speaks to one client until the input ends, the context is done or the mode says
// that the server dies, which is a [DeathError].
func Serve(ctx context.Context, o Options) error {
	all := Modes()
	i := slices.IndexFunc(all, func(m Mode) bool { return m.Name == o.Mode })
	if i < 0 {
		return fmt.Errorf("mode %q is unknown; evilmcp --help lists them", o.Mode)
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	s := &server{ctx: ctx, o: o, w: &writer{out: o.Out, end: "\n"}}
	s.on = map[string]func(request) error{
		"initialize": s.initialize,
		"ping":       func(r request) error { return s.w.send(answer(r.ID, object{})) },
		"tools/list": func(r request) error { return s.w.send(answer(r.ID, object{"tools": s.describe()})) },
		"tools/call": s.call,
	}
	s.tools = ordinaryTools()
	all[i].set(s)
	err := s.talk()
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// A server is one connection. A mode replaces what it wants to do differently.
type server struct {
	ctx   context.Context
	o     Options
	w     *writer
	tools []tool

	on     map[string]func(request) error // by method
	greet  func() error                   // before anything was asked
	answer func(request) error            // what the client answers to our own requests
	leave  func() error                   // when the input ended
	calls  int                            // tools/call so far
}

// A tool is what the server offers.
type tool struct {
	name, description string
	schema            any
	run               func(*server, arguments) object
}

// arguments are those of a call, whatever they are.
type arguments map[string]any

func (s *server) talk() error {
	if s.greet != nil {
		if err := s.greet(); err != nil {
			return err
		}
	}
	if err := readRequests(s.o.In, s.handle); err != nil || s.leave == nil {
		return err
	}
	return s.leave()
}

func (s *server) handle(r request) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	do, known := s.on[r.Method]
	switch {
	case r.Method == "" && s.answer != nil:
		return s.answer(r)
	case r.Method == "":
		return nil // an answer without a request
	case known:
		return do(r)
	case r.ID == nil:
		return nil
	}
	return s.w.send(failure(r.ID, -32601, "method not found"))
}

// versions of the protocol that the server claims to speak.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

func (s *server) initialize(r request) error {
	var asked struct {
		Version string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(r.Params, &asked); err != nil {
		return s.w.send(failure(r.ID, -32602, "invalid params"))
	}
	version := asked.Version
	if !slices.Contains(versions, version) {
		version = versions[len(versions)-1]
	}
	return s.w.send(answer(r.ID, hello(version)))
}

func hello(version string) object {
	return object{
		"protocolVersion": version,
		"capabilities":    object{"tools": object{"listChanged": true}},
		"serverInfo":      object{"name": "evilmcp", "version": "1.0.0"},
	}
}

// describe is the list of tools as the wire wants it.
func (s *server) describe() []object {
	list := make([]object, 0, len(s.tools))
	for _, t := range s.tools {
		list = append(list, object{"name": t.name, "description": t.description, "inputSchema": t.schema})
	}
	return list
}

func (s *server) call(r request) error {
	s.calls++
	var asked struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	}
	if err := json.Unmarshal(r.Params, &asked, jsontext.AllowInvalidUTF8(true)); err != nil {
		return s.w.send(failure(r.ID, -32602, "invalid params"))
	}
	for _, t := range s.tools {
		if t.name == asked.Name {
			return s.w.send(answer(r.ID, t.run(s, asked.Arguments)))
		}
	}
	return s.w.send(failure(r.ID, -32602, "unknown tool "+strings.ToValidUTF8(asked.Name, "?")))
}

// n is Options.N, or the default of the mode.
func (s *server) n(otherwise int) int { return cmp.Or(s.o.N, otherwise) }

// size is Options.MiB in bytes, or the default of the mode.
func (s *server) size(mib int) int { return cmp.Or(s.o.MiB, mib) << 20 }

// text is a result with one text.
func text(format string, args ...any) object {
	return object{"content": []object{{"type": "text", "text": fmt.Sprintf(format, args...)}}}
}

// data is a result with a value, as text and as it is.
func data(value any) object {
	encoded, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return object{"isError": true, "content": []object{{"type": "text", "text": err.Error()}}}
	}
	result := text("%s", encoded)
	result["structuredContent"] = rawjson.Value(encoded)
	return result
}
