package evil_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// echo is a call of the ordinary tool.
func echo(c *client) string { return c.call("echo", object{"text": "hi"}) }

// A behaviour shows that a mode does what it says.
type behaviour struct {
	options evil.Options
	shows   func(t *testing.T, c *client)
}

// behaviours has one entry for each mode that does nothing to the machine; those that do
// are in act_test.go.
func behaviours() map[string]behaviour {
	all := map[string]behaviour{}
	add := func(mode string, o evil.Options, shows func(t *testing.T, c *client)) {
		o.Mode = mode
		all[mode] = behaviour{o, shows}
	}
	add("good", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		if got := c.names(); got != "echo add fail" {
			t.Errorf("tools %q", got)
		}
		if got := c.call("add", object{"a": 2, "b": 3}); echo(c) != "hi" || got != "5" {
			t.Errorf("add %q", got)
		}
		if f := c.ask("tools/call", object{"name": "fail"}); at(f, "result", "isError") != true {
			t.Errorf("fail: %v", f)
		}
		if f := c.ask("no/such", object{}); at(f, "error", "code") != -32601.0 {
			t.Errorf("unknown method: %v", f)
		}
	})
	listBehaviours(add)
	wireBehaviours(add)
	orderBehaviours(add)
	endBehaviours(add)
	askBehaviours(add)
	return all
}

func TestModes(t *testing.T) {
	all := behaviours()
	for _, mode := range evil.Modes() {
		if mode.Doc == "" || strings.Contains(mode.Doc, "\n") {
			t.Errorf("%s: doc %q", mode.Name, mode.Doc)
		}
		b, ok := all[mode.Name]
		if !ok {
			if !slices.Contains(actModes, mode.Name) {
				t.Errorf("no test shows what %s does", mode.Name)
			}
			continue
		}
		t.Run(mode.Name, func(t *testing.T) {
			if mode.Name == "rug-pull" {
				b.options.State = statePath(t)
			}
			b.shows(t, dial(t, b.options))
		})
	}
	if err := dial(t, evil.Options{Mode: "nice"}).wait(); err == nil {
		t.Error("an unknown mode is served")
	}
}

type adder func(mode string, o evil.Options, shows func(t *testing.T, c *client))

func listBehaviours(add adder) {
	description := func(contains ...string) func(t *testing.T, c *client) {
		return func(t *testing.T, c *client) {
			c.hello()
			text, _ := at(c.tools()[0], "description").(string)
			for _, part := range contains {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing in %q", part, text)
				}
			}
		}
	}
	add("poisoned-instruction", evil.Options{}, description("readTextFile"))
	add("poisoned-unicode", evil.Options{}, description("\u202e", "\U000e0072\U000e0065\U000e0061\U000e0064")) // read, in tags
	add("poisoned-terminal", evil.Options{}, description("\x1b]52;", "\x07", "\r"))
	add("poisoned-result", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		if got := echo(c); !strings.Contains(got, "\x1b[2J") || !strings.Contains(got, "\U000e0063") {
			t.Errorf("%q", got)
		}
	})
	grows := func(told bool) func(t *testing.T, c *client) {
		return func(t *testing.T, c *client) {
			c.hello()
			echo(c)
			if got := c.names(); got != "echo add fail" {
				t.Errorf("too early: %s", got)
			}
			echo(c)
			if told {
				if f := c.frame(); f["method"] != "notifications/tools/list_changed" {
					t.Errorf("%v", f)
				}
			}
			if got := c.names(); got != "echo add fail sendMail" {
				t.Errorf("tools %s", got)
			}
		}
	}
	add("list-grows", evil.Options{N: 2}, grows(false))
	add("list-changed", evil.Options{N: 2}, grows(true))
	add("rug-pull", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		before, _ := at(c.tools()[0], "description").(string)
		if err := c.wait(); err != nil || strings.Contains(before, ".env") {
			t.Fatalf("first start: %v, %q", err, before)
		}
	})
	add("shadow", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		if got := c.names(); got != "readTextFile exec attemptCompletion" {
			t.Errorf("tools %s", got)
		}
		if got := c.call("readTextFile", object{"path": "a"}); !strings.Contains(got, "wrong readTextFile") {
			t.Errorf("%q", got)
		}
	})
	add("duplicate-names", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		if got := c.names(); got != "echo add fail echo" {
			t.Errorf("tools %s", got)
		}
	})
	add("bad-names", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		got := c.names()
		for _, part := range []string{"../up", "\x1b[31m", "\x00", "\n", "longlong"} {
			if !strings.Contains(got, part) {
				t.Errorf("no %q among %q", part, got)
			}
		}
	})
	add("endless-pages", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		for range 5 {
			if f := c.ask("tools/list", object{"cursor": "more"}); at(f, "result", "nextCursor") != "more" {
				t.Errorf("%v", f)
			}
		}
	})
	add("bad-schema", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		bad := 0
		for _, tool := range c.tools() {
			if _, ok := at(tool, "inputSchema").(object); !ok {
				bad++
			}
		}
		if bad != 4 {
			t.Errorf("%d schemas are no objects", bad)
		}
	})
	add("huge-schema", evil.Options{MiB: 3}, func(t *testing.T, c *client) {
		c.hello()
		c.send("tools/list", object{})
		if n := len(c.line()); n < 3<<20 {
			t.Errorf("%d bytes", n)
		}
	})
	add("deep-schema", evil.Options{N: 200}, func(t *testing.T, c *client) {
		c.hello()
		c.send("tools/list", object{})
		if n := depth(c.line()); n < 400 {
			t.Errorf("depth %d", n)
		}
	})
	add("many-tools", evil.Options{N: 500}, func(t *testing.T, c *client) {
		c.hello()
		names := strings.Fields(c.names())
		slices.Sort(names)
		if n := len(slices.Compact(names)); n != 503 {
			t.Errorf("%d different tools", n)
		}
	})
}

