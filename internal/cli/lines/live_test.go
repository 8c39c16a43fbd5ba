package lines

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/charmbracelet/x/vt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/rawjson"
)

// A tty is a terminal whose screen can be read.
type tty struct {
	mu            sync.Mutex
	emulator      *vt.Emulator
	columns, rows int
	output        strings.Builder
}

func (t *tty) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output.Write(data)
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n", "\r\n") // as the kernel does
	if _, err := t.emulator.Write([]byte(text)); err != nil {
		return 0, err
	}
	return len(data), nil
}

func (t *tty) size() (columns, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.columns, t.rows
}

func (t *tty) resize(columns, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.columns, t.rows = columns, rows
	if columns > 0 {
		t.emulator.Resize(columns, rows)
	}
}

// lines returns what is on the screen, without empty lines at the end.
func (t *tty) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for l := range strings.SplitSeq(t.emulator.String(), "\n") {
		all = append(all, strings.TrimRight(l, " \r"))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// text is the screen with the same spinner at all times.
func (t *tty) text() string {
	return regexp.MustCompile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ").ReplaceAllString(strings.Join(t.lines(), "\n"), "⠋ ") + "\n"
}

func newLive(t *testing.T, columns, rows int, o LiveOptions) (*Live, *tty) {
	screen := &tty{emulator: vt.NewEmulator(columns, rows), columns: columns, rows: rows}
	o.Size = screen.size
	if o.Now == nil {
		o.Now = func() time.Time { return time.UnixMilli(12_000) }
	}
	l := NewLive(screen, o)
	t.Cleanup(l.Close)
	return l, screen
}

// feed emits events and draws what they changed.
func feed(t *testing.T, l *Live, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := l.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	l.Pause()
	l.Resume()
}

func delta(text string) event.Event { return timed(2000, event.StreamText{Delta: text}) }

// begun is a job whose model was asked.
func begun() []event.Event {
	return []event.Event{
		timed(0, event.InitializeRuntime{ExpertName: "writer", Model: "claude-sonnet-5-5"}),
		timed(0, event.StartRun{InputMessages: ask("Summarise the report")}),
		timed(1000, event.StartGeneration{}),
	}
}

// In every waiting state the spinner turns each 100 ms.
func TestSpinner(t *testing.T) {
	half := 0.5
	for state, events := range map[string][]event.Event{
		"starting":              nil,
		"preparing the image":   {{JobID: "job1", Body: event.DockerBuildProgress{Stage: "building", Service: "image", Message: "sending", Progress: &half}}},
		"preparing skill web":   {timed(0, event.SkillStderr{SkillName: "web", Message: "fetching web@1"}), timed(0, event.SkillStarting{SkillName: "web", Command: "npx"})},
		"waiting for the model": begun(),
		"thinking":              append(begun(), timed(0, event.StreamReasoning{Delta: "Hm"})),
		"answering":             append(begun(), delta("The launch")),
		"running":               append(begun(), timed(0, turn("", "", sleep)), timed(0, event.StartToolCall{ToolCallID: "c1"})),
		"retrying in":           append(begun(), timed(0, event.Retry{Reason: "busy", DelayMS: 60_000})),
		"waiting for you":       append(begun(), timed(0, event.ApprovalRequested{ToolCallID: "c1"})),
		"finishing":             append(begun(), timed(0, says("Done."))),
	} {
		t.Run(state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				l, screen := newLive(t, 80, 24, LiveOptions{Now: func() time.Time { return time.UnixMilli(time.Since(start).Milliseconds()) }})
				feed(t, l, events...)
				status := func() (frame, rest string) {
					lines := append([]string{""}, screen.lines()...)
					frame, rest, _ = strings.Cut(lines[len(lines)-1], " ")
					return frame, rest
				}
				before, text := status()
				if !strings.HasPrefix(text, state) {
					t.Fatalf("the status is %q", text)
				}
				for range 25 {
					time.Sleep(Frame)
					synctest.Wait()
					frame, _ := status()
					if frame == before || !strings.Contains(string(spinner), frame) {
						t.Fatalf("%q after %q", frame, before)
					}
					before = frame
				}
				l.Close()
				if _, text := status(); strings.HasPrefix(text, state) {
					t.Errorf("the region is left: %q", screen.lines())
				}
			})
		})
	}
}

