package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
)

// Rules of all files add up. Of a recorded job, only what is strict stays.
func TestResolveApprovals(t *testing.T) {
	deny, ask, allow := Rule{Tool: "exec", Do: Deny}, Rule{Tool: "editFile", Do: Ask}, Rule{Skill: "web", Do: Allow}
	project := Rules{Origin: FromProject, Preset: PresetAsk, Rules: []Rule{ask}}
	user, system := Rules{Origin: FromUser, Rules: []Rule{allow}}, Rules{Origin: FromSystem, Rules: []Rule{deny}}
	week := DefaultApprovalTimeout
	for name, c := range map[string]struct {
		flags                Approvals
		user, file, recorded Approvals
		want                 Approvals
	}{
		"nothing is said": {want: Approvals{Timeout: week}},
		"all files, in order": {
			user: Approvals{Sources: []Rules{user, system}, TrustHints: []string{"web"}}, file: Approvals{Sources: []Rules{project}},
			want: Approvals{Sources: []Rules{project, user, system}, TrustHints: []string{"web"}, Timeout: week},
		},
		"a resumed job keeps what is strict": {
			user:     Approvals{Sources: []Rules{system}},
			recorded: Approvals{Sources: []Rules{project, user, system, {Origin: FromProject, Preset: PresetAuto}}, Timeout: week},
			want:     Approvals{Sources: []Rules{system, {Origin: FromJob, Preset: PresetAsk, Rules: []Rule{ask}}}, Timeout: week},
		},
		"and keeps it once": {
			file:     Approvals{Sources: []Rules{project}},
			recorded: Approvals{Sources: []Rules{project, {Origin: FromJob, Preset: PresetAsk, Rules: []Rule{ask, deny}}, {Origin: FromJob, Rules: []Rule{deny}}}},
			want:     Approvals{Sources: []Rules{project, {Origin: FromJob, Rules: []Rule{deny}}}, Timeout: week},
		},
		"flags are not recorded rights": {
			flags: Approvals{Plan: true}, recorded: Approvals{AllowAll: true, SandboxOff: true, TrustHints: []string{"web"}},
			want: Approvals{Plan: true, Timeout: week},
		},
		"everything is allowed by a flag": {flags: Approvals{AllowAll: true}, want: Approvals{AllowAll: true, Timeout: week}},
		"a job that was to plan may work": {recorded: Approvals{Plan: true}, want: Approvals{Timeout: week}},
		"a file only shortens the wait":   {user: Approvals{Timeout: time.Hour}, file: Approvals{Timeout: 2 * time.Hour}, want: Approvals{Timeout: time.Hour}},
		"the user can wait longer":        {user: Approvals{Timeout: 2 * week}, want: Approvals{Timeout: 2 * week}},
		"a file cannot":                   {file: Approvals{Timeout: 2 * week}, want: Approvals{Timeout: week}},
		"nor a record":                    {recorded: Approvals{Timeout: 2 * week}, want: Approvals{Timeout: week}},
		"which can shorten it":            {recorded: Approvals{Timeout: time.Minute}, want: Approvals{Timeout: time.Minute}},
	} {
		r := Resolve(Flags{Settings: Settings{Approvals: c.flags}, User: Settings{Approvals: c.user}}, Settings{Approvals: c.file}, Settings{Approvals: c.recorded}, providers{})
		if diff := cmp.Diff(c.want, r.Approvals); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Only the user turns the sandbox off: neither the project nor a machine that has none.
func TestSandboxOff(t *testing.T) {
	off := Settings{Isolation: Isolation{Sandbox: expert.SandboxOff}}
	for name, c := range map[string]struct {
		flags Flags
		file  Settings
		want  bool
	}{
		"flag":             {Flags{Settings: off}, Settings{}, true},
		"user":             {Flags{User: off}, Settings{}, true},
		"user and project": {Flags{User: off}, off, true},
		"project":          {Flags{}, off, false},
		"nobody":           {Flags{}, Settings{}, false},
		"another level":    {Flags{Settings: Settings{Isolation: Isolation{Sandbox: expert.SandboxFull}}}, off, false},
	} {
		r := Resolve(c.flags, c.file, Settings{}, providers{})
		if r.Approvals.SandboxOff != c.want {
			t.Errorf("%s: %t", name, r.Approvals.SandboxOff)
		}
		// The Spec of a command is completed again by the library.
		s := Spec{Settings: r.Settings}
		s.Isolation.Sandbox = expert.SandboxOff
		s.Complete(providers{})
		if s.Approvals.SandboxOff != c.want {
			t.Errorf("%s, completed: %t", name, s.Approvals.SandboxOff)
		}
	}
	byHand := Spec{Settings: off}
	if byHand.Complete(providers{}); !byHand.Approvals.SandboxOff {
		t.Error("a program that embeds perstack turned the sandbox off")
	}
}

// A Spec without Relax allows no more than the recorded job.
func TestResumeAllowAll(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		s := Spec{Settings: Settings{Approvals: Approvals{AllowAll: true}}}
		if err := s.Resume(Spec{Settings: Settings{Approvals: Approvals{AllowAll: recorded}}}, providers{}); err != nil || s.Approvals.AllowAll != recorded {
			t.Errorf("%t: %t, %v", recorded, s.Approvals.AllowAll, err)
		}
	}
}

func TestCheckApprovals(t *testing.T) {
	for want, a := range map[string]Approvals{
		`job: Spec.Approvals has the preset "all"; choose from ["auto" "ask" "never" "read-only"]`:  {Sources: []Rules{{Preset: "all"}}},
		`job: Spec.Approvals: rule 1 of the user does "forbid"; choose from ["allow" "ask" "deny"]`: {Sources: []Rules{{Origin: FromUser, Rules: []Rule{{Do: "forbid"}}}}},
		`job: Spec.Approvals.Timeout is negative; use 0 for the default`:                            {Timeout: -1},
	} {
		if err := a.check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
