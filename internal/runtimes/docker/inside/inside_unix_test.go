//go:build unix

package inside

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
	"github.com/perstack-go/perstack/job"
)

const (
	alone = "[experts.lead]\ninstruction = 'Work.'\n"

	// says answers at once.
	says = "[[turn]]\ntext = 'done'\n"

	// sleeps runs a command that would take too long.
	sleeps = `
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sleep", args = ["3600"], timeout = 0 }
[[turn]]
text = "went on"
`
)

// succeed runs a job that ends as it should.
func (d *fakeHost) succeed(doc *hostlink.Document) {
	d.t.Helper()
	if err := d.run(doc, stands); err != nil {
		d.t.Fatalf("%v: %+v", err, d.end)
	}
	if d.end == nil || d.end.Error != "" || d.end.Kind != "" {
		d.t.Fatalf("end %+v", d.end)
	}
}

// fails runs a job that does not run, and returns what the host is told.
func (d *fakeHost) fails(doc *hostlink.Document, check func(context.Context, selftest.Spec) []selftest.Result) hostlink.End {
	d.t.Helper()
	if err := d.run(doc, check); !errors.Is(err, errFailed) {
		d.t.Errorf("error %v", err)
	}
	if d.end == nil || d.end.Error == "" {
		d.t.Fatalf("end %+v", d.end)
	}
	if len(d.events) > 0 {
		d.t.Errorf("something ran: %q", d.types())
	}
	return *d.end
}

// A new job runs to its end: checks first, then each event to the host, the fragments of
// a stream only shown; and what the engine records is what was planned.
func TestRun(t *testing.T) {
	d := newFakeHost(t)
	d.succeed(document(t, alone, says))
	if len(d.checks) != 2 || !d.checks[0].OK || d.checks[0].Name != "user" {
		t.Errorf("checks %+v", d.checks)
	}
	if types := d.types(); types[0] != "startRun" || types[len(types)-1] != "completeRun" {
		t.Errorf("events %q", types)
	}
	for _, e := range d.events {
		if e.JobID != "job1" || e.RunID != "run1" {
			t.Errorf("%s is of run %s of job %s", e.Type(), e.RunID, e.JobID)
		}
	}
	if len(d.shown) == 0 {
		t.Error("nothing was shown")
	}
	state, err := engine.Load(t.Context(), d.store, "job1")
	if err != nil {
		t.Fatal(err)
	}
	if head, ok := state.Head(); !ok || head.State.Status != event.StatusCompleted {
		t.Errorf("the host's history says %+v", head.State.Status)
	}
}

