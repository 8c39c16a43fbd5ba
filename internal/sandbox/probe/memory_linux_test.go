package probe

import (
	"errors"
	"strings"
	"testing"
)

func TestOwnCgroup(t *testing.T) {
	for text, want := range map[string]string{
		"0::/user.slice/a.scope\n":              "/user.slice/a.scope",
		"12:cpu:/x\n1:name=systemd:/y\n0::/z\n": "/z",
		"0::/\n":                                "/",
		"0::/../outside\n":                      "",
		"12:cpu:/x\n":                           "",
		"":                                      "",
	} {
		if got, ok := ownCgroup([]byte(text)); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}

func TestNoCgroup(t *testing.T) {
	if why := noCgroup(t.TempDir()); !strings.Contains(why, "no cgroup v2") {
		t.Errorf("%q", why)
	}
}

// Reports of a probe that ended early leave failed and skipped steps, never passed ones.
func TestIncompleteReports(t *testing.T) {
	var f facts
	steps := complete(read([]byte("{\"name\":\"namespaces\"}\nnoise\n{\"name\":\"other\"}\n"), &f), errors.New("killed"))
	if len(steps) != len(order) || !passed(steps, Namespaces) || passed(steps, IDs) || steps[1].Cause != "killed" {
		t.Errorf("%+v", steps)
	}
	for _, s := range steps[1:] {
		if s.Status == OK {
			t.Errorf("%+v", s)
		}
	}
}