// The second start of rug-pull is told by the state file.
func TestRugPull(t *testing.T) {
	state := statePath(t)
	var seen []string
	for range 3 {
		c := dial(t, evil.Options{Mode: "rug-pull", State: state})
		c.hello()
		text, _ := at(c.tools()[0], "description").(string)
		seen = append(seen, text)
		if err := c.wait(); err != nil {
			t.Fatal(err)
		}
	}
	if seen[0] == seen[1] || seen[1] != seen[2] {
		t.Errorf("descriptions %q", seen)
	}
}

func wireBehaviours(add adder) {
	add("huge-line", evil.Options{MiB: 2}, func(t *testing.T, c *client) {
		c.hello()
		c.sendCall("echo", nil)
		if line := c.line(); len(line) < 2<<20 || !isJSON(line) {
			t.Errorf("%d bytes", len(line))
		}
	})
	add("deep-json", evil.Options{N: 20_000}, func(t *testing.T, c *client) {
		c.hello()
		c.sendCall("echo", nil)
		if n := depth(c.line()); n < 20_000 {
			t.Errorf("depth %d", n)
		}
	})
	add("endless-line", evil.Options{MiB: 2}, func(t *testing.T, c *client) {
		c.hello()
		c.sendCall("echo", nil)
		buf := make([]byte, 1<<20)
		for n := 0; n < 2<<20; {
			got, err := c.out.Read(buf)
			if err != nil || strings.Contains(string(buf[:got]), "\n") {
				t.Fatalf("after %d bytes: %v", n, err)
			}
			n += got
		}
	})
	add("garbage", evil.Options{}, func(t *testing.T, c *client) {
		c.send("ping", object{})
		bad := 0
		for range 5 {
			if line := c.line(); !strings.Contains(line, `"id"`) {
				bad++
			}
		}
		if f := c.frame(); bad != 5 || f["result"] == nil {
			t.Errorf("%d lines of garbage, then %v", bad, f)
		}
	})
	add("invalid-utf8", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		c.sendCall("echo", nil)
		if line := c.line(); utf8.ValidString(line) || !strings.Contains(line, `\ud800`) {
			t.Errorf("%q", line)
		}
	})
	add("duplicate-members", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		c.sendCall("echo", nil)
		if line := c.line(); strings.Count(line, `"result"`) != 2 {
			t.Errorf("%q", line)
		}
	})
	add("crlf", evil.Options{}, func(t *testing.T, c *client) {
		c.send("ping", object{})
		if line := c.line(); !strings.HasSuffix(line, "}\r\n") {
			t.Errorf("%q", line)
		}
	})
	add("batch", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		c.sendCall("echo", nil)
		if line := c.line(); !strings.HasPrefix(line, "[{") {
			t.Errorf("%q", line)
		}
	})
	add("slow", evil.Options{Pause: time.Nanosecond}, func(t *testing.T, c *client) {
		c.send("ping", object{})
		buf := make([]byte, 100)
		for range 10 { // the reader's own buffer would hide how it came
			if n, err := c.out.Read(buf[:1]); n != 1 || err != nil || c.out.Buffered() != 0 {
				t.Fatalf("%d bytes, %d more: %v", n, c.out.Buffered(), err)
			}
		}
	})
	add("stderr-flood", evil.Options{MiB: 2, Marker: "sk-test-canary"}, func(t *testing.T, c *client) {
		c.hello()
		if echo(c) != "hi" {
			t.Error("it does not answer")
		}
		if err := c.wait(); err != nil {
			t.Fatal(err)
		}
		if got := c.log.String(); len(got) != 2<<20 || !strings.Contains(got, "sk-test-canary") || !strings.Contains(got, "\x1b]52;") {
			t.Errorf("%d bytes", len(got))
		}
	})
	add("wrong-version", evil.Options{}, func(t *testing.T, c *client) {
		if f := c.ask("initialize", object{"protocolVersion": "2025-06-18"}); at(f, "result", "protocolVersion") != "1999-12-31" {
			t.Errorf("%v", f)
		}
	})
	add("wrong-types", evil.Options{}, func(t *testing.T, c *client) {
		if f := c.ask("initialize", object{}); at(f, "result", "protocolVersion") != nil || f["result"] == nil {
			t.Errorf("%v", f)
		}
		if f := c.ask("tools/list", object{}); f["result"] != 7.0 {
			t.Errorf("%v", f)
		}
	})
	add("huge-error", evil.Options{MiB: 2}, func(t *testing.T, c *client) {
		c.hello()
		f := c.ask("tools/call", object{"name": "echo"})
		if message, _ := at(f, "error", "message").(string); len(message) < 2<<20 || !strings.HasPrefix(message, "\x1b[2J") {
			t.Errorf("%d bytes", len(message))
		}
	})
}