// The job is recorded as one of the Docker runtime, and tools work in the workspace with
// the listener of their Expert, what the user handed over, and no secrets in what they say.
func TestWork(t *testing.T) {
	doc := document(t, alone, `
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "echo $HTTPS_PROXY $NO_PROXY $HANDED $SECRET_OF_THE_HOST; env | wc -l; pwd > place"] }
[[turn]]
text = "done"
`)
	doc.Secrets.Env = map[string]string{"HANDED": "from the user"}
	doc.Secrets.Hidden = map[string]string{"THE_KEY": "sk-canary-0123456789"}
	d := newFakeHost(t)
	d.succeed(doc)
	got := d.text()
	for _, want := range []string{"http://perstack:[redacted: PROXY_TOKEN]@192.0.2.2:4001 localhost,127.0.0.1,::1 from the user", `"runtime":"docker"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "token-of-the") {
		t.Error("a token of the proxy came out")
	}
	if place, err := os.ReadFile(filepath.Join(doc.Addresses.Workspace, "place")); err != nil || len(place) == 0 {
		t.Errorf("the command did not run in the workspace: %v", err)
	}
}

// A key that a command finds in the workspace does not get into the history.
func TestSecretsAreHidden(t *testing.T) {
	doc := document(t, alone, "[[turn]]\n[[turn.call]]\ntool = 'readTextFile'\nargs = { path = 'notes.txt' }\n"+says)
	doc.Secrets.Hidden = map[string]string{"THE_KEY": "sk-canary-0123456789"}
	if err := os.WriteFile(filepath.Join(doc.Addresses.Workspace, "notes.txt"), []byte("the key is sk-canary-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newFakeHost(t)
	d.succeed(doc)
	if got := d.text(); strings.Contains(got, "sk-canary") || !strings.Contains(got, "[redacted: THE_KEY]") {
		t.Errorf("came out: %s", got)
	}
}

// Delegates run in the same container; their Runs are the host's to keep.
func TestDelegate(t *testing.T) {
	d := newFakeHost(t)
	d.succeed(document(t, "[experts.lead]\ninstruction = 'Lead.'\ndelegates = ['other']\n[experts.other]\ninstruction = 'Help.'\n", `
[[turn]]
expert = "lead"
[[turn.call]]
tool = "other"
args = { query = "help" }
[[turn]]
expert = "other"
text = "helped"
[[turn]]
expert = "lead"
turn = 2
contains = "helped"
text = "done"
`))
	runs := map[string]string{}
	for _, e := range d.events {
		runs[e.RunID] = e.ExpertKey
	}
	if len(runs) != 2 || runs["run1"] != "lead" || !d.has("callDelegate") {
		t.Errorf("runs %v, events %q", runs, d.types())
	}
}

// A question to the user ends the run; with the history and the answer it continues.
func TestInteractive(t *testing.T) {
	const config = alone + "[experts.lead.skills.user]\ntype = 'interactiveSkill'\ntools.ask.inputJsonSchema = '{\"type\":\"object\"}'\n"
	const cassette = `
[[turn]]
[[turn.call]]
tool = "ask"
args = {}
[[turn]]
turn = 2
contains = "forty-two"
text = "done"
`
	d := newFakeHost(t)
	d.succeed(document(t, config, cassette))
	if types := d.types(); types[len(types)-1] != "stopRunByInteractiveTool" {
		t.Fatalf("events %q", types)
	}
	doc := document(t, config, cassette)
	doc.Spec.Input = job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "forty-two"}}
	d.succeed(doc)
	if types := d.types(); types[len(types)-1] != "completeRun" {
		t.Errorf("events %q", types)
	}
}

// A new query for a job follows its history, in a Run with the number that the host
// planned.
func TestContinue(t *testing.T) {
	d := newFakeHost(t)
	d.succeed(document(t, alone, says))
	doc := document(t, alone, "[[turn]]\ncontains = 'and now'\ntext = 'again'\n")
	doc.Spec.Input, doc.Spec.RunID = job.Input{Continue: true, Query: "and now"}, "run2"
	doc.Spec.Isolation.Container.BaseImage = "tools:1"
	d.succeed(doc)
	start, ok := d.events[0].Body.(event.StartRun)
	if !ok || start.Runtime != "docker" {
		t.Errorf("it started with %+v", start)
	}
	if recorded, err := job.ParseRecorded(start.Spec); err != nil || recorded.Isolation.Container.BaseImage != "tools:1" {
		t.Errorf("what the host says of the isolation is not recorded: %+v, %v", recorded.Isolation, err)
	}
	if types := d.types(); types[len(types)-1] != "completeRun" || d.events[0].RunID != "run2" {
		t.Errorf("events %q, of run %s", types, d.events[0].RunID)
	}
}

// The history that the host sends is checked here too.
func TestUnknownJob(t *testing.T) {
	doc := document(t, alone, says)
	doc.Spec.Input.Continue = true
	if end := newFakeHost(t).fails(doc, stands); end.Kind != string(engine.KindInput) || !strings.Contains(end.Error, "no such job") {
		t.Errorf("end %+v", end)
	}
}

// during calls something when the command of sleeps runs.
func during(do func(*fakeHost)) func(*fakeHost, event.Event) {
	return func(d *fakeHost, e event.Event) {
		if e.Type() == "startToolCall" {
			do(d)
		}
	}
}

// Told to stop, the engine ends what runs, records it, and says that this was its end.
func TestStop(t *testing.T) {
	d := newFakeHost(t)
	d.after = during(func(d *fakeHost) { d.down.Write(hostlink.Down{Stop: &hostlink.Stop{Reason: "received interrupt"}}) })
	d.succeed(document(t, alone, sleeps))
	last := d.events[len(d.events)-1]
	if stop, ok := last.Body.(event.StopRunByInterrupt); !ok || stop.Reason != "received interrupt" {
		t.Errorf("events %q, last %+v", d.types(), last.Body)
	}
}

// A limit that the host watches is recorded as one, and its numbers are told.
func TestStopByLimit(t *testing.T) {
	d := newFakeHost(t)
	d.after = during(func(d *fakeHost) {
		d.down.Write(hostlink.Down{Stop: &hostlink.Stop{Limit: &hostlink.Limit{Limit: event.LimitDuration, Used: 61, Max: 60}}})
	})
	d.succeed(document(t, alone, sleeps))
	last := d.events[len(d.events)-1]
	if stop, ok := last.Body.(event.StopRunByLimit); !ok || stop.Limit != event.LimitDuration {
		t.Errorf("events %q, last %+v", d.types(), last.Body)
	}
	if l := d.end.Limit; l == nil || *l != (hostlink.Limit{Limit: event.LimitDuration, Used: 61, Max: 60}) {
		t.Errorf("end %+v", d.end)
	}
}

// When the host is gone, the command ends: its work could not be recorded. The command in it
// would run for an hour.
func TestHostGone(t *testing.T) {
	d := newFakeHost(t)
	d.after = during(func(d *fakeHost) { d.hangUp() })
	if err := d.run(document(t, alone, sleeps), stands); !errors.Is(err, errFailed) {
		t.Errorf("error %v", err)
	}
	if types := d.types(); types[len(types)-1] != "startToolCall" {
		t.Errorf("events %q", types)
	}
}

// A host that goes away before it said what to do is no reason to wait.
func TestHostGoneEarly(t *testing.T) {
	for name, input := range map[string]string{"at once": "", "in the middle": `{"document":{"prot`, "talking nonsense": "hello\n", "not a document": `{"done":{"id":1}}` + "\n"} {
		var out strings.Builder
		err := run(t.Context(), newOptions(strings.NewReader(input), &out))
		if !errors.Is(err, errFailed) {
			t.Errorf("%s: %v", name, err)
		}
		if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[1], `"end"`) {
			t.Errorf("%s: told %q", name, lines)
		}
	}
}

// The engine hears of a full disk, stops the job and records that: some space is
// kept for it.
func TestFullDisk(t *testing.T) {
	d := newFakeHost(t)
	full := false
	d.before = func(_ *fakeHost, e event.Event) *hostlink.Done {
		full = full || e.Type() == "callTools"
		if full && !e.IsTerminal() {
			return &hostlink.Done{Error: "no space left on device", Full: true}
		}
		return nil
	}
	if err := d.run(document(t, alone, sleeps), stands); !errors.Is(err, errFailed) {
		t.Errorf("error %v", err)
	}
	if d.end == nil || d.end.Kind != string(engine.KindStore) || !strings.Contains(d.end.Error, "no space left on device") {
		t.Errorf("end %+v", d.end)
	}
	last := d.events[len(d.events)-1]
	if stop, ok := last.Body.(event.StopRunByError); !ok || !strings.Contains(stop.Error.Message, "no space left") {
		t.Errorf("events %q, last %+v", d.types(), last.Body)
	}
}

// An end that cannot be recorded is an error, and nothing is said to have worked.
func TestBrokenDisk(t *testing.T) {
	d := newFakeHost(t)
	d.before = func(*fakeHost, event.Event) *hostlink.Done { return &hostlink.Done{Error: "input/output error"} }
	if end := d.fails(document(t, alone, says), stands); end.Kind != string(engine.KindStore) || !strings.Contains(end.Error, "input/output error") {
		t.Errorf("end %+v", end)
	}
}

// What is wrong with the document is told, and nothing runs.
func TestBadDocument(t *testing.T) {
	for _, c := range []struct {
		name       string
		change     func(*hostlink.Document)
		want, kind string
	}{
		{"another protocol", func(d *hostlink.Document) { d.Protocol, d.Version = 99, "9.9.9" }, "version 99 of the protocol (perstack 9.9.9)", ""},
		{"no Experts", func(d *hostlink.Document) { d.Spec.Experts = nil }, `"lead" is not in Spec.Experts`, "input"},
		{"broken lockfile", func(d *hostlink.Document) {
			d.Spec.LockPath, d.Spec.Lock = "/p/perstack.lock", "version = '1'\n"
		}, "perstack.lock", "input"},
		{"unknown expert", func(d *hostlink.Document) { d.Spec.Expert = "nobody" }, `"nobody" is not in Spec.Experts`, "input"},
		{"no cassette", func(d *hostlink.Document) { d.Secrets.Files = nil }, "cassette", "input"},
		{"unknown provider", func(d *hostlink.Document) { d.Spec.Provider = "nobody" }, "nobody", "input"},
		{"no proxy", func(d *hostlink.Document) { d.Secrets.Proxy = "" }, "the address of the proxy", ""},
		{"a proxy without a token", func(d *hostlink.Document) { d.Secrets.Proxy = "http://192.0.2.2:4000" }, "the address of the proxy", ""},
		{"no gateway", func(d *hostlink.Document) { d.Addresses.Gateway = "here" }, "the sandbox check failed", ""},
		{"no workspace", func(d *hostlink.Document) { d.Addresses.Workspace = filepath.Join(d.Addresses.Workspace, "absent") }, "absent", "input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := document(t, alone, says)
			c.change(doc)
			if end := newFakeHost(t).fails(doc, stands); !strings.Contains(end.Error, c.want) || end.Kind != c.kind {
				t.Errorf("end %+v, want %q of kind %q", end, c.want, c.kind)
			}
		})
	}
}

