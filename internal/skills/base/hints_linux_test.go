package base_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/base"
)

// A command that its sandbox kept from something is explained, to the model and to the Run. The
// model does not hear whether the path exists. Other failures are not explained.
func TestExecHints(t *testing.T) {
	var told []event.SandboxHint
	var running []string
	b, own := locked(t, mayWrite, func(o *base.Options) {
		o.Report = func(h event.SandboxHint) { told = append(told, h) }
		o.Redact = func(text string) string { return strings.ReplaceAll(text, "s3cret", "[redacted]") }
		o.Track = func(program string) func() []string {
			running = append(running, program)
			return func() []string {
				running = slices.DeleteFunc(running, func(p string) bool { return p == program })
				if program == "sh" {
					return []string{"a.example"}
				}
				return nil
			}
		}
	})
	const refused = "a.example cannot be reached from the sandbox: it is not one of the hosts that commands are allowed to reach"
	for _, c := range []struct {
		args  object
		hints []any
		told  string
	}{
		{object{"command": "ls", "args": []string{"/root"}}, []any{"/root is outside the sandbox"}, "outside /root ls"},
		{object{"command": "cat", "args": []string{"/srv/s3cret/none"}}, nil, ""}, // half of its name would mislead
		{object{"command": "cat", "args": []string{"/root/x"}, "stderr": false}, []any{"/root/x is outside the sandbox"}, "outside /root/x cat"},
		{object{"command": "cat", "args": []string{"absent.txt"}}, nil, ""},
		{object{"command": "cat", "args": []string{own + "/absent"}}, nil, ""},
		{object{"command": "false"}, nil, ""},
		{object{"command": "sh", "args": []string{"-c", "echo 'curl: (56) CONNECT tunnel failed, response 403' >&2; exit 56"}}, []any{refused}, ""},
		{object{"command": "sh", "args": []string{"-c", "echo 'Could not resolve host: a.example' >&2; exit 1"}}, []any{refused}, ""},
		{object{"command": "bash", "args": []string{"-c", "echo 'curl: (56) CONNECT tunnel failed, response 403' >&2; exit 56"}}, []any{"the host cannot be reached from the sandbox: its proxy allows only the hosts that are listed for the program"}, ""},
	} {
		told = nil
		got := b.mustFail("exec", c.args, "exit_code")
		if hints, _ := got["hints"].([]any); !slices.Equal(hints, c.hints) {
			t.Errorf("%v: hints %v, want %v", c.args, hints, c.hints)
		}
		var seen []string
		for _, h := range told {
			seen = append(seen, h.Kind+" "+h.Path+" "+h.Command)
			if h.SkillName != event.BaseSkill || h.Message != h.Path+" is outside the sandbox" {
				t.Errorf("%+v", h)
			}
		}
		if got := strings.Join(seen, ", "); got != c.told {
			t.Errorf("%v: told %q, want %q", c.args, got, c.told)
		}
	}
	told = nil
	if got := b.mustDo("exec", object{"command": "sh", "args": []string{"-c", "ls /root; true"}}); got["hints"] != nil || told != nil {
		t.Errorf("a success is explained: %v, %v", got, told)
	}
	if len(running) > 0 {
		t.Errorf("commands that have no end: %q", running)
	}
}

// A program outside the sandbox is not started, and the answer is the same whether it exists.
func TestExecOutside(t *testing.T) {
	var told []event.SandboxHint
	b, _ := locked(t, mayWrite, func(o *base.Options) { o.Report = func(h event.SandboxHint) { told = append(told, h) } })
	exists := b.dir + "-program"
	if err := os.WriteFile(exists, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(exists) })
	for _, program := range []string{exists, "/srv/none/program"} {
		got := b.mustFail("exec", object{"command": program}, "command_not_found")
		if want := fmt.Sprintf("command %q cannot be run: %s is outside the sandbox", program, program); got["error"] != want {
			t.Errorf("got %v, want %s", got["error"], want)
		}
	}
	if len(told) != 2 || told[0].Path != exists || told[0].Kind != "outside" {
		t.Errorf("told %+v", told)
	}
	b.mustFail("exec", object{"command": "./absent"}, "command_not_found")
	b.mustFail("exec", object{"command": "absent-program"}, "command_not_found")
	if len(told) != 2 {
		t.Errorf("told %+v", told)
	}
}

// Paths outside the sandbox are asked about when a command has failed. What was opened is no hint for
// the Run, and after a denial the command's other paths are not asked about.
func TestExecAsksOutside(t *testing.T) {
	var asked, told []string
	b, _ := locked(t, mayWrite, func(o *base.Options) {
		o.Report = func(h event.SandboxHint) { told = append(told, h.Path) }
		o.Outside = func(_ context.Context, path string, argv []string) (string, bool) {
			asked = append(asked, path+" "+strings.Join(argv, " "))
			switch {
			case strings.Contains(path, "yes"):
				return "it can be read now", true
			case strings.Contains(path, "no"):
				return "denied by the user", false
			}
			return "", false
		}
	})
	failing := func(paths ...string) object {
		script := "for f in " + strings.Join(paths, " ") + "; do echo cat: $f: No such file or directory >&2; done; exit 1"
		return object{"command": "sh", "args": []string{"-c", script}}
	}
	for _, c := range []struct {
		paths       []string
		asked, told string
		hints       []any
	}{
		{[]string{"/srv/yes"}, "/srv/yes", "", []any{"it can be read now"}},
		{[]string{"/srv/yes/1", "/srv/yes/2"}, "/srv/yes/1 /srv/yes/2", "", []any{"it can be read now"}},
		{[]string{"/srv/no/1", "/srv/yes", "/srv/no/2"}, "/srv/no/1", "/srv/no/1 /srv/yes /srv/no/2", []any{"/srv/no/1 is outside the sandbox. denied by the user", "/srv/yes is outside the sandbox", "/srv/no/2 is outside the sandbox"}},
		{[]string{"/srv/else", "/srv/yes"}, "/srv/else /srv/yes", "/srv/else", []any{"/srv/else is outside the sandbox", "it can be read now"}},
	} {
		asked, told = nil, nil
		args := failing(c.paths...)
		got := b.mustFail("exec", args, "exit_code")
		if hints, _ := got["hints"].([]any); !slices.Equal(hints, c.hints) {
			t.Errorf("%v: hints %v, want %v", c.paths, hints, c.hints)
		}
		for i, one := range asked {
			path, argv, _ := strings.Cut(one, " ")
			if asked[i] = path; !strings.HasPrefix(argv, "sh -c for f in") {
				t.Errorf("the command is %s", argv)
			}
		}
		if strings.Join(asked, " ") != c.asked || strings.Join(told, " ") != c.told {
			t.Errorf("%v: asked %q, told %q", c.paths, asked, told)
		}
	}
	asked, told = nil, nil
	if got := b.mustFail("exec", object{"command": "/srv/yes/program", "args": []string{"x"}}, "command_not_found"); got["error"] != `command "/srv/yes/program" cannot be run: it can be read now` || len(told) > 0 {
		t.Errorf("got %v, told %q", got["error"], told)
	}
	if !slices.Equal(asked, []string{"/srv/yes/program /srv/yes/program x"}) {
		t.Errorf("asked %q", asked)
	}
}