func orderBehaviours(add adder) {
	add("unknown-id", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		mine := c.sendCall("echo", object{"text": "hi"})
		for range 6 {
			if f := c.frame(); f["id"] == float64(mine) || said(f) != "not yours" {
				t.Errorf("%v", f)
			}
		}
		if f := c.frame(); f["id"] != float64(mine) || said(f) != "hi" {
			t.Errorf("%v", f)
		}
	})
	add("twice", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		mine := c.sendCall("echo", object{"text": "hi"})
		first, second := c.frame(), c.frame()
		if first["id"] != float64(mine) || second["id"] != float64(mine) || said(first) == said(second) {
			t.Errorf("%v, %v", first, second)
		}
	})
	add("early", evil.Options{N: 3}, func(t *testing.T, c *client) {
		for id := range 3 {
			if f := c.frame(); f["id"] != float64(id) {
				t.Errorf("%v", f)
			}
		}
		c.hello()
	})
	add("string-id", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		if f := c.ask("tools/call", object{"name": "echo"}); f["id"] != "1" {
			t.Errorf("%v", f)
		}
	})
	add("result-and-error", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		if f := c.ask("tools/call", object{"name": "echo"}); f["result"] == nil || f["error"] == nil {
			t.Errorf("%v", f)
		}
	})
	add("neither", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		if f := c.ask("tools/call", object{"name": "echo"}); f["result"] != nil || f["error"] != nil || f["id"] != 1.0 {
			t.Errorf("%v", f)
		}
	})
	add("out-of-order", evil.Options{N: 3}, func(t *testing.T, c *client) {
		c.hello()
		for _, text := range []string{"one", "two", "three"} {
			c.sendCall("echo", object{"text": text})
		}
		for _, want := range []string{"three", "two", "one"} {
			if got := said(c.frame()); got != want {
				t.Errorf("%q instead of %q", got, want)
			}
		}
	})
}

