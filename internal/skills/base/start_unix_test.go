//go:build unix

package base_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/skill"
)

// program puts an executable file into the workspace.
func (b *bench) program(name, text string) {
	b.t.Helper()
	b.put(name, text)
	if err := os.Chmod(filepath.Join(b.dir, name), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// What is told of a command that does not start is true, and says what to do instead.
func TestExecSaysWhyNot(t *testing.T) {
	b := newBench(t)
	b.program("bin/lost", "#!/no/such/interpreter\n")
	b.program("bin/bare", "echo hello\n")
	b.put("bin/plain", "#!/bin/sh\n")
	const absent, interpreter, args, shell = "does not exist: it is not in PATH", "its interpreter", `arguments go into "args"`, `"sh" with ["-c", "…"]`
	for _, tt := range []struct {
		command, cwd, code string
		has, lacks         []string
	}{
		{"bin/lost", ".", "command_not_found", []string{"the file exists", interpreter}, []string{absent}},
		{"./lost", "bin", "command_not_found", []string{interpreter}, []string{absent}},
		{filepath.Join(b.dir, "bin/lost"), ".", "command_not_found", []string{interpreter}, []string{absent}},
		{"./lost", ".", "command_not_found", []string{absent}, []string{interpreter, args}},
		{"lost", "bin", "command_not_found", []string{absent}, []string{interpreter, args}},
		{"../outside/none", ".", "command_not_found", []string{absent}, []string{interpreter}},
		{"bin/bare", ".", "start_failed", []string{`"bin/bare" could not be started: it has no #! line`, "with its interpreter"}, []string{"start \"bin", "exec format", args}},
		{"bin/plain", ".", "command_not_executable", nil, nil},
		{"ls -la", ".", "command_not_found", []string{absent, args, shell}, nil},
		{"cat bin/plain", ".", "command_not_found", []string{absent, args, shell}, nil},
		{"echo a | wc", ".", "command_not_found", []string{args, shell}, nil},
		{"cd", ".", "command_not_found", []string{`"cwd" says where`}, []string{args}},
		{"export", ".", "command_not_found", []string{shell}, []string{args}},
	} {
		got := b.mustFail("exec", object{"command": tt.command, "cwd": tt.cwd}, tt.code)
		text, _ := got["error"].(string)
		for _, part := range tt.has {
			if !strings.Contains(text, part) {
				t.Errorf("%q in %q: %s; it lacks %q", tt.command, tt.cwd, text, part)
			}
		}
		for _, part := range tt.lacks {
			if strings.Contains(text, part) {
				t.Errorf("%q in %q: %s; it has %q", tt.command, tt.cwd, text, part)
			}
		}
	}
}

// Standard error begins on a line of its own.
func TestExecJoinsStreams(t *testing.T) {
	b := newBench(t)
	for script, want := range map[string]string{
		"printf out; printf err >&2": "out\nerr",
		"echo out; echo err >&2":     "out\nerr\n",
		"printf out":                 "out",
		"printf err >&2":             "err",
	} {
		if got := b.mustDo("exec", object{"command": "sh", "args": []string{"-c", script}}); got["output"] != want {
			t.Errorf("%s: %q, want %q", script, got["output"], want)
		}
	}
}

// A model that was stopped by a limit is told so, or it would do the same again.
func TestExecSaysWhyStopped(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		cause error
		want  string
	}{
		{errors.New("the limit on workspace is reached: 20 used, 10 allowed"), "command was stopped: the limit on workspace is reached: 20 used, 10 allowed"},
		{nil, "command was stopped because the run was interrupted"},
		{context.Canceled, "command was stopped because the run was interrupted"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		ctx = skill.WithProgress(ctx, func(_, note string) {
			if note == "ready" {
				cancel(tt.cause)
			}
		})
		text, r := callWith(ctx, t, b.Skill, "exec", `{"command":"sh","args":["-c","echo ready; exec sleep 3600"]}`)
		if got := fields(t, text); !r.IsError || got["code"] != "interrupted" || got["error"] != tt.want {
			t.Errorf("%v: %s", tt.cause, text)
		}
	}
}