// story is a job with everything that the region shows.
func story() []event.Event {
	test := event.ToolCall{ID: "t", SkillName: event.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"sh","args":["-c","go test ./... | tail"],"cwd":"sub"}`)}
	read := event.ToolCall{ID: "c2", SkillName: event.BaseSkill, ToolName: "readTextFile", Args: rawjson.Value(`{"path":"notes.txt"}`)}
	build := event.ToolCall{ID: "b", SkillName: event.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"make","args":["all"]}`)}
	return append(begun(),
		timed(1000, event.StreamReasoning{Delta: "The notes come first."}),
		timed(9000, event.CompleteStreamingReasoning{Text: "The notes come first."}),
		timed(9000, turn("The notes come first.", "", read, test, build)),
		timed(9000, event.StartToolCall{ToolCallID: "c2"}),
		timed(9000, event.StartToolCall{ToolCallID: "t"}),
		timed(9000, event.StartToolCall{ToolCallID: "b"}),
		timed(9100, ended(read, `{"content":"one\ntwo"}`)),
		timed(9500, event.ToolProgress{ToolCallID: "b", Message: "compiling 日本語"}),
		timed(17_200, ended(test, `{"output":"ok   example/a  0.4s\nok   example/b\nok   example/c\n"}`)),
	)
}

// What a person sees, in several sizes.
func TestScreens(t *testing.T) {
	answer := "# Plan\n\nThe **launch** moves to May. 日本語のテキストもここにあります。 👩‍👩‍👧 ☀️ שלום עולם\n\n- one\n- two\n\nAll tests pa"
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
		for name, more := range map[string][]event.Event{
			"tools":  nil,
			"stream": {timed(17_300, ended(event.ToolCall{ID: "b", SkillName: event.BaseSkill, ToolName: "exec"}, "{}")), timed(17_300, event.StartGeneration{}), delta(answer + " x")},
		} {
			l, screen := newLive(t, size[0], size[1], LiveOptions{Sandbox: "sandbox landlock", Now: func() time.Time { return time.UnixMilli(21_000) }})
			feed(t, l, append(story(), more...)...)
			testkit.Golden(t, fmt.Sprintf("live_%s_%dx%d.golden", name, size[0], size[1]), screen.text())
			screen.mu.Lock()
			if s := screen.output.String(); strings.Contains(s, "\x1b[1m") {
				t.Errorf("colours: %q", s)
			}
			screen.mu.Unlock()
		}
	}
}

// The region is never wrapped, and nothing of it is left, in any size and whatever it shows.
func TestRegionFits(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {5, 3}, {9, 40}, {20, 5}, {40, 12}, {200, 60}} {
		for _, text := range []string{strings.Repeat("word ", 200), strings.Repeat("x", 900), strings.Repeat("日本語", 200), strings.Repeat("👩‍👩‍👧☀️🇩🇪", 90), strings.Repeat("שלום עולם ", 90), strings.Repeat(hostile+" ", 50)} {
			l, screen := newLive(t, size[0], size[1], LiveOptions{})
			call := event.ToolCall{ID: "t", SkillName: text, ToolName: text, Args: rawjson.Value(`{}`)}
			feed(t, l, begun()...)
			for _, e := range []event.Event{delta(text), timed(0, turn("", "", call)), timed(0, event.StartToolCall{ToolCallID: "t"}), timed(0, event.ToolProgress{ToolCallID: "t", Message: text})} {
				feed(t, l, e)
				l.mu.Lock()
				for _, line := range l.frame(size[0], size[1]) {
					if n := columns.Of(line); n > max(size[0]-1, 1) || strings.ContainsAny(line, "\n\r\x1b") {
						t.Errorf("%v: %q has %d columns", size, line, n)
					}
				}
				if n := len(l.frame(size[0], size[1])); n > max(size[1]/2, 1) || n > maxLive {
					t.Errorf("%v: %d lines", size, n)
				}
				l.mu.Unlock()
			}
			l.Close()
			if s := strings.Join(screen.lines(), "\n"); strings.ContainsAny(s, string(spinner)) {
				t.Errorf("%v: left behind: %q", size, s)
			}
		}
	}
}

