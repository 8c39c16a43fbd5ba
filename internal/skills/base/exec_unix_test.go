//go:build unix

package base_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/skill"
)

// Too many arguments are refused in the words of the system, and end nothing.
func TestExecTooLong(t *testing.T) {
	b := newBench(t)
	got := b.mustFail("exec", object{"command": "true", "args": []string{strings.Repeat("x", 9<<20)}}, "start_failed")
	if text, _ := got["error"].(string); !strings.Contains(text, "argument list too long") {
		t.Errorf("error %q", text)
	}
	if got := b.mustDo("exec", object{"command": "echo", "args": []string{"fine"}}); got["output"] != "fine\n" {
		t.Error(got)
	}
}

// A command that kills its supervisor is answered with the truth: the outcome is unknown. The
// next one runs.
func TestExecKillsSupervisor(t *testing.T) {
	b := newBench(t)
	got := b.mustFail("exec", object{"command": "sh", "args": []string{"-c", "kill -9 $PPID; echo still here"}}, "io")
	if text, _ := got["error"].(string); !strings.Contains(text, "unknown") || got["exitCode"] != nil {
		t.Error(got)
	}
	if got := b.mustDo("exec", object{"command": "echo", "args": []string{"fine"}}); got["output"] != "fine\n" {
		t.Error(got)
	}
}

// X2: input is closed, so a program that reads sees the end at once, also from a
// terminal that it does not have.
func TestExecInputIsClosed(t *testing.T) {
	b := newBench(t)
	got := b.mustDo("exec", object{"command": "sh", "args": []string{"-c", "read line; echo \"$? [$line]\""}, "timeout": 0})
	if got["output"] != "1 []\n" {
		t.Error(got)
	}
}

// Lines of the two streams are not joined: half of a secret of one would be
// in the middle of a line of the other, where it is not recognised.
func TestExecProgressOfBothStreams(t *testing.T) {
	b := newBench(t)
	seen := make(chan string, 10)
	ctx := skill.WithProgress(t.Context(), func(_, note string) { seen <- note })
	script := "printf 'one '; sleep 0.1; echo two >&2; sleep 0.1; echo three"
	callWith(ctx, t, b.Skill, "exec", object{"command": "sh", "args": []string{"-c", script}})
	close(seen)
	var notes []string
	for note := range seen {
		notes = append(notes, note)
	}
	if want := []string{"two", "one three"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}
