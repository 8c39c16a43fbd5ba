//go:build unix

package test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/history"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/store/file"
)

// A thousand Experts that are asked in one turn wait for each other: never more than
// maxParallel of them ask their model at once, and all answers are there in the end, in
// the order of the calls. Without more steps than usual the job stops at its limit, saved,
// and continues when it is given more; no request is made twice.
func TestManyDelegates(t *testing.T) {
	const many = 1000
	var text strings.Builder
	text.WriteString("[[turn]]\nsystem = \"Lead.\"\n")
	for i := range many {
		fmt.Fprintf(&text, "[[turn.call]]\ntool = \"worker\"\nid = \"call%d\"\nargs = { query = \"Part %d.\" }\n", i, i)
	}
	text.WriteString("[[turn]]\nsystem = \"Lead.\"\ntext = \"All done.\"\n[[turn]]\nsystem = \"Work.\"\ndelay = \"2ms\"\ntext = \"Worked.\"\n")
	script, err := llm.Parse("many", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	model := llm.New(script)
	var now, most atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "perstack.toml"), `[experts.lead]
instruction = "Lead."
delegates = ["worker"]
[experts.worker]
description = "Works on one part."
instruction = "Work."
`)
	perstack := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command(watched, args...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "HOME="+dir, "ANTHROPIC_API_KEY="+llm.Key, "ANTHROPIC_BASE_URL="+front.URL+"/v1")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if code := exitCode(t, cmd.Run()); code != want {
			t.Fatalf("%v: exit code %d: %.2000s", args, code, out.String())
		}
		return out.String()
	}
	begin := time.Now()
	perstack(3, "run", "lead", "go", "--job-id", "job", "--output", "text")
	if got := model.Count(); got != 100 {
		t.Errorf("with 100 steps, the model was asked %d times", got)
	}
	if out := perstack(0, "run", "--continue-job", "job", "--max-steps", "5000", "--output", "text"); !strings.Contains(out, "All done.") {
		t.Errorf("it ended with %.2000s", out)
	}
	t.Logf("%d at most at once, %v", most.Load(), time.Since(begin))
	if got := model.Count(); got != many+2 {
		t.Errorf("the model was asked %d times, want %d", got, many+2)
	}
	if got := most.Load(); got > 16 || got < 2 {
		t.Errorf("%d Runs were at work at once, want 16 at most", got)
	}
	perstack(0, "log", "job", "--verify")
	runs, ended := map[string]bool{}, 0
	for r, err := range file.New(history.Of(t, dir), nil).Read(t.Context(), "job", 0) {
		if err != nil {
			t.Fatal(err)
		}
		runs[r.Event.RunID] = true
		if r.Event.Type() == "completeRun" {
			ended++
		}
	}
	if len(runs) != many+1 || ended != many+1 {
		t.Errorf("%d Runs, of which %d completed; want %d", len(runs), ended, many+1)
	}
	requests := model.Requests()
	last, at := string(requests[len(requests)-1].Raw), 0
	for i := range many {
		result := fmt.Sprintf("\"tool_use_id\":\"call%d\"", i)
		next := strings.Index(last[at:], result)
		if next < 0 {
			t.Fatalf("the result of call %d is missing, or out of order", i)
		}
		at += next
	}
}