// A terminal that is made narrower and wider again loses no row, and shows one region.
func TestResize(t *testing.T) {
	l, screen := newLive(t, 120, 40, LiveOptions{})
	feed(t, l, begun()...)
	for i, columns := range []int{120, 40, 80, 40, 120, 10, 120} {
		screen.resize(columns, 40)
		feed(t, l, delta(fmt.Sprintf("Piece %d of a text that takes some space on each line of it. ", i)))
		text := strings.Join(screen.lines(), "\n")
		if n := strings.Count(text, "answering"); n != 1 && columns > 10 {
			t.Errorf("%d columns: %d regions:\n%s", columns, n, text)
		}
	}
	feed(t, l, timed(0, says("Piece by piece.")))
	if text := strings.Join(screen.lines(), "\n"); strings.Count(text, "writer · ") != 1 || strings.Count(text, "Piece") != 1 {
		t.Errorf("%s", text)
	}
}

// A terminal that became narrower after its size was asked gets lines that are too long for it.
// Nothing of them is left.
func TestResizeWhileDrawing(t *testing.T) {
	l, screen := newLive(t, 120, 40, LiveOptions{})
	feed(t, l, begun()...)
	screen.mu.Lock()
	screen.emulator.Resize(40, 40)
	screen.mu.Unlock()
	feed(t, l, delta(strings.Repeat("Piece of a text that takes some space. ", 20)))
	screen.resize(40, 40)
	feed(t, l, timed(0, says("Piece by piece.")))
	if text := strings.Join(screen.lines(), "\n"); strings.Count(text, "Piece") != 1 || strings.Count(text, "answering") > 1 {
		t.Errorf("%s", text)
	}
}

// What others write appears above the region, whole or in parts.
func TestBesideRegion(t *testing.T) {
	l, screen := newLive(t, 60, 20, LiveOptions{})
	feed(t, l, append(begun(), delta("Some text "))...)
	notices := l.Writer(screen)
	fmt.Fprint(notices, "perstack: a warning\n")
	if want := "writer · claude-sonnet-5-5 · job job1\nperstack: a warning\nSome text\n⠋ answering 00:10\n"; !strings.HasPrefix(screen.text(), want[:len(want)-1]) {
		t.Errorf("%s", screen.text())
	}
	fmt.Fprint(notices, "Continue? ")
	if text := screen.text(); strings.Contains(text, "answering") {
		t.Errorf("the region is on a line that is not ended:\n%s", text)
	}
	fmt.Fprint(notices, "yes\n")
	if text := screen.text(); !strings.Contains(text, "\nContinue? yes\nSome text\n⠋ answering") {
		t.Errorf("%s", text)
	}
}

