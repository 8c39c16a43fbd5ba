package log

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/store/memory"
)

// A screen is what a command prints, readable while it prints.
type screen struct {
	mu    sync.Mutex
	text  bytes.Buffer
	waits map[string]chan struct{}
}

func (s *screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.text.Write(data)
	for text, seen := range s.waits {
		if strings.Contains(s.text.String(), text) {
			close(seen)
			delete(s.waits, text)
		}
	}
	return n, err
}

// await waits until the text is on the screen.
func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	s.mu.Lock()
	seen := make(chan struct{})
	if strings.Contains(s.text.String(), text) {
		close(seen)
	} else {
		if s.waits == nil {
			s.waits = make(map[string]chan struct{})
		}
		s.waits[text] = seen
	}
	s.mu.Unlock()
	select {
	case <-seen:
	case <-t.Context().Done():
		t.Fatal("the test has ended")
	}
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// follow runs the command beside the test.
func follow(ctx context.Context, t *testing.T, s *memory.Store, args ...string) (out *screen, end func() (stderr string, code int)) {
	t.Helper()
	out = &screen{}
	var errOut bytes.Buffer
	h := &host.Host{Stdout: out, Stderr: &errOut, Dir: t.TempDir(), Home: t.TempDir(), Command: "perstack", Source: engine.FixedSource(noon)}
	cmd := New(h, func(ctx context.Context, opts *Options) error {
		opts.Store = s
		return run(ctx, opts)
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"livejob", "--follow"}, args...))
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	return out, func() (string, int) {
		err := <-done
		return errOut.String() + host.Describe(err), host.ExitCode(err)
	}
}

// --follow shows a job while it is written, to its end, and ends as perstack run does.
func TestFollow(t *testing.T) {
	read := tool("c1", event.BaseSkill, "readTextFile")
	for name, tt := range map[string]struct {
		end  event.Body
		code int
		said string
	}{
		"completed":  {event.CompleteRun{NewMessage: say(event.ExpertMessage, "All is done.")}, 0, ""},
		"error":      {event.StopRunByError{Error: event.Failure{Name: "E", Message: "the key was refused"}}, 1, ""},
		"steps":      {event.StopRunByExceededMaxSteps{}, 3, ""},
		"limit":      {event.StopRunByLimit{Limit: "tokens"}, 3, ""},
		"interrupt":  {event.StopRunByInterrupt{Reason: process.Signal{Signal: os.Interrupt}.Error()}, 130, ""},
		"no signal":  {event.StopRunByInterrupt{Reason: "the output was closed"}, 1, ""},
		"question":   {event.StopRunByInteractiveTool{}, 4, ""},
		"approval":   {event.StopRunByApproval{}, 4, ""},
		"was killed": {nil, 1, "the process of job livejob ended without saving its state; resume the job with: perstack run --continue-job livejob"},
	} {
		for _, form := range []string{"", "--events", "--json", "--records"} {
			t.Run(name+form, func(t *testing.T) {
				s := memory.New()
				st := begin(t, s, "livejob", "run1", "writer", noon)
				st.start("Write it", "cp1", nil)
				st.tell(event.StartGeneration{}, call(`{"path":"a.txt"}`, read))
				out, end := follow(t.Context(), t, s, strings.Fields(form)...)
				out.await(t, "Write it")
				st.answer(read, "what the file has")
				st.tell(event.ResolveToolResults{})
				out.await(t, "what the file has")
				if tt.end != nil {
					st.tell(event.FinishToolCall{ToolMessage: &event.ToolMessageRef{ID: "m", PartIDs: []string{"p"}}}, event.ContinueToNextStep{NextCheckpointID: "cp2"}, tt.end)
				}
				st.end()
				said, code := end()
				if code != tt.code || said != tt.said {
					t.Errorf("code %d, want %d; stderr %q; stdout:\n%s", code, tt.code, said, out)
				}
				again, _, _ := perstackLog(t, s, append([]string{"livejob"}, strings.Fields(form)...)...)
				if form == "--json" || form == "--records" {
					if diff := cmp.Diff(again, out.String()); diff != "" {
						t.Errorf("afterwards (-log +followed):\n%s", diff)
					}
				} else if form == "" { // the first lines have how the job was when it began
					_, again, _ = strings.Cut(again, "── run")
					if !strings.HasSuffix(out.String(), again) {
						t.Errorf("followed:\n%s\nafterwards:\n%s", out, again)
					}
				}
			})
		}
	}
}

// A user who has seen enough stops following, and not the job.
func TestFollowIsStopped(t *testing.T) {
	s := memory.New()
	st := begin(t, s, "livejob", "run1", "writer", noon)
	st.start("Write it", "cp1", nil)
	ctx, stop := context.WithCancelCause(t.Context())
	out, end := follow(ctx, t, s)
	out.await(t, "Write it")
	stop(process.Signal{Signal: os.Interrupt})
	if said, code := end(); code != host.ExitInterrupt || said != "" {
		t.Errorf("code %d, stderr %q", code, said)
	}
	st.tell(event.StartGeneration{})
	st.end()
}

func TestFollowAlone(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	for args, want := range map[string]string{
		"longjob --follow --offset 2":       "leave out --offset and --summary",
		"longjob --follow --summary":        "leave out --offset and --summary",
		"longjob --follow --tree":           "--follow does not go with --tree",
		"longjob --follow --verify":         "--follow does not go with --verify",
		"longjob --follow --checkpoint cp1": "--follow does not go with --checkpoint",
	} {
		if _, errOut, code := perstackLog(t, s, strings.Fields(args)...); code != host.ExitUsage || !strings.Contains(errOut, want) {
			t.Errorf("log %s: code %d, %q", args, code, errOut)
		}
	}
	// Only the newest rows of what has happened before.
	out, _, code := perstackLog(t, s, "--follow", "--take", "1")
	if code != 1 || strings.Count(out, "\n● ") != 1 || !strings.Contains(out, "the key was refused") {
		t.Errorf("code %d:\n%s", code, out)
	}
}
