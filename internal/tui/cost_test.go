package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
)

// longJob drives a conversation with so many rows.
func longJob(t *testing.T, rows int) *driver {
	t.Helper()
	events := []event.Event{happened("R", 1, asks(t, "go"))}
	for i := range rows {
		c := event.ToolCall{ID: fmt.Sprint("c", i), SkillName: event.BaseSkill, ToolName: "readTextFile", Args: []byte(fmt.Sprintf(`{"path":"file-%d.txt"}`, i))}
		events = append(events, happened("R", i+1, calls("", c)), happened("R", i+1, event.StartToolCall{ToolCallID: c.ID}), happened("R", i+1, returned(c, `{"content":"a\nb\nc"}`)))
	}
	d := drive(t, &fakeProject{events: events}, 80, 24)
	d.start(d.p.openJob(Job{ID: "r58pyt00", Expert: "lead"}))
	d.until("the job was read", func() bool { return d.p.chat != nil && d.p.chat.work == nil })
	return d
}

// cost is what is allocated for a thing that is done and drawn.
func cost(d *driver, do func()) float64 {
	return testing.AllocsPerRun(20, func() { do(); d.p.View() })
}

// What is on the screen costs, and not what is above it: a token, a page, a key and a row.
func TestCostDoesNotGrow(t *testing.T) {
	few, many := longJob(t, 1000), longJob(t, 10_000)
	if n := many.p.chat.transcript.pager.Len(); n != 10_001 {
		t.Fatalf("%d rows", n)
	}
	for name, do := range map[string]func(d *driver) func(){
		"streamed token": func(d *driver) func() {
			return func() { d.p.chat.transcript.apply(happened("R", 1, event.StreamText{Delta: "word "})) }
		},
		"page":  func(d *driver) func() { return func() { d.press("pgup") } },
		"key":   func(d *driver) func() { return func() { d.enter("x") } },
		"frame": func(d *driver) func() { return func() { d.send(tickMsg{}) } },
		"row": func(d *driver) func() {
			n := 0
			return func() { n++; d.p.chat.transcript.tell(fmt.Sprint("note ", n)) }
		},
	} {
		a, b := cost(few, do(few)), cost(many, do(many))
		if b > 1.25*a+20 {
			t.Errorf("%s: %.0f allocations with 10,000 rows, and %.0f with 1,000", name, b, a)
		}
	}
}

// A long answer that is streamed is not laid out again with each token.
func TestStreamCost(t *testing.T) {
	d, s := chatting(t, 80, 24)
	d.play(s, happened("R", 1, asks(t, "go")))
	token := func() { d.p.chat.transcript.apply(happened("R", 1, event.StreamText{Delta: "word "})) }
	after := func(paragraphs int) float64 {
		d.p.chat.transcript.apply(happened("R", 1, event.StreamText{Delta: strings.Repeat("A paragraph of **text** that is finished.\n\n", paragraphs)}))
		token()
		d.p.View()
		return cost(d, token)
	}
	if few, many := after(20), after(2000); many > 1.25*few+20 { // the screen is full already after the few
		t.Errorf("a token costs %.0f allocations after 2,000 paragraphs, and %.0f after 20", many, few)
	}
}

// With many delegates, the panel shows those that are at work, and counts the others.
func TestManyDelegates(t *testing.T) {
	d, s := chatting(t, 120, 40)
	d.play(s, happened("R", 1, asks(t, "go")))
	for i := range 50 {
		run := fmt.Sprintf("D%02d", i)
		d.play(s, happened(run, 1, event.StartRun{DelegatedBy: &event.Parent{RunID: "R", Expert: event.ExpertRef{Key: "lead"}}, Model: "claude"}))
		if i%2 == 0 {
			d.play(s, happened(run, 2, event.CompleteRun{NewMessage: says(event.ExpertMessage, "done")}))
		}
	}
	got := d.screen()
	for _, want := range []string{"d01", "d25", "d49", "more (Ctrl-T)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the screen lacks %q\n%s", want, got)
		}
	}
	d.press("ctrl+t", "end")
	if got := d.screen(); !strings.Contains(got, "d49") {
		t.Errorf("%s", got)
	}
	d.press("home")
	if got := d.screen(); !strings.Contains(got, "lead") {
		t.Errorf("%s", got)
	}
}