// While somebody else has the terminal, nothing is written. Then everything is.
func TestPause(t *testing.T) {
	l, screen := newLive(t, 60, 20, LiveOptions{})
	feed(t, l, begun()...)
	l.Pause()
	before := screen.output.Len()
	for _, e := range []event.Event{timed(0, turn("", "", read)), timed(0, event.StartToolCall{ToolCallID: "c2"}), timed(0, ended(read, "{}")), delta("Hm ")} {
		if err := l.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if screen.output.Len() != before {
		t.Errorf("written: %q", screen.output.String()[before:])
	}
	l.Resume()
	if text := screen.text(); !strings.Contains(text, "● Read  a") || !strings.Contains(text, "Hm\n⠋ answering") {
		t.Errorf("%s", text)
	}
}

// A terminal that belongs to another program gets rows only.
func TestBackground(t *testing.T) {
	l, screen := newLive(t, 60, 20, LiveOptions{})
	screen.resize(0, 0)
	feed(t, l, append(begun(), timed(0, turn("", "", read)), timed(0, event.StartToolCall{ToolCallID: "c2"}), timed(0, ended(read, "{}")))...)
	if text := screen.text(); !strings.Contains(text, "● Read  a") || strings.Contains(text, "⠋") {
		t.Errorf("%s", text)
	}
	screen.resize(60, 20)
	l.Pause()
	l.Resume()
	if text := screen.text(); !strings.Contains(text, "⠋ running") {
		t.Errorf("%s", text)
	}
}

// Many delegates do not fill the screen, and their texts do not mix.
func TestManyDelegates(t *testing.T) {
	l, screen := newLive(t, 80, 24, LiveOptions{})
	events := begun()
	for i := range 50 {
		id, key := fmt.Sprintf("k%d", i), fmt.Sprintf("finder%d", i)
		events = append(events,
			at(id, key, event.StartRun{DelegatedBy: &event.Parent{Expert: event.ExpertRef{Key: "lead"}, RunID: "r"}}),
			at(id, key, event.StreamText{Delta: fmt.Sprintf("text %d begins ", i)}))
	}
	for i := range 50 {
		events = append(events, at(fmt.Sprintf("k%d", i), fmt.Sprintf("finder%d", i), event.StreamText{Delta: fmt.Sprintf("and %d ends ", i)}))
	}
	feed(t, l, events...)
	text := screen.text()
	for _, want := range []string{"finder0  answering", "text 0 begins and 0 ends", "finder2  answering", "text 2 begins and 2 ends", "+47 more", "51 Experts at work"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	l.mu.Lock()
	if n := len(l.frame(80, 24)); n > maxLive {
		t.Errorf("%d lines:\n%s", n, text)
	}
	l.mu.Unlock()
}

// However large the terminal is, ten lines are drawn again.
func TestMostLines(t *testing.T) {
	l, _ := newLive(t, 80, 200, LiveOptions{})
	feed(t, l, append(begun(), delta(strings.Repeat("a line\n\n", 50)))...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.frame(80, 200)); n != 10 {
		t.Errorf("%d lines", n)
	}
}

// Half a secret is never shown.
func TestStreamedSecret(t *testing.T) {
	redact := func(text string) string { return strings.ReplaceAll(text, "sk-verysecret", "[redacted]") }
	l, screen := newLive(t, 80, 24, LiveOptions{Redact: redact})
	feed(t, l, begun()...)
	for _, piece := range []string{"The key is ", "sk-", "very", "sec", "ret", " and more "} {
		feed(t, l, delta(piece))
		if text := screen.text(); strings.Contains(text, "sk-") {
			t.Errorf("%s", text)
		}
	}
	if text := screen.text(); !strings.Contains(text, "The key is [redacted] and more") {
		t.Errorf("%s", text)
	}
}

// Nor is the beginning of a long one.
func TestStreamedLongSecret(t *testing.T) {
	secret := strings.Repeat("0123456789", 400)
	s := newStream(narrate.Message, func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") })
	s.add("The key is ")
	for piece := range slices.Chunk([]byte(secret), 7) {
		s.add(string(piece))
	}
	if got := s.incomplete(); got != "The key is " {
		t.Errorf("%.100q", got)
	}
	s.add(" and more ")
	if got := s.incomplete(); got != "The key is [redacted] and more " {
		t.Errorf("%.100q", got)
	}
}

// A secret that the terminal has no space for on one line is no secret in parts.
func TestStreamedSecretIsNotBroken(t *testing.T) {
	redact := func(text string) string { return strings.ReplaceAll(text, "sk-verysecret", "[redacted]") }
	s := newStream(narrate.Message, redact)
	s.add("The key is sk-verysecret and more ")
	text := ""
	for _, line := range s.tail(8, 20, false) {
		for _, part := range line {
			text += part.Text
		}
	}
	if strings.Contains(text, "secret") || !strings.Contains(text, "redacted") {
		t.Errorf("%q", text)
	}
}

// A terminal that does not know UTF-8 would draw each byte of it.
func TestASCII(t *testing.T) {
	l, _ := newLive(t, 80, 24, LiveOptions{ASCII: true})
	feed(t, l, append(begun(), delta("日本語 é "))...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if frame := l.frame(80, 24); frame[0] != "??? ?" {
		t.Errorf("%q", frame)
	}
}

// The last line says how the job ended and what it cost. On a narrow terminal nothing of it is lost.
func TestFinish(t *testing.T) {
	usage := event.Usage{InputTokens: 18_234, OutputTokens: 2_100}
	done := func(s event.Status, columns int) string {
		now := int64(0)
		l, screen := newLive(t, columns, 20, LiveOptions{Now: func() time.Time { return time.UnixMilli(now) }})
		feed(t, l, append(begun(), timed(0, event.StartGeneration{}), timed(0, event.CompleteRun{NewMessage: message(event.ExpertMessage, text("Done.")), Usage: usage}))...)
		now = 72_000
		if err := l.Finish(Summary{Status: s, Files: 2, Again: "perstack log r58p"}); err != nil {
			t.Fatal(err)
		}
		_, last, _ := strings.Cut(screen.text(), "Done.\n")
		return last
	}
	for status, want := range map[event.Status]string{
		event.StatusCompleted:                "✓ completed in 1m12s · 2 steps · 18.2k in, 2.1k out · 2 files changed · perstack log r58p\n",
		event.StatusStoppedByError:           "✗ failed after 1m12s · 2 steps · 18.2k in, 2.1k out · 2 files changed · perstack log r58p\n",
		event.StatusStoppedByLimit:           "✗ stopped by a limit after 1m12s · 2 steps · 18.2k in, 2.1k out · 2 files changed · perstack log r58p\n",
		event.StatusStoppedByInteractiveTool: "○ waiting for you after 1m12s · 2 steps · 18.2k in, 2.1k out · 2 files changed · perstack log r58p\n",
		event.StatusStoppedByInterrupt:       "✗ stopped after 1m12s · 2 steps · 18.2k in, 2.1k out · 2 files changed · perstack log r58p\n",
	} {
		if got := done(status, 120); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
	want := "✓ completed in 1m12s · 2 steps\n  18.2k in, 2.1k out · 2 files changed\n  perstack log r58p\n"
	if got := done(event.StatusCompleted, 40); got != want {
		t.Errorf("narrow: %q, want %q", got, want)
	}
}

func TestFigures(t *testing.T) {
	for got, want := range map[string]string{
		spanText(0): "0.0s", spanText(100): "0.1s", spanText(8_249): "8.2s", spanText(9_960): "10s", spanText(72_400): "1m12s", spanText(7_500_000): "2h05m", spanText(3_599_900): "1h00m", spanText(-5): "0.0s",
		clockText(12_999): "00:12", clockText(3_723_000): "1:02:03", clockText(-1): "00:00",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An answer looks the same whether it was streamed or came at once, and its finished blocks are laid out
// when they arrive.
func TestStreamedAnswer(t *testing.T) {
	const answer = "# Title\n\nA paragraph with **bold** text that is long enough to be wrapped in sixty columns.\n\n- one\n- two\n\n```\ncode 日本\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end"
	finished := timed(0, says(answer))
	at, once := newLive(t, 60, 40, LiveOptions{})
	feed(t, at, append(begun(), finished)...)
	want := once.text()
	for _, size := range []int{1, 3, 7, 1000} {
		l, screen := newLive(t, 60, 40, LiveOptions{})
		feed(t, l, begun()...)
		for rest := []rune(answer); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			feed(t, l, delta(string(rest[:min(size, len(rest))])))
		}
		if screen.resize(61, 40); size == 7 { // laid out again
			feed(t, l)
		}
		screen.resize(60, 40)
		feed(t, l, finished)
		if got := screen.text(); got != want {
			t.Errorf("in pieces of %d:\n%s\nwant\n%s", size, got, want)
		}
	}
	l, screen := newLive(t, 60, 40, LiveOptions{})
	feed(t, l, append(begun(), delta(answer))...)
	l.mu.Lock()
	l.runs[0].stream.lines[0] = markdown.Line{{Text: "Not laid out again"}}
	l.mu.Unlock()
	feed(t, l, finished)
	if text := screen.text(); !strings.Contains(text, "\nNot laid out again\n") || strings.Contains(text, "Title") {
		t.Errorf("%s", text)
	}
}

// A job that was told to stop says so, and a process that ends at once leaves no region behind.
func TestStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		l, screen := newLive(t, 60, 20, LiveOptions{Done: done})
		feed(t, l, append(begun(), delta("Some text "))...)
		close(done)
		fmt.Fprintln(l.Writer(screen), "perstack: quit at once")
		if text := screen.text(); strings.Contains(text, "⠋") || strings.Contains(text, "Some text") {
			t.Errorf("%s", text)
		}
		time.Sleep(Frame)
		synctest.Wait()
		if text := screen.text(); !strings.Contains(text, "Some text\n⠋ stopping") {
			t.Errorf("%s", text)
		}
		l.Close()
	})
}

// obeyed finds everything that a terminal obeys, but for what the region needs.
var obeyed = regexp.MustCompile("\x1b\\[(J|K|\\?7[lh]|[0-9]+A|[0-9;]*m)|\r\n|\r")

// Whatever fields of events contain: a terminal is told nothing but to draw the region.
func TestLiveIsSafe(t *testing.T) {
	half, valid := 0.5, strings.ToValidUTF8(hostile, "")
	l, screen := newLive(t, 80, 24, LiveOptions{Color: true, Verbose: true, Sandbox: hostile})
	call := func(id, skill string) event.ToolCall {
		return event.ToolCall{ID: id, SkillName: skill, ToolName: hostile, Args: rawjson.Value(marshal(object{"command": valid, "path": valid, valid: valid}))}
	}
	one, two := call("c1", event.BaseSkill), call("c2", hostile)
	two.ToolName = "exec"
	of := func(body event.Body) event.Event {
		e := at("r", hostile, body)
		e.JobID = hostile
		return e
	}
	for _, body := range []event.Body{
		event.DockerBuildProgress{Stage: hostile, Service: hostile, Message: hostile, Progress: &half},
		event.InitializeRuntime{ExpertName: hostile, Model: hostile},
		event.SkillStderr{SkillName: hostile, Message: hostile},
		event.SkillStarting{SkillName: hostile, Command: hostile, Args: []string{hostile}},
		event.StartRun{InputMessages: ask(hostile), Model: hostile},
		event.StartGeneration{}, event.StreamReasoning{Delta: hostile + " "}, event.CompleteStreamingReasoning{Text: hostile},
		event.StreamText{Delta: hostile + " "}, event.Retry{Reason: hostile, DelayMS: 1000},
		event.StreamText{Delta: "\x1b"}, event.StreamText{Delta: "[2J \u202e "},
		turn(hostile, hostile, one, two), event.StartToolCall{ToolCallID: "c1"}, event.StartToolCall{ToolCallID: "c2"},
		event.ToolProgress{ToolCallID: "c1", Message: hostile}, event.ToolProgress{ToolCallID: "c2", Message: hostile},
		ended(one, hostile), ended(two, marshal(object{"output": valid})),
		event.ApprovalRequested{ToolCallID: "c3", Why: hostile},
		event.StopRunByError{Error: event.Failure{Name: hostile, Message: hostile}},
	} {
		feed(t, l, of(body))
	}
	if err := l.Finish(Summary{Status: event.StatusStoppedByError, Again: hostile}); err != nil {
		t.Fatal(err)
	}
	text := obeyed.ReplaceAllString(screen.output.String(), "\n")
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r))
	}); i >= 0 {
		t.Errorf("%q", text[max(i-80, 0):min(i+40, len(text))])
	}
}

