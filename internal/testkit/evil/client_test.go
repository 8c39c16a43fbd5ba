package evil_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/rawjson"
)

type object = map[string]any

// A client writes and reads frames of a server that runs in this process.
type client struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	log    *bytes.Buffer // to be read after wait
	ended  chan error
	cancel context.CancelFunc
	id     int
}

func dial(t *testing.T, o evil.Options) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	requests, in := io.Pipe()
	answers, out := io.Pipe()
	c := &client{t: t, in: in, out: bufio.NewReader(answers), log: &bytes.Buffer{}, ended: make(chan error, 1), cancel: cancel}
	o.In, o.Out, o.Log = requests, out, c.log
	go func() {
		err := evil.Serve(ctx, o)
		requests.Close()
		out.Close()
		c.ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		in.Close()
		answers.Close()
	})
	return c
}

// send writes a request and returns its id.
func (c *client) send(method string, params any) int {
	c.t.Helper()
	c.id++
	c.write(object{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	return c.id
}

func (c *client) write(frame any) {
	c.t.Helper()
	data, err := json.Marshal(frame)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(data, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

// line reads a line as it is.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("no line: %v", err)
	}
	return line
}

// frame reads a frame.
func (c *client) frame() object {
	c.t.Helper()
	var frame object
	line := c.line()
	if err := json.Unmarshal([]byte(line), &frame); err != nil {
		c.t.Fatalf("%v in %.200q", err, line)
	}
	return frame
}

// ask sends a request and reads one frame.
func (c *client) ask(method string, params any) object {
	c.t.Helper()
	c.send(method, params)
	return c.frame()
}

// hello opens the conversation as every client does.
func (c *client) hello() {
	c.t.Helper()
	c.write(object{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": object{
		"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "test", "version": "1"}}})
	if got := at(c.frame(), "result", "protocolVersion"); got != "2025-06-18" {
		c.t.Fatalf("version %v", got)
	}
	c.write(object{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (c *client) tools() []any {
	c.t.Helper()
	list, _ := at(c.ask("tools/list", object{}), "result", "tools").([]any)
	return list
}

func (c *client) names() string {
	c.t.Helper()
	var names []string
	for _, tool := range c.tools() {
		name, _ := at(tool, "name").(string)
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// call sends a call and returns the text of its result.
func (c *client) call(tool string, args object) string {
	c.t.Helper()
	return said(c.ask("tools/call", object{"name": tool, "arguments": args}))
}

func (c *client) sendCall(tool string, args object) int {
	c.t.Helper()
	return c.send("tools/call", object{"name": tool, "arguments": args})
}

// wait ends the input and returns how the server ended.
func (c *client) wait() error {
	c.in.Close()
	return <-c.ended
}

// said is the text of a result.
func said(frame object) string {
	content, _ := at(frame, "result", "content").([]any)
	if len(content) == 0 {
		return ""
	}
	text, _ := at(content[0], "text").(string)
	return text
}

// at follows names into objects.
func at(value any, names ...string) any {
	for _, name := range names {
		o, _ := value.(object)
		value = o[name]
	}
	return value
}

func depth(text string) (deepest int) {
	now := 0
	for _, r := range text {
		switch r {
		case '[', '{':
			now++
			deepest = max(deepest, now)
		case ']', '}':
			now--
		}
	}
	return deepest
}

func isJSON(line string) bool { return rawjson.Value(line).IsValid() }

func statePath(t *testing.T) string { return filepath.Join(t.TempDir(), "state") }
