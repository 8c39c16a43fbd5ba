package calls

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/job"
)

// decideLeave decides about a host or a path that the programs of a skill want to use outside of their
// sandbox. Which call they belong to is not certain: calls can run at the same time, and a server works
// between calls too. So rules see the Expert and the skill, but no tool, command or arguments.
func (d *Decider) decideLeave(request engine.CallRequest) engine.Decision {
	key, effect := request.Experts[len(request.Experts)-1], *request.Leaves
	c := &call{Decider: d, request: request, skill: d.skillOf(key, request.Call.SkillName)}
	c.question = approval.Request{
		Expert: key, Skill: request.Call.SkillName, Class: approval.Escapes, Sandboxed: true,
		Host: effect.Host, Path: effect.Path, Whole: effect.Path != "",
	}
	sandbox := c.sandbox()
	digest := leaveDigest(c.question, sandbox)
	policy := d.policy(request, func(*approval.Request) (string, bool) {
		for _, g := range request.Grants {
			if g.Leaves && g.Digest == digest {
				return "an answer for this job", true
			}
		}
		if d.Granted == nil {
			return "", false
		}
		return d.Granted(engine.GrantRequest{
			Expert: key, Call: request.Call, Host: effect.Host, Path: effect.Path, Digest: func() string { return digest },
		})
	})
	decision := policy.Decide(&c.question)
	result := engine.Decision{Do: decision.Do, By: decision.By, Why: decision.Why, Once: !decision.Remember}
	if decision.Do == job.Ask {
		result.Effect, result.Digest, result.Sandbox = effect, digest, sandbox
	}
	return result
}

// leaveDigest returns the digest of what an answer about leaving the sandbox is about.
func leaveDigest(q approval.Request, sandbox string) string {
	sum := sha256.New()
	for _, text := range []string{"leave", q.Expert, q.Skill, q.Host, q.Path, sandbox} {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
