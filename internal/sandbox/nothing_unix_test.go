//go:build unix

package sandbox

import "testing"

// E1, E4: the process of a Supervisor is started with an empty environment. That cannot
// be read without rights, so a variable is set with which no Go program starts: if the
// process got ours, there would be no Supervisor.
func TestSupervisorHasNoEnvironment(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "no number of bytes")
	t.Run("the variable does what it should", func(t *testing.T) {
		c := self(t, "env")
		c.Environ, c.Env = nil, map[string]string{"GOMEMLIMIT": "no number of bytes"}
		if o := run(t, c); o.ExitCode != 2 {
			t.Errorf("a program came up with it: %+v", o)
		}
	})
	if o := run(t, shell(t, "echo up")); o.Stdout.String() != "up\n" {
		t.Errorf("outcome %+v", o)
	}
}
