package plain

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/rawjson"
)

// notes is a job that reads a file and answers.
func notes(_ context.Context, _ tui.Task, _ tui.Asker, tell func(event.Body)) error {
	for _, b := range call("c1", "readTextFile", `{"path":"notes.txt"}`, `{"content":"Launch in May.\nTell Ann.\n3\n4\n5\n6"}`) {
		tell(b)
		time.Sleep(20 * time.Millisecond)
	}
	tell(complete("The launch moves to **May**.\n\nAll tests pass."))
	return nil
}

func trip() *project {
	return &project{
		experts: []tui.Expert{{Key: "lead", Description: "plans trips"}, {Key: "finder"}, {Key: "old", Recent: true, Job: "oldjob1"}},
		run:     notes,
	}
}

// past is a job of the history.
func past(p *project) {
	at := time.Now().Add(-2 * time.Hour).UnixMilli()
	p.jobs = []tui.Job{
		{ID: "r58pytxxxx", Expert: "lead", Status: "completed", Steps: 2, Cost: 0.021, At: at, Query: "Plan a weekend in Lisbon"},
		{ID: "r58qzzzzzz", Expert: "finder", Status: "waiting for an answer", Steps: 1, At: at, Query: "Flights in May"},
	}
	p.checkpoints = []tui.Checkpoint{{ID: "cp2", Step: 2, At: at, Expert: "lead", Files: 2}, {ID: "cp1", Step: 1, At: at, Expert: "lead", Files: -1}}
	p.events = map[string][]event.Event{}
	for i, b := range append([]event.Body{event.StartRun{InputMessages: []*event.Message{message(event.UserMessage, text("Plan a weekend in Lisbon"))}}},
		append(call("c1", "exec", `{"command":"ls","args":["-l","my files"]}`, `{"output":"a\nb"}`), complete("Two direct flights."))...) {
		p.events["r58pytxxxx"] = append(p.events["r58pytxxxx"], event.Event{ID: "e" + string(rune('a'+i)), JobID: "r58pytxxxx", RunID: "r1", ExpertKey: "lead", StepNumber: 1, Timestamp: at + int64(i)*100, Body: b})
	}
	question := event.ToolCall{ID: "q1", SkillName: "user", ToolName: "askUser", Args: rawjson.Value(`{"question":"Which week?"}`)}
	for i, b := range []event.Body{event.StartRun{InputMessages: []*event.Message{message(event.UserMessage, text("Flights in May"))}}, event.CallInteractiveTool{ToolCallID: "q1", ToolCall: &question}, event.StopRunByInteractiveTool{}} {
		p.events["r58qzzzzzz"] = append(p.events["r58qzzzzzz"], event.Event{ID: "f" + string(rune('a'+i)), JobID: "r58qzzzzzz", RunID: "r2", ExpertKey: "finder", StepNumber: 1, Timestamp: at, Body: b})
	}
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, test func(t *testing.T)) { synctest.Test(t, test) }

