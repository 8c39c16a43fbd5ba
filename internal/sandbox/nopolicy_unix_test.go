//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Without a policy, or with one of level off that the table does not have, no program starts: it is
// refused here, and by the supervisor process, which starts it.
func TestNoPolicyNoProgram(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	s := supervisor(t)
	for want, p := range map[string]*policy.Policy{
		`"sh" has no sandbox policy`:     nil,
		`"" is not in the table`:         {Level: expert.SandboxOff},
		`"invented" is not in the table`: {Level: expert.SandboxOff, Exempt: "invented"},
	} {
		c := shell(t, "echo >"+mark)
		c.Policy = p
		if _, err := s.Run(t.Context(), c); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("a command with %+v: %v", p, err)
		}
		if _, err := s.Start(t.Context(), Server(c)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("a server with %+v: %v", p, err)
		}
	}
	if len(s.links) > 0 {
		t.Errorf("%d supervisor processes were started", len(s.links))
	}

	c := shell(t, "echo >"+mark)
	l, err := s.connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, text := range []string{"", `{"level":"off"}`, `{"level":"off","exempt":"invented"}`} {
		child, err := l.start(program{
			path: "/bin/sh", argv: append([]string{"sh"}, c.Args...), env: []string{"PATH=/usr/bin:/bin"}, dir: c.Dir,
			policy: text, stdin: null, stdout: null, stderr: null,
		})
		if err == nil || !strings.Contains(err.Error(), "sandbox policy") {
			t.Errorf("the supervisor process started a program with the policy %q: %+v, %v", text, child, err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program without a policy ran")
	}
	if o, err := s.Run(t.Context(), c); err != nil || o.ExitCode != 0 {
		t.Errorf("with a policy: %+v, %v", o, err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("with a policy, it did not run: %v", err)
	}
}
