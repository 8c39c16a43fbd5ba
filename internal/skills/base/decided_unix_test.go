//go:build unix

package base_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
)

// What the runtime decided, no call changes; and the caller is told.
func TestExecCannotChangeWhatWasDecided(t *testing.T) {
	dir := t.TempDir()
	files, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	s := base.New(base.Options{
		Workspace: files, Commands: commands, Sandbox: policy.Off(policy.JobOff),
		Environ: []string{"PATH=/usr/bin:/bin", "HTTPS_PROXY=http://corporate:3128"},
		Set:     map[string]string{"HTTPS_PROXY": "http://perstack:token@10.0.0.2:4001", "TOKEN_OF_USER": "handed"},
	})
	_, result := callWith(t.Context(), t, s, "exec", object{
		"command": "sh", "args": []string{"-c", `echo "[$HTTPS_PROXY] [$TOKEN_OF_USER] [$OTHER]"`},
		"env": object{"HTTPS_PROXY": "http://elsewhere:1", "TOKEN_OF_USER": "mine", "OTHER": "added", "LD_PRELOAD": "x"},
	})
	got := fmt.Sprint(result.Result)
	if !strings.Contains(got, "[http://perstack:token@10.0.0.2:4001] [handed] [added]") {
		t.Errorf("the command saw %s", got)
	}
	for _, name := range []string{"HTTPS_PROXY", "TOKEN_OF_USER", "LD_PRELOAD"} {
		if _, told, _ := strings.Cut(got, "droppedEnv"); !strings.Contains(told, name) {
			t.Errorf("the caller is not told of %s: %s", name, got)
		}
	}
	if _, told, _ := strings.Cut(got, "droppedEnv"); slices.Contains(strings.Split(told, `"`), "OTHER") {
		t.Errorf("OTHER was passed on and is reported as dropped: %s", got)
	}
}
