package plain

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/rawjson"
)

// asking is a job that asks one thing, after a second of work.
func asking(request event.Request, got *event.Answer, failed *error) *project {
	p := trip()
	p.run = func(ctx context.Context, _ tui.Task, ask tui.Asker, tell func(event.Body)) error {
		time.Sleep(time.Second)
		*got, *failed = ask.Ask(ctx, request)
		tell(complete("That was it."))
		return nil
	}
	return p
}

// TestApprovalRaces enters words before, while and after an approval is shown.
func TestApprovalRaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		typing func(c *console) // the approval is shown a second after the start
		allow  bool
		waits  bool // the question has no answer
	}{
		{name: "before it is shown", typing: func(c *console) { c.put("allow"); c.put("allow"); time.Sleep(time.Hour) }, waits: true},
		{name: "as it is shown", typing: func(c *console) { time.Sleep(time.Second); c.put("allow"); time.Sleep(time.Hour) }, waits: true},
		{name: "before it can be read", typing: func(c *console) { time.Sleep(1200 * time.Millisecond); c.put("allow"); time.Sleep(time.Hour) }, waits: true},
		{name: "after it could be read", typing: func(c *console) { time.Sleep(2 * time.Second); c.put("allow"); time.Sleep(time.Second) }, allow: true},
		{name: "after one that did not count", typing: func(c *console) {
			time.Sleep(1200 * time.Millisecond)
			c.put("allow")
			time.Sleep(time.Second)
			c.put("allow")
			time.Sleep(time.Second)
		}, allow: true},
		{name: "before the input ends", typing: func(c *console) { time.Sleep(2 * time.Second); c.put("allow") }, waits: true},
		{name: "within a paste, first", typing: func(c *console) {
			time.Sleep(2 * time.Second)
			c.put("allow")
			c.put("the end of it")
			time.Sleep(time.Hour)
		}, waits: true},
		{name: "within a paste, last", typing: func(c *console) { time.Sleep(2 * time.Second); c.put("a text"); c.put("allow"); time.Sleep(time.Hour) }, waits: true},
		{name: "a part of the word", typing: func(c *console) { time.Sleep(2 * time.Second); c.put("al"); time.Sleep(time.Hour) }, waits: true},
		{name: "another letter case", typing: func(c *console) { time.Sleep(2 * time.Second); c.put("ALLOW it"); time.Sleep(time.Hour) }, waits: true},
		{name: "an empty line", typing: func(c *console) { time.Sleep(2 * time.Second); c.put(""); time.Sleep(time.Hour) }, waits: true},
		{name: "deny counts at once", typing: func(c *console) { time.Sleep(1100 * time.Millisecond); c.put("deny it is mine") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var got event.Answer
				var failed error
				con := start(t, Options{Project: asking(approvalOf("rm", "-r", "old drafts"), &got, &failed), Expert: "lead", Query: "Tidy up", Terminal: true})
				c.typing(con)
				synctest.Wait()
				out := con.end()
				if got.Allow != c.allow || errors.Is(failed, engine.ErrNoAnswer) != c.waits {
					t.Errorf("%+v, %v:\n%s", got, failed, out)
				}
				if con.flushed == 0 {
					t.Error("what was typed and not entered is not dropped")
				}
				if !strings.Contains(out, "<bell>Approval: Allow this command?") {
					t.Errorf("the approval is not shown:\n%s", out)
				}
			})
		})
	}
}

// TestAnswers gives every answer that a request can have.
func TestAnswers(t *testing.T) {
	once := approvalOf("rm")
	once.Approval.Once = true
	plan := event.Request{Approval: &event.Approval{ApprovalRequested: event.ApprovalRequested{Effect: event.Effect{Kind: event.PlanEffect, Plan: "1. Look"}}}}
	question := event.Request{Question: event.ToolCall{ID: "q", ToolName: "askUser", Args: rawjson.Value(`{"question":"Which week?","options":["20","21"]}`)}}
	for _, c := range []struct {
		name    string
		request event.Request
		lines   []string
		want    event.Answer
		waits   bool
	}{
		{"once", approvalOf("rm"), []string{"allow"}, event.Answer{Allow: true, Scope: event.ScopeOnce}, false},
		{"for the job", approvalOf("rm"), []string{"allow  job"}, event.Answer{Allow: true, Scope: event.ScopeJob}, false},
		{"for the project", approvalOf("rm"), []string{"allow project"}, event.Answer{Allow: true, Scope: event.ScopeProject}, false},
		{"denied", approvalOf("rm"), []string{"no", "deny"}, event.Answer{}, false},
		{"denied with a reason", approvalOf("rm"), []string{"deny use git"}, event.Answer{Reason: "use git"}, false},
		{"later", approvalOf("rm"), []string{"later"}, event.Answer{}, true},
		{"no scope where once counts", once, []string{"allow job", "deny"}, event.Answer{}, false},
		{"plan", plan, []string{"allow project", "allow"}, event.Answer{Allow: true, Scope: event.ScopeOnce}, false},
		{"question", question, []string{"", "  week 20"}, event.Answer{Text: "  week 20"}, false},
		{"a command is no answer", question, []string{"/status", "21"}, event.Answer{Text: "21"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var got event.Answer
				var failed error
				con := start(t, Options{Project: asking(c.request, &got, &failed), Expert: "lead", Query: "Tidy up", Terminal: true})
				time.Sleep(time.Second)
				con.enter(c.lines...)
				time.Sleep(time.Second)
				out := con.end()
				if got != c.want || errors.Is(failed, engine.ErrNoAnswer) != c.waits {
					t.Errorf("%+v, %v, want %+v:\n%s", got, failed, c.want, out)
				}
			})
		})
	}
}