// Where a safeguard is missing, nothing runs. The self-test is told what the document says.
func TestMissingIsolation(t *testing.T) {
	doc := document(t, alone, says)
	doc.Addresses.Hidden, doc.Addresses.ReadOnlyWorkspace = []string{"/workspace/perstack"}, true
	d := newFakeHost(t)
	end := d.fails(doc, func(_ context.Context, s selftest.Spec) []selftest.Result {
		if s.Gateway.String() != "192.0.2.1" || s.Proxy.Host != "192.0.2.2:4000" || s.Proxy.User == nil ||
			!slices.Equal(s.Masked, doc.Addresses.Hidden) || s.Work != doc.Addresses.Workspace || !s.ReadOnlyWork {
			t.Errorf("%+v", s)
		}
		return []selftest.Result{{Name: "user", OK: true}, {Name: "gateway", Detail: "192.0.2.1 answers\x1b[2J token-of-the-engine"}}
	})
	if !strings.HasPrefix(end.Error, "the sandbox check failed: gateway (192.0.2.1 answers") || !strings.Contains(end.Error, "[redacted: PROXY_TOKEN]") {
		t.Errorf("end %+v", end)
	}
	if len(d.checks) != 2 || !d.checks[0].OK || d.checks[1].OK || strings.Contains(d.text(), "token-of-the") || strings.Contains(d.text(), `\u001b`) {
		t.Errorf("checks %+v", d.checks)
	}
	if end := newFakeHost(t).fails(doc, func(context.Context, selftest.Spec) []selftest.Result { return nil }); !strings.Contains(end.Error, "nothing was checked") {
		t.Errorf("without checks: %+v", end)
	}
}

