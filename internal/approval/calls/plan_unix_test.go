//go:build unix

package calls

import (
	"testing"

	"github.com/perstack-go/perstack/job"
)

func plans(s *job.Spec) { s.Approvals.Plan = true }

// While a job plans, only what a sandbox holds is carried out. A container does not hold what a remote
// skill does.
func TestPlan(t *testing.T) {
	docker := func(s *job.Spec) { s.Runtime = job.Docker }
	accepted := func(s *job.Spec) { s.Approvals.SandboxOff = true }
	for _, tt := range []struct {
		name   string
		change func(*job.Spec)
		want   map[string]job.Verdict
	}{
		{"in sandboxes", plans, map[string]job.Verdict{push: job.Allow, `near do {}`: job.Allow, `far do {}`: job.Deny, `mine do {}`: job.Deny}},
		{"without a sandbox", both(plans, off), map[string]job.Verdict{push: job.Deny, `near do {}`: job.Deny, `far do {}`: job.Deny}},
		{"with the sandbox off", both(plans, off, accepted), map[string]job.Verdict{push: job.Deny, `near do {}`: job.Deny}},
		{"in docker", both(plans, docker), map[string]job.Verdict{push: job.Allow, `near do {}`: job.Allow, `far do {}`: job.Deny}},
		{"in docker, no plan", docker, map[string]job.Verdict{push: job.Allow, `far do {}`: job.Allow}},
	} {
		d, _ := newDecider(t, tt.change)
		for call, want := range tt.want {
			if got := decide(t, d, call); got.Do != want {
				t.Errorf("%s: %s: %+v, want %s", tt.name, call, got, want)
			}
		}
		for call, want := range map[string]job.Verdict{`base readTextFile {"path":"a.txt"}`: job.Allow, `base writeTextFile {"path":"a.txt","text":""}`: job.Deny} {
			if got := decide(t, d, call); d.Spec.Approvals.Plan && got.Do != want {
				t.Errorf("%s: %s: %+v, want %s", tt.name, call, got, want)
			}
		}
	}
}