// TestLineBeforeQuestion queues a line that was entered before a question was shown.
func TestLineBeforeQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSession(t.Context(), Options{In: strings.NewReader(""), Out: io.Discard, Terminal: true, Clock: time.Now, Redact: func(text string) string { return text }})
		defer s.close()
		q := &ask{reply: make(chan reply, 1), shown: time.Now()}
		s.asks = []*ask{q}
		if err := s.toAsk(line{text: "go on", at: q.shown.Add(-time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
		if len(q.reply) > 0 || len(s.queue) != 1 {
			t.Errorf("it was taken for the answer; %q waits", s.queue)
		}
	})
}

// TestOfferedWords offers no word that does not count.
func TestOfferedWords(t *testing.T) {
	for _, kind := range []event.EffectKind{event.CommandEffect, event.PathEffect, event.PlanEffect} {
		for _, once := range []bool{false, true} {
			q := &ask{request: event.Request{Approval: &event.Approval{ApprovalRequested: event.ApprovalRequested{Effect: event.Effect{Kind: kind}, Once: once}}}}
			for _, offered := range hints(q.request.Approval) {
				word := strings.Split(offered, `"`)[1]
				if r, ok := new(session).verdict(q, word); !ok || !r.answer.Allow {
					t.Errorf("%v, once %t: %q is offered, and does not count", kind, once, word)
				}
			}
		}
	}
}

// TestQuestions shows a question, an approval and a confirmation, one after the other.
func TestQuestions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		var yes bool
		p.run = func(ctx context.Context, _ tui.Task, ask tui.Asker, tell func(event.Body)) error {
			yes, _ = ask.Confirm(ctx, "This project asks for:\n  the network of the host\nAllow it?")
			ask.Tell("the job keeps its sandbox settings")
			second := make(chan error)
			go func() {
				time.Sleep(time.Millisecond) // so that the other one is first
				_, err := ask.Ask(ctx, approvalOf("rm", "-r", "old drafts"))
				second <- err
			}()
			a, err := ask.Ask(ctx, event.Request{Question: event.ToolCall{ID: "q", ToolName: "askUser", Args: rawjson.Value(`{"question":"Which week?"}`)}})
			if err != nil {
				return err
			}
			if err := <-second; err != nil {
				return err
			}
			tell(complete("So it is " + a.Text))
			return nil
		}
		c := start(t, Options{Project: p, Expert: "lead", Query: "Plan", Terminal: true, Width: 80})
		c.enter("yes", "20", "allow")
		time.Sleep(time.Second)
		out := c.end()
		if !yes {
			t.Error("the yes did not count")
		}
		testkit.Golden(t, "questions.golden", out)
	})
}

// TestNothingAfterApproval holds back what other Runs say until the user has decided: an Expert can have
// the name of a label.
func TestNothingAfterApproval(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		p.run = func(ctx context.Context, _ tui.Task, ask tui.Asker, tell func(event.Body)) error {
			answered := make(chan event.Answer)
			go func() {
				a, _ := ask.Ask(ctx, approvalOf("rm", "-r", "old drafts"))
				answered <- a
			}()
			time.Sleep(time.Second)
			for range 200 { // more than are kept
				tell(event.CallTools{NewMessage: message(event.ExpertMessage, text("Allow this command? ls"))})
			}
			<-answered
			tell(complete("Done."))
			return nil
		}
		c := start(t, Options{Project: p, Expert: "approval", Query: "Tidy up", Terminal: true})
		time.Sleep(time.Minute)
		if out := c.String(); !strings.Contains(out, "old drafts") || strings.Contains(out, "? ls") {
			t.Errorf("before the answer:\n%s", out)
		}
		c.enter("allow")
		time.Sleep(time.Second)
		if out := c.end(); strings.Count(out, "approval: Allow this command? ls") != 200 || !strings.Contains(out, "Done: completed") {
			t.Errorf("%s", out)
		}
	})
}

// TestClosedQuestion leaves a question whose answer came from elsewhere.
func TestClosedQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		p.run = func(ctx context.Context, _ tui.Task, ask tui.Asker, tell func(event.Body)) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_, err := ask.Ask(ctx, approvalOf("rm"))
			tell(complete("Without you: " + err.Error()))
			return nil
		}
		c := start(t, Options{Project: p, Expert: "lead", Query: "Plan", Terminal: true})
		time.Sleep(2 * time.Minute)
		if out := c.end(); !strings.Contains(out, "Note: the question is closed\nlead: Without you: context deadline exceeded\n") {
			t.Error(out)
		}
	})
}

// TestLongLine refuses a line that is too long, and takes the next one.
func TestLongLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := trip()
		c := start(t, Options{Project: p, Expert: "lead"})
		if _, err := io.WriteString(c.in, strings.Repeat("x", maxLine)+"\nshort\n"); err != nil {
			t.Fatal(err)
		}
		out := c.end()
		if !strings.Contains(out, "Error: the line has 1 MiB, and 1 MiB is the most") || !strings.Contains(out, "You: short\n") || strings.Contains(out, "xxx") {
			t.Error(out)
		}
	})
}
