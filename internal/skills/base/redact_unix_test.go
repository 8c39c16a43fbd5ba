//go:build unix

package base_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
)

// Where a result is cut, the text before the cut is redacted by itself, with its end in
// sight: half a secret is not left in the middle of the result.
func TestCutTextIsRedacted(t *testing.T) {
	const secret = "half-of-this-is-too-much"
	b := newBench(t)
	var seen []string
	ws, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	b.Skill = base.New(base.Options{Workspace: ws, Commands: commands, Sandbox: policy.Off(policy.JobOff), Environ: os.Environ(), Redact: func(text string) string {
		seen = append(seen, text)
		return strings.ReplaceAll(text, secret[:12], "[redacted]")
	}})
	const limit = 256 << 10
	half := len(secret) / 2
	b.put("big.txt", strings.Repeat("x", limit-half)+secret+"\n")
	b.put("long.sh", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' y; printf %s; head -c %d /dev/zero | tr '\\0' z; printf %s >&2\n",
		sandbox.DefaultMaxOutput/2-half, secret, sandbox.DefaultMaxOutput, secret))

	text, _ := b.call("readTextFile", map[string]any{"path": "big.txt"})
	if strings.Contains(text, secret[:half]) || !strings.Contains(text, `x[redacted]"`) {
		t.Errorf("readTextFile: …%s", text[len(text)-100:])
	}
	text, _ = b.call("exec", map[string]any{"command": "sh", "args": []string{"long.sh"}})
	if strings.Contains(text, secret[:half]) || !strings.Contains(text, `y[redacted]\n[... `) {
		t.Errorf("exec: half of the secret is left, or not at the cut")
	}
	if !strings.HasSuffix(seen[1], secret[:half]) {
		t.Errorf("what was redacted does not end at the cut: …%q", seen[1][len(seen[1])-20:])
	}
}

// An edit finds nothing in a line with a secret, whatever part of it is guessed, and the answers
// do not differ.
func TestEditFindsNoSecrets(t *testing.T) {
	const secret = "hunter2-and-a-half"
	for _, lineEnd := range []string{"\n", "\r\n"} {
		b := newBench(t)
		ws, err := workspace.Open(b.dir, workspace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ws.Close() })
		b.Skill = base.New(base.Options{Workspace: ws, Redact: func(text string) string {
			return strings.ReplaceAll(text, secret, "[redacted]")
		}})
		text := strings.ReplaceAll("# hunter2\nkey = "+secret+" # mine\nend\n", "\n", lineEnd)
		b.put("conf", text)
		wrong := b.mustFail("editTextFile", object{"path": "conf", "oldText": "key = x", "newText": "y"}, "no_match")
		for _, guess := range []string{"key = h", "key = ", "hunter2-", "and", "f # mine", secret, "mine\nend", "\x00", "key = [redacted]"} {
			got := b.mustFail("editTextFile", object{"path": "conf", "oldText": guess, "newText": guess}, "no_match")
			if diff := cmp.Diff(wrong, got); diff != "" {
				t.Errorf("%q: %s", guess, diff)
			}
		}
		b.holds("conf", text)
		b.mustDo("editTextFile", object{"path": "conf", "oldText": "hunter2", "newText": "HUNTER"})
		b.mustDo("editTextFile", object{"path": "conf", "oldText": "\nend", "newText": "\nEND"})
		b.holds("conf", strings.ReplaceAll("# HUNTER\nkey = "+secret+" # mine\nEND\n", "\n", lineEnd))
	}
}