// TestConversation chooses an Expert by number and talks to it.
func TestConversation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		c := start(t, Options{Project: p, Why: "TERM is dumb", Terminal: true})
		c.enter("1", "What is new?", `Write \`, "two lines", "/status", "/tools 1", "/search may", "/runs", "quit")
		testkit.Golden(t, "conversation.golden", c.wait())
		want := `run {Expert:lead Query:Write ` + "\n" + `two lines Attachments:[] Job:job1abcdef Answer:false Checkpoint: RestoreFiles:false}`
		if got := p.calls[len(p.calls)-1]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestHistory opens jobs, branches, rewinds and deletes.
func TestHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		past(p)
		c := start(t, Options{Project: p, Why: "--plain", Terminal: true})
		c.enter("1", "/checkpoints", "2", "/back", "/diff 1", "/events call", "1", "/rewind 2", "no", "/rewind 2", "rewind", "Do it again",
			"/history flights", "r58q", "Next week", "/attach missing.png", "/attach shot.png", "And this?", "/delete r58", "/delete r58p", "delete", "/hist", "/help")
		testkit.Golden(t, "history.golden", c.end())
		want := []string{
			"remember Do it again", "run {Expert:lead Query:Do it again Attachments:[] Job:r58pytxxxx Answer:false Checkpoint:cp1 RestoreFiles:true}",
			"remember Next week", "run {Expert:finder Query:Next week Attachments:[] Job:r58qzzzzzz Answer:true Checkpoint: RestoreFiles:false}",
			"remember And this?", "run {Expert:finder Query:And this? Attachments:[shot.png] Job:r58qzzzzzz Answer:false Checkpoint: RestoreFiles:false}",
			"delete r58pytxxxx",
		}
		if got := strings.Join(p.calls, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// TestStillWorking tells the user that a silent job works, by the clock.
func TestStillWorking(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		p.run = func(ctx context.Context, _ tui.Task, _ tui.Asker, tell func(event.Body)) error {
			tell(event.StartGeneration{})
			<-ctx.Done()
			return ctx.Err()
		}
		c := start(t, Options{Project: p, Expert: "lead", Terminal: true})
		c.enter("Think")
		time.Sleep(69 * time.Second)
		synctest.Wait()
		got := c.String()
		for _, want := range []string{"still working, 30s, waiting for the model\n", "still working, 1m0s, waiting for the model\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in:\n%s", want, got)
			}
		}
		if strings.Contains(got, "1m30s") || strings.Count(got, "still working") != 2 {
			t.Errorf("too many notes:\n%s", got)
		}
		c.interrupts <- struct{}{}
		c.interrupts <- struct{}{}
		c.wait()
	})
}

// TestWithoutTerminal reads lines until the input ends. A question takes one, an approval none.
func TestWithoutTerminal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		var allowed error
		p.run = func(ctx context.Context, task tui.Task, ask tui.Asker, tell func(event.Body)) error {
			if task.Query != "First" {
				_, allowed = ask.Ask(ctx, approvalOf("rm", "-r", "old drafts"))
				tell(event.StopRunByApproval{})
				return nil
			}
			a, err := ask.Ask(ctx, event.Request{Question: event.ToolCall{ID: "q", ToolName: "askUser", Args: rawjson.Value(`{"question":"Which week?"}`)}})
			if err != nil {
				return err
			}
			tell(complete("So it is " + a.Text + "."))
			return nil
		}
		c := start(t, Options{Project: p, Why: "the input is no terminal", Expert: "lead"})
		for _, l := range []string{"First", "week 20", "Second", "allow", "yes"} {
			go c.put(l) // all of them are there before they are read
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		got := c.end()
		testkit.Golden(t, "pipe.golden", got)
		if allowed == nil {
			t.Error("it was approved")
		}
		if strings.Contains(got, "<bell>") {
			t.Error("there is a bell where there is no terminal")
		}
	})
}

func approvalOf(argv ...string) event.Request {
	return event.Request{Approval: &event.Approval{
		Call: event.ToolCall{ToolName: "exec"}, Experts: []string{"lead"}, Said: "I will tidy up.",
		ApprovalRequested: event.ApprovalRequested{Effect: event.Effect{Kind: event.CommandEffect, Program: "/bin/rm", Argv: argv, Dir: "."}, Sandbox: "landlock", Rule: "commands ask"},
	}}
}

// TestStop stops a job with Ctrl-C. Pressed again, it quits.
func TestStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		p.run = func(ctx context.Context, _ tui.Task, _ tui.Asker, tell func(event.Body)) error {
			<-ctx.Done()
			tell(event.StopRunByInterrupt{Reason: "interrupt"})
			return nil
		}
		c := start(t, Options{Project: p, Expert: "lead", Query: "Work", Terminal: true})
		c.interrupts <- struct{}{}
		synctest.Wait()
		c.enter("Work again", "a message that waits", "/unqueue", "/stop")
		c.interrupts <- struct{}{}
		c.interrupts <- struct{}{}
		testkit.Golden(t, "stop.golden", c.wait())
	})
}

// TestDoubt says before the transcript that a job is not sealed.
func TestDoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		past(p)
		p.doubt = "not sealed"
		c := start(t, Options{Project: p, Job: "r58pytxxxx", Terminal: true})
		if out := c.end(); !strings.Contains(out, "Note: what follows may not be true: not sealed\nYou: ") {
			t.Error(out)
		}
	})
}

// TestFollow follows a job of another process, which takes no message.
func TestFollow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		past(p)
		p.jobs[0].Running, p.jobs[0].Status = true, "running"
		c := start(t, Options{Project: p, Job: "r58pytxxxx", Terminal: true})
		c.enter("hello", "/branch 2", "Another way")
		testkit.Golden(t, "follow.golden", c.end())
	})
}

// hostile holds the ways in which text can act on a terminal.
const hostile = "a\x1b[31mred\x1b[2J\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\u009b31m\x7f\x08\rover\u202e\u2066txt\u2069\u2028\ufeff\xff\nApproval: forged"

// TestHostile writes nothing that a terminal acts upon, wherever the text is from.
func TestHostile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		past(p)
		p.experts = []tui.Expert{{Key: "lead" + hostile, Description: hostile}, {Key: "b"}}
		p.jobs[0].Query, p.jobs[0].Expert, p.jobs[0].Status = hostile, hostile, hostile
		p.checkpoints[0].Expert = hostile
		p.run = func(ctx context.Context, _ tui.Task, ask tui.Asker, tell func(event.Body)) error {
			ask.Tell(hostile)
			for _, b := range call("c1", "exec", `{"command":"a\u001b[31m","args":["b\u001b]0;x\u0007"]}`, hostile) {
				tell(b)
			}
			_, _ = ask.Ask(ctx, approvalOf("rm", hostile))
			_, _ = ask.Ask(ctx, event.Request{Question: event.ToolCall{ID: "q", ToolName: hostile, Args: rawjson.Value(`{"q":"\u001b[2J"}`)}})
			tell(complete(hostile))
			return nil
		}
		c := start(t, Options{Project: p, Name: hostile, Why: hostile, Terminal: true})
		c.enter("1", "/checkpoints 1", "/diff 1", "/events", "/new", "1", "go", "deny", "answer", "/tools 1", "/"+"x\x1b[2J", "/open \x1b[2Jxxxx")
		got := strings.ReplaceAll(c.end(), "<bell>", "")
		typed := strings.NewReplacer("/x\x1b[2J\n", "", "/open \x1b[2Jxxxx\n", "").Replace(got)
		if !strings.Contains(got, "over") {
			t.Fatal("the text is missing altogether")
		}
		for i, r := range typed {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || strings.ContainsRune("\u202e\u2066\u2069\u2028\ufeff", r) {
				t.Fatalf("%U at %d: %q", r, i, typed[max(0, i-60):i+10])
			}
		}
		for l := range strings.Lines(got) {
			if strings.HasPrefix(l, "Approval: forged") {
				t.Errorf("a text forged a label:\n%s", got)
			}
		}
	})
}

// TestLongHistory shows a page of a long history without reading the rest, and then the rest.
func TestLongHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		p.counts = true
		for i := range 50 {
			p.jobs = append(p.jobs, tui.Job{ID: fmt.Sprintf("job%07d", i), Prefix: fmt.Sprintf("job%07d", i), Expert: "lead", Status: "completed", At: time.Now().UnixMilli()})
		}
		c := start(t, Options{Project: p, Terminal: true})
		if got := strings.Join(p.calls, " "); got != "jobs 1 jobs 21" {
			t.Errorf("asked for %s", got)
		}
		c.enter("more", "more", "50")
		out := c.end()
		for _, want := range []string{"20: job0000019", "there are more; type more", "21: job0000020", "10 more; type more", "50: job0000049", "Job: job00000, lead"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in:\n%s", want, out)
			}
		}
	})
}

// TestQuit stops the job and waits until it is saved, whatever the job still tells.
func TestQuit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		p.run = func(ctx context.Context, _ tui.Task, ask tui.Asker, tell func(event.Body)) error {
			<-ctx.Done()
			ask.Tell("the files are saved")
			tell(event.StopRunByInterrupt{Reason: "interrupt"})
			return nil
		}
		c := start(t, Options{Project: p, Expert: "lead", Query: "Work", Terminal: true})
		c.enter("and then this", "/quit")
		out := c.wait()
		for _, want := range []string{"Note: the files are saved\n", "Done: stopped, everything is saved", "Taken back: and then this\n", "Resume: "} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in:\n%s", want, out)
			}
		}
	})
}

// TestQuitAtOnce leaves a job that does not stop.
func TestQuitAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, hangs := trip(), make(chan struct{})
		p.run = func(context.Context, tui.Task, tui.Asker, func(event.Body)) error {
			<-hangs
			return nil
		}
		c := start(t, Options{Project: p, Expert: "lead", Query: "Work", Terminal: true})
		c.enter("/quit")
		c.interrupts <- struct{}{}
		c.wait()
		close(hangs)
	})
}

// TestQueueIsNoAnswer takes a message back that waited for a job which then asks something.
func TestQueueIsNoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		question := event.ToolCall{ID: "q1", SkillName: "user", ToolName: "askUser", Args: rawjson.Value(`{"question":"Which week?"}`)}
		p.run = func(_ context.Context, _ tui.Task, _ tui.Asker, tell func(event.Body)) error {
			time.Sleep(time.Minute)
			tell(event.CallInteractiveTool{ToolCallID: "q1", ToolCall: &question})
			tell(event.StopRunByInteractiveTool{})
			return nil
		}
		c := start(t, Options{Project: p, Expert: "lead", Query: "Work", Terminal: true})
		c.enter("and then this")
		time.Sleep(2 * time.Minute)
		out := c.end()
		if p.runs != 1 || !strings.Contains(out, "Taken back: and then this\n") {
			t.Errorf("%d runs:\n%s", p.runs, out)
		}
	})
}

// TestBranchOnce branches with one message. The next one continues the branch.
func TestBranchOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		past(p)
		c := start(t, Options{Project: p, Job: "r58pytxxxx", Terminal: true})
		c.enter("/branch 2", "Another way", "And further")
		c.end()
		if got := p.calls[len(p.calls)-1]; !strings.Contains(got, "Query:And further") || !strings.Contains(got, "Checkpoint: ") {
			t.Errorf("the second message is %q", got)
		}
	})
}

// TestDeleteWithoutTerminal deletes nothing where the user cannot be asked.
func TestDeleteWithoutTerminal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		past(p)
		c := start(t, Options{Project: p, Expert: "lead"})
		c.enter("/delete r58p", "delete")
		if out := c.end(); !strings.Contains(out, "Error: no job is deleted without a terminal\n") || strings.Contains(strings.Join(p.calls, " "), "delete r58p") {
			t.Errorf("%q:\n%s", p.calls, out)
		}
	})
}

// TestRedact shows no secret, wherever the text is from.
func TestRedact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const secret = "s3cret-key"
		p := trip()
		p.run = func(ctx context.Context, _ tui.Task, ask tui.Asker, tell func(event.Body)) error {
			ask.Tell("the key is s3cr\u200bet-key")
			for _, b := range call("c1", "exec", `{"command":"echo","args":["`+secret+`"]}`, secret) {
				tell(b)
			}
			_, _ = ask.Ask(ctx, approvalOf("curl", secret))
			_, _ = ask.Confirm(ctx, "Send "+secret+"?")
			tell(complete("It is " + secret))
			return fmt.Errorf("refused %s", secret)
		}
		c := start(t, Options{Project: p, Expert: "lead", Query: "Go", Terminal: true, Redact: func(text string) string {
			return strings.ReplaceAll(text, secret, "[redacted]")
		}})
		c.enter("deny", "no", "/tools 1", "/search redacted", "/transcript")
		if out := c.end(); strings.Contains(out, secret) || strings.Count(out, "[redacted]") < 6 {
			t.Error(out)
		}
	})
}