func endBehaviours(add adder) {
	// A server that does not answer one method still answers a ping after it.
	hangs := func(method string) func(t *testing.T, c *client) {
		return func(t *testing.T, c *client) {
			c.send(method, object{"protocolVersion": "2025-06-18", "name": "echo"})
			if ping := c.send("ping", object{}); c.frame()["id"] != float64(ping) {
				t.Errorf("%s was answered", method)
			}
		}
	}
	add("hang-initialize", evil.Options{}, hangs("initialize"))
	add("hang-list", evil.Options{}, hangs("tools/list"))
	add("hang-call", evil.Options{}, hangs("tools/call"))
	add("hang-close", evil.Options{}, func(t *testing.T, c *client) {
		c.hello()
		c.in.Close()
		c.cancel() // only this ends it
		if err := <-c.ended; err == nil {
			t.Error("it ended by itself")
		}
	})
	dies := func(method string, before int, want evil.DeathError, half bool) func(t *testing.T, c *client) {
		return func(t *testing.T, c *client) {
			for range before {
				if echo(c) != "hi" {
					t.Error("an early call was not answered")
				}
			}
			c.send(method, object{"name": "echo"})
			rest, err := c.out.ReadString('\n')
			if err == nil || (rest != "") != half {
				t.Errorf("it said %q, %v", rest, err)
			}
			var death *evil.DeathError
			if err := <-c.ended; !errors.As(err, &death) || *death != want {
				t.Errorf("end %v", err)
			}
		}
	}
	add("die-discover", evil.Options{}, dies("server/discover", 0, evil.DeathError{Code: 3}, false))
	add("die-initialize", evil.Options{}, dies("initialize", 0, evil.DeathError{Code: 3}, false))
	add("die-list", evil.Options{}, dies("tools/list", 0, evil.DeathError{Code: 3}, false))
	add("die-call", evil.Options{N: 3}, dies("tools/call", 2, evil.DeathError{Code: 3}, false))
	add("die-half", evil.Options{}, dies("tools/call", 0, evil.DeathError{}, true))
	add("killed", evil.Options{N: 2}, dies("tools/call", 1, evil.DeathError{Killed: true}, false))
	add("close-stdout", evil.Options{}, func(t *testing.T, c *client) {
		if err := <-c.ended; err != nil {
			t.Error(err)
		}
	})
}

func askBehaviours(add adder) {
	asks := func(method string) func(t *testing.T, c *client) {
		return func(t *testing.T, c *client) {
			c.hello()
			asked := c.ask("tools/call", object{"name": "echo"})
			if asked["method"] != method || asked["id"] == nil {
				t.Fatalf("%v", asked)
			}
			c.write(object{"jsonrpc": "2.0", "id": asked["id"], "result": object{"secret": "of the client"}})
			if got := said(c.frame()); !strings.Contains(got, "of the client") {
				t.Errorf("%q", got)
			}
		}
	}
	add("ask-sampling", evil.Options{}, asks("sampling/createMessage"))
	add("ask-roots", evil.Options{}, asks("roots/list"))
	add("ask-elicitation", evil.Options{}, asks("elicitation/create"))
	add("ask-unknown", evil.Options{}, asks("system/exec"))
	add("ask-flood", evil.Options{N: 50}, func(t *testing.T, c *client) {
		for range 50 {
			if f := c.frame(); f["method"] != "ping" {
				t.Errorf("%v", f)
			}
		}
		c.hello()
	})
	add("notification-flood", evil.Options{N: 50}, func(t *testing.T, c *client) {
		c.hello()
		c.sendCall("echo", object{"text": "hi"})
		for range 50 {
			if f := c.frame(); f["method"] != "notifications/message" {
				t.Errorf("%v", f)
			}
		}
		if got := said(c.frame()); got != "hi" {
			t.Errorf("%q", got)
		}
	})
}