// A delegate is named once if it works alone, and above its rows if there are several.
func TestLiveDelegates(t *testing.T) {
	call := func(id string) event.ToolCall {
		return event.ToolCall{ID: id, SkillName: "finder", ToolName: "finder", Args: rawjson.Value(`{"query":"Flights in May"}`)}
	}
	child := func(id string, body event.Body) event.Event { return at(id, "finder", body) }
	by := &event.Parent{Expert: event.ExpertRef{Key: "lead"}, RunID: "r"}
	printed := func(ids ...string) string {
		var turns event.CallDelegate
		var calls []event.ToolCall
		for _, id := range ids {
			calls = append(calls, call(id))
			turns.Delegates = append(turns.Delegates, event.DelegateRun{ToolCallID: id, RunID: "k" + id, Expert: event.ExpertRef{Key: "finder"}})
		}
		events := append(begun(), timed(0, turn("", "", calls...)), timed(0, turns), timed(0, event.StopRunByDelegate{}))
		for _, id := range ids {
			events = append(events, child("k"+id, event.StartRun{DelegatedBy: by, InputMessages: ask("Flights in May")}), child("k"+id, says("Two **flights**.")))
		}
		return strings.Join(emit(t, Options{Live: true, Markdown: true, Width: 60}, events...), "")
	}
	if got, want := printed("1"), "● finder  Flights in May\n  ● Result\n    └ Two flights.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := "● finder  Flights in May\n● finder #2  Flights in May\n  [finder]\n  ● Result\n    └ Two flights.\n  [finder #2]\n  ● Result\n    └ Two flights.\n"
	if got := printed("1", "2"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
