package log

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/memory"
)

func TestIsolation(t *testing.T) {
	local := func(is job.Isolation) job.Settings { return job.Settings{Runtime: job.Local, Isolation: is} }
	docker := func(is job.Isolation) job.Settings { return job.Settings{Runtime: job.Docker, Isolation: is} }
	for want, settings := range map[string]job.Settings{
		notIsolated: local(job.Isolation{}),
		"a sandbox for each skill (level landlock)": local(job.Isolation{Sandbox: expert.SandboxLandlock}),
		"none for the whole run (--sandbox=off)":    local(job.Isolation{Sandbox: expert.SandboxOff}),
		"a sandbox for each skill (level full), reads /a /b, writes /c, does not read h, does not write p, commands reach a.example, no network": local(job.Isolation{Sandbox: expert.SandboxFull,
			Reach: job.Reach{Read: []string{"/a", "/b"}, Write: []string{"/c"}, Hide: []string{"h"}, Protect: []string{"p"}, Domains: []string{"a.example"}, Network: job.NetworkNone}}),
		"docker, a sandbox for each skill":                             docker(job.Isolation{Container: job.Container{Proxy: job.ProxyBuiltin}}),
		"docker, one shared sandbox for all skills (--shared-sandbox)": docker(job.Isolation{SharedSandbox: true}),
		"docker, a sandbox for each skill, out by squid, workspace read-only, on the image tools:1, commands get A B": docker(job.Isolation{
			Container: job.Container{Proxy: job.ProxySquid, ReadOnlyWorkspace: true, BaseImage: "tools:1"}, Env: []string{"A", "B"}}),
	} {
		if got := isolation(job.Spec{Settings: settings}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The head of a run names its isolation, even if it was resumed with another
// one; and a check that was not made does not look like one that was passed.
func TestIsolationOfARun(t *testing.T) {
	st := memory.New()
	s := begin(t, st, "walledjob", "run1", "writer", noon)
	start := func(checkpoint string, from *event.Origin, shared bool) event.StartRun {
		spec := job.Spec{Settings: job.Settings{Runtime: job.Docker, Isolation: job.Isolation{SharedSandbox: shared}}}
		return event.StartRun{InputMessages: []*event.Message{say(event.UserMessage, "Go")}, CheckpointID: checkpoint, From: from, Expert: ref("writer"), Runtime: "docker", Spec: recorded(t, spec)}
	}
	s.tell(event.SandboxCheck{Check: "sandboxes", OK: true, Message: "not wanted: all skills share one"},
		start("cp1", nil, true), event.StartGeneration{}, event.StopRunByInterrupt{Reason: "received interrupt"},
		start("cp2", &event.Origin{RunID: "run1", CheckpointID: "cp1"}, false), event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "Done.")})
	s.end()
	out, _, code := perstackLog(t, st, "walledjob", "--events")
	for _, want := range []string{
		"\nIsolation: docker, one shared sandbox for all skills (--shared-sandbox); then docker, a sandbox for each skill\n",
		"\n  ● Sandbox sandboxes skipped\n    └ all skills share one\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("code %d, no %q in\n%s", code, want, out)
		}
	}
	if strings.Contains(out, "ok: true") || strings.Count(out, "Isolation:") != 1 {
		t.Errorf("%s", out)
	}
}
