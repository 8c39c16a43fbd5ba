package tui

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
)

func TestExpertIsChosen(t *testing.T) {
	d := drive(t, &fakeProject{experts: []Expert{{Key: "lead"}, {Key: "writer"}}}, 80, 24)
	d.shows("writer")
	d.press("down", "enter")
	if d.p.chat == nil || d.p.chat.expert != "writer" {
		t.Fatalf("the screen is\n%s", d.screen())
	}
}

func TestTooSmall(t *testing.T) {
	d := drive(t, &fakeProject{}, 39, 24)
	if got := strings.Join(strings.Fields(d.screen()), " "); got != "perstack needs 40x10; this is 39x24" {
		t.Errorf("%q", got)
	}
	d.send(tea.WindowSizeMsg{Width: 40, Height: 10})
	if got := d.screen(); !strings.Contains(got, "F1 help") {
		t.Errorf("the screen is\n%s", got)
	}
}

// In every state in which the user waits, the spinner moves each 100 ms, and the status line says what is
// waited for.
func TestSpinnerStates(t *testing.T) {
	c := removeCall()
	for want, events := range map[string][]event.Event{
		"starting":              nil,
		"preparing the image":   {happened("R", 0, event.DockerBuildProgress{Stage: "building"})},
		"waiting for the model": {happened("R", 1, event.StartGeneration{})},
		"thinking":              {happened("R", 1, event.StreamReasoning{Delta: "hm"})},
		"answering":             {happened("R", 1, event.StreamText{Delta: "It "})},
		"running a command":     {happened("R", 1, calls("", c)), happened("R", 1, event.StartToolCall{ToolCallID: c.ID})},
		"waiting for delegates": {happened("R", 1, event.CallDelegate{})},
		"retrying in 6s":        {happened("R", 1, event.Retry{Reason: "busy", DelayMS: 5000})},
		"waiting for you":       {happened("R", 1, event.ApprovalRequested{ToolCallID: c.ID, ToolCall: &c})},
	} {
		d, s := chatting(t, 80, 24)
		if want != "preparing the image" {
			d.play(s, happened("R", 1, asks(t, "go")))
		}
		d.play(s, events...)
		for range 3 {
			before := d.p.spinner()
			d.pass(tickEvery)
			last := d.screen()[strings.LastIndexByte(d.screen(), '\n')+1:]
			if after := d.p.spinner(); before == after || !strings.HasPrefix(last, " "+after+" "+want+" 00:00") {
				t.Errorf("%s: %q became %q in %q", want, before, after, last)
			}
		}
	}
}

// A spinner is drawn as long as the user waits, a frame each 100 ms, and no timer runs otherwise.
func TestSpinner(t *testing.T) {
	release := make(chan struct{})
	d := drive(t, &fakeProject{run: func(ctx context.Context, _ Task, _ Asker, _ func(event.Event, error) bool) { <-release }}, 80, 24,
		func(o *Options) { o.Entry, o.Expert = EntryChat, "lead" })
	d.pass(tickEvery)
	if len(d.timers) != 0 {
		t.Errorf("%d timers run while nothing does", len(d.timers))
	}
	d.enter("go")
	d.press("enter")
	before := d.p.spinner()
	d.pass(tickEvery)
	if after := d.p.spinner(); before == after || !strings.Contains(d.screen(), after) {
		t.Errorf("%q became %q on\n%s", before, after, d.screen())
	}
	close(release)
	d.until("the job ends", func() bool { return !d.p.isWaiting() })
	d.pass(tickEvery)
	if len(d.timers) != 0 {
		t.Errorf("%d timers are left", len(d.timers))
	}
}

// The program ends when the job that ran is saved, and not before.
func TestRunWaitsForJob(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	in, typed := io.Pipe()
	defer typed.Close()
	returned, saved := make(chan struct{}), make(chan bool, 1)
	project := &fakeProject{run: func(ctx context.Context, _ Task, _ Asker, yield func(event.Event, error) bool) {
		yield(happened("R", 1, event.StartGeneration{}), nil)
		leave()
		<-ctx.Done()
		for range maxItems + 1 { // more than fits, and no screen takes it
			yield(happened("R", 1, event.StreamText{Delta: "x"}), nil)
		}
		select { // it is being saved
		case <-returned:
			saved <- false
		case <-time.After(50 * time.Millisecond):
			saved <- true
		}
	}}
	result, err := Run(ctx, Options{Project: project, In: in, Out: io.Discard, Entry: EntryChat, Expert: "lead", Query: "Go"})
	close(returned)
	if err != nil || !<-saved {
		t.Errorf("the program ended before the job: %v", err)
	}
	if result.Job != "r58pyt00" { // the user is told how to return to it
		t.Errorf("the job is %q", result.Job)
	}
}
