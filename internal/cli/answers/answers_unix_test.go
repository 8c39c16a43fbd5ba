//go:build unix

package answers

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store/memory"
)

// Of 16 processes that answer at the same time one wins. The call then runs once, and the approver
// that still waits is released.
func TestAnswersRace(t *testing.T) {
	for _, state := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long", 40))} {
		const dir = "history"
		inbox := &engine.Inbox{}
		pushed, won, refused := 0, 0, 0
		var socket os.FileMode
		approver := askFunc(func(ctx context.Context, req event.Request) (event.Answer, error) {
			stop, err := Listen(state, dir, req.JobID, inbox)
			if err != nil {
				return event.Answer{}, err
			}
			defer stop()
			socketDir, name := place(state, dir, req.JobID)
			if info, err := os.Lstat(filepath.Join(socketDir, name)); err == nil {
				socket = info.Mode()
			}
			var mu sync.Mutex
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					err := Send(ctx, state, dir, req.JobID, engine.RunAnswer{RunID: req.RunID, ApprovalAnswered: event.ApprovalAnswered{
						ToolCallID: req.Approval.Call.ID, Digest: req.Approval.Digest, Allow: true, By: event.ByUser,
					}})
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						won++
					case errors.As(err, new(*engine.AnswerError)):
						refused++
					case ctx.Err() == nil: // the winner releases this approver, which ends the others
						t.Error(err)
					}
				})
			}
			all.Wait()
			<-ctx.Done()
			return event.Answer{}, context.Cause(ctx)
		})
		spec := job.Spec{JobID: "j", Expert: "dev", Experts: []*expert.Expert{{Key: "dev", Name: "dev"}}, Input: job.Input{Query: "go"}}
		parts := engine.Parts{Store: memory.New(), Model: pushes{}, Approver: approver, Approvals: asksAll{}, Inbox: inbox}
		r, err := engine.Execute(t.Context(), spec, parts, func(ctx context.Context, _ engine.SkillRequest) (*skill.Toolbox, error) {
			push := skill.Func("push", "Pushes.", func(context.Context, struct{}) (string, error) {
				pushed++
				return "ok", nil
			})
			return skill.NewToolbox(ctx, []skill.Source{{Skill: push}}, slog.New(slog.DiscardHandler))
		})
		if err != nil || r.Status != event.StatusCompleted || pushed != 1 || won != 1 {
			t.Errorf("%+v, %v; %d answers won, %d were refused, %d calls ran", r, err, won, refused, pushed)
		}
		if socket.Perm() != 0o600 || socket.Type() != os.ModeSocket {
			t.Errorf("the socket has the mode %v", socket)
		}
	}
}

// pushes is a model that calls one tool, and then answers.
type pushes struct{}

func (pushes) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	answer := &model.Answer{Parts: []event.Part{{Type: event.ToolCallPart, ToolCallID: "c1", ToolName: "push"}}, Finish: model.FinishToolCalls}
	if req.Turn > 0 {
		answer = &model.Answer{Parts: []event.Part{{Type: event.TextPart, Text: "done"}}, Finish: model.FinishStop}
	}
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{Answer: answer}, nil) }
}

type asksAll struct{}

func (asksAll) Decide(context.Context, engine.CallRequest) engine.Decision {
	return engine.Decision{Do: job.Ask, Digest: "d"}
}

type askFunc func(context.Context, event.Request) (event.Answer, error)

func (f askFunc) Ask(ctx context.Context, req event.Request) (event.Answer, error) {
	return f(ctx, req)
}

// An answer for a job that does not run reaches no process, and one that is none changes nothing.
func TestNoProcessListens(t *testing.T) {
	state := t.TempDir()
	send := func() error { return Send(t.Context(), state, "s", "j", engine.RunAnswer{}) }
	if err := send(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("%v", err)
	}
	stop, err := Listen(state, "s", "j", &engine.Inbox{})
	if err != nil {
		t.Fatal(err)
	}
	if wrong, ok := errors.AsType[*engine.AnswerError](send()); !ok || !wrong.Stopping {
		t.Errorf("no job: %v", wrong)
	}
	stop()
	if err := send(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("%v", err)
	}
	if _, name := place(state, "s", "j"); name != "" {
		if left, err := os.ReadDir(filepath.Join(state, dirName)); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// A client that connects and says nothing does not keep the job from ending.
func TestSilentClient(t *testing.T) {
	state := t.TempDir()
	stop, err := listen(state, "s", "j", &engine.Inbox{}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	dir, name := place(state, "s", "j")
	conn, err := net.Dial("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Connections are accepted in their order, so the first one is served when this one was.
	if err := Send(t.Context(), state, "s", "j", engine.RunAnswer{}); !errors.As(err, new(*engine.AnswerError)) {
		t.Errorf("%v", err)
	}
	stop() // or the test does not end
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "error") {
		t.Errorf("the client is told %q, %v", line, err)
	}
}