// A self-test that a stop cut off found no holes: none are told of, only why it ended.
func TestStopDuringSelfTest(t *testing.T) {
	for name, c := range map[string]struct {
		stop hostlink.Stop
		want string
	}{
		"interrupt": {hostlink.Stop{Reason: "received interrupt"}, "received interrupt"},
		"limit":     {hostlink.Stop{Limit: &hostlink.Limit{Limit: "maxDuration", Used: 2, Max: 1}}, "maxDuration"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFakeHost(t)
			end := d.fails(document(t, alone, says), func(ctx context.Context, _ selftest.Spec) []selftest.Result {
				if err := d.down.Write(hostlink.Down{Stop: &c.stop}); err != nil {
					t.Error(err)
				}
				<-ctx.Done()
				return []selftest.Result{{Name: "user", OK: true}, {Name: "gateway", Detail: "context canceled"}}
			})
			if !strings.Contains(end.Error, c.want) || strings.Contains(end.Error, "check failed") || len(d.checks) > 0 {
				t.Errorf("end %+v, checks %+v", end, d.checks)
			}
		})
	}
}

// Commands have the user of the engine, and may send it signals. None makes it end, or
// show what it is doing.
func TestSignalsOfCommands(t *testing.T) {
	const child = "PERSTACK_TEST_INSIDE"
	if os.Getenv(child) != "" {
		if run(t.Context(), newOptions(os.Stdin, os.Stdout)) != nil {
			os.Exit(exitFailure)
		}
		os.Exit(0)
	}
	for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGTRAP, syscall.SIGSYS} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSignalsOfCommands$")
		cmd.Env = append(os.Environ(), child+"=1")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := hostlink.NewReader(stdout)
		if up, err := out.Up(); err != nil || up.Hello == nil {
			t.Errorf("%v: %+v, %v", signal, up, err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Error(err)
		}
		// It still listens: a line that is no document ends it, with a word.
		_, _ = io.WriteString(stdin, "hello\n")
		up, err := out.Up()
		if err != nil || up.End == nil {
			t.Errorf("%v: %+v, %v", signal, up, err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailure || strings.Contains(stderr.String(), "goroutine") {
			t.Errorf("%v: %v\n%s", signal, err, stderr.String())
		}
	}
}

// Here, without isolation, the real self-test lets nothing run.
func TestNoIsolation(t *testing.T) {
	if end := newFakeHost(t).fails(document(t, alone, says), nil); !strings.HasPrefix(end.Error, "the sandbox check failed: ") {
		t.Errorf("end %+v", end)
	}
}

// A bug is told too.
func TestPanic(t *testing.T) {
	d := newFakeHost(t)
	end := d.fails(document(t, alone, says), func(context.Context, selftest.Spec) []selftest.Result { panic("oh") })
	if end.Error != "internal error: oh" || len(d.logs) != 1 || !strings.Contains(d.logs[0].Text, "checkIsolation") {
		t.Errorf("end %+v, logs %+v", end, d.logs)
	}
}

// What is logged goes to the host: warnings always, the rest if the user wants it;
// cleaned and not too long; and nothing after the end.
func TestLog(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		first, err := hostlink.Encode(hostlink.Down{Document: document(t, alone, says)})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		conn, err := hostlink.Dial(bytes.NewReader(append(first, '\n')), &out)
		if err != nil {
			t.Fatal(err)
		}
		out.Reset() // without the greeting
		w := &work{opts: newOptions(nil, nil), document: &hostlink.Document{Spec: job.Spec{Verbose: verbose}}, conn: conn}
		w.opts.secrets.Add("KEY", "sk-canary-0123456789")
		log := w.logger().With("skill", "web").WithGroup("g")
		log.Debug("details")
		log.Warn("it failed: sk-canary-0123456789", "error", errors.New("no\x1b[2J way"), slog.Group("in", "a", 1))
		log.Error(strings.Repeat("x", 2*maxText))
		if err := w.conn.Send(hostlink.Up{End: &hostlink.End{}}); err != nil {
			t.Fatal(err)
		}
		log.Error("too late")
		var lines []hostlink.Up
		for r := hostlink.NewReader(&out); ; {
			up, err := r.Up()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, up)
		}
		if !verbose {
			lines = slices.Insert(lines, 0, hostlink.Up{})
		}
		if len(lines) != 4 || lines[3].End == nil || verbose && lines[0].Log.Level != "DEBUG" {
			t.Fatalf("verbose %v: %+v", verbose, lines)
		}
		if got := lines[1].Log; got.Level != "WARN" || strings.Contains(got.Text, "\x1b") ||
			!strings.HasPrefix(got.Text, "it failed: [redacted: KEY] (skill=web, g.error=") || !strings.HasSuffix(got.Text, "g.in.a=1)") {
			t.Errorf("%+v", got)
		}
		if got := lines[2].Log; got.Level != "ERROR" || len(got.Text) > maxText+10 {
			t.Errorf("%s with %d bytes", got.Level, len(got.Text))
		}
	}
}
