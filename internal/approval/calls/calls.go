// Package calls decides about the tool calls of a job: it finds out what a call would do, asks the
// rules, and describes the call for the user.
//
// It starts nothing and changes nothing. Files of the workspace are read through internal/workspace
// alone. Start reading at [Decider.Decide].
package calls

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// A Decider decides about the calls of one job. It implements [engine.Approvals].
type Decider struct {
	Spec      job.Spec // complete
	Workspace *workspace.Workspace
	Environ   []string       // of commands
	Lock      *lockfile.Lock // nil if there is none
	// Granted reports whether an answer that is stored for the user or the project covers a call; nil
	// if none is stored.
	Granted func(engine.GrantRequest) (grant string, ok bool)
	// Inside is where a container has the workspace; empty for the workspace itself.
	Inside string
}

// A call is what one call would do, as far as it is known yet.
type call struct {
	*Decider
	request  engine.CallRequest
	question approval.Request
	skill    *expert.Skill     // nil for a tool of the embedding program
	command  *command          // of exec
	paths    []string          // that a file tool names, as they were resolved
	digest   string            // empty until it is needed
	files    map[string]string // digests of the files that the call names, by path
	hashed   int64             // bytes of files that were read for the digest
	unread   bool              // the digest does not cover the content of all files
}

// Decide decides about a call, from what it would do now.
func (d *Decider) Decide(ctx context.Context, request engine.CallRequest) engine.Decision {
	if request.Leaves != nil {
		return d.decideLeave(request)
	}
	c := d.newCall(ctx, request)
	policy := d.policy(request, func(*approval.Request) (string, bool) { return c.granted(ctx) })
	decision := policy.Decide(&c.question)
	for _, path := range c.paths[min(len(c.paths), 1):] { // of two paths, the one with the stricter verdict counts
		c.question.Path = path
		if other := policy.Decide(&c.question); rank(other.Do) > rank(decision.Do) {
			decision = other
		}
	}
	result := engine.Decision{Do: decision.Do, By: decision.By, Why: decision.Why, Once: !decision.Remember}
	if c.question.Class == approval.Reads && decision.Do == job.Allow && !c.hasRules() {
		result.By = "" // nothing else was possible
	}
	if decision.Do == job.Ask {
		c.findPaths(ctx)
		result.Effect, result.Digest, result.Sandbox = c.effect(ctx), c.digestOf(ctx), c.sandbox()
		result.Once = result.Once || c.question.Opaque() && c.unread
	}
	return result
}

// policy is what decides about a request.
func (d *Decider) policy(request engine.CallRequest, granted func(*approval.Request) (string, bool)) approval.Policy {
	p := approval.Policy{Approvals: d.Spec.Approvals, Granted: granted}
	p.Plan = request.Plan
	return p
}

func (d *Decider) hasRules() bool {
	return slices.ContainsFunc(d.Spec.Approvals.Sources, func(s job.Rules) bool { return len(s.Rules) > 0 })
}

func rank(v job.Verdict) int { return slices.Index(job.Verdicts(), string(v)) }

// newCall finds out what a call is about.
func (d *Decider) newCall(ctx context.Context, request engine.CallRequest) *call {
	key := request.Experts[len(request.Experts)-1]
	c := &call{Decider: d, request: request, skill: d.skillOf(key, request.Call.SkillName), files: make(map[string]string)}
	c.question = approval.Request{
		Expert: key, Skill: request.Call.SkillName, Tool: request.Call.ToolName, Args: request.Call.Args,
		Class:    c.class(),
		Accepted: d.Spec.Approvals.SandboxOff || d.Spec.Runtime == job.Docker || c.skill == nil || c.isRemote(),
	}
	q := &c.question
	q.Sandboxed = d.Spec.Runtime == job.Docker && !c.isRemote() || c.skill != nil && c.skill.Sandboxed(job.Local, d.Spec.Isolation.Sandbox)
	if !c.isBuiltIn() {
		c.readHints()
		return c
	}
	if request.Call.ToolName == expert.ExecTool {
		c.readCommand()
		return c
	}
	if d.hasRules() { // presets do not look at paths
		c.findPaths(ctx)
	}
	return c
}

// findPaths finds out which files a file tool is about.
func (c *call) findPaths(ctx context.Context) {
	if c.paths != nil || c.command != nil || !c.isBuiltIn() {
		return
	}
	if c.paths = c.resolvePaths(ctx); len(c.paths) > 0 {
		c.question.Path, c.question.Whole = c.paths[0], c.isWhole(ctx)
	}
}

// skillOf returns a skill of an Expert. Every Expert has the base skill, even if it does not declare
// it.
func (d *Decider) skillOf(key, name string) *expert.Skill {
	e, ok := d.Spec.Lookup(key)
	if !ok {
		return nil
	}
	if k, declared := e.Skill(name); declared {
		return k
	}
	if name == expert.BaseSkill {
		return &expert.Skill{Name: name, BuiltIn: true}
	}
	return nil
}

func (c *call) isBuiltIn() bool { return c.skill != nil && c.skill.IsBase() && c.skill.BuiltIn }

// isRemote reports whether the skill runs on another machine.
func (c *call) isRemote() bool {
	return c.skill != nil && (c.skill.Type == expert.SSESkill || c.skill.Type == expert.HTTPSkill)
}

// class returns what kind of effect the call has.
func (c *call) class() approval.Class {
	if !c.isBuiltIn() {
		return approval.Starts
	}
	return approval.BaseClass(c.request.Call.ToolName)
}

// readHints reads what a server says about its tool. A hint that makes a call look dangerous counts
// always. One that makes it look harmless counts only if the user trusts this server, and if the
// lockfile has it: then it is what the user has seen.
func (c *call) readHints() {
	q := &c.question
	q.Destructive = c.request.Tool.Destructive
	if c.skill == nil {
		return
	}
	q.Network = c.isRemote() || !q.Sandboxed || len(c.skill.AllowedDomains) > 0 || c.Spec.Isolation.Reach.Network == job.NetworkHost
	pinned, ok := c.pinned()
	if !ok {
		return
	}
	q.Destructive = q.Destructive || pinned.Destructive
	// What a container says about its tools is not proved.
	q.ReadOnly = pinned.ReadOnly && !q.Destructive && c.Inside == "" && slices.Contains(c.Spec.Approvals.TrustHints, c.skill.Name)
}

// pinned returns the tool as the lockfile has it.
func (c *call) pinned() (lockfile.Tool, bool) {
	if c.Lock == nil || c.request.Tool.Digest == "" {
		return lockfile.Tool{}, false
	}
	e, _ := c.Lock.Expert(c.question.Expert)
	if e == nil {
		return lockfile.Tool{}, false
	}
	k, _ := e.Skill(c.skill.Name)
	if k == nil {
		return lockfile.Tool{}, false
	}
	i := slices.IndexFunc(k.Tools, func(t lockfile.Tool) bool { return t.Digest == c.request.Tool.Digest })
	if i < 0 {
		return lockfile.Tool{}, false
	}
	return k.Tools[i], true
}

// sandbox names what holds the effects of the call; empty for nothing.
func (c *call) sandbox() string {
	switch {
	case c.Spec.Runtime == job.Docker:
		return job.Docker
	case !c.question.Sandboxed:
		return ""
	case c.Spec.Isolation.Sandbox.Restricts():
		return string(c.Spec.Isolation.Sandbox)
	}
	return string(c.skill.Sandbox)
}

// granted reports whether an earlier answer covers the call: one of this job, for the same
// arguments, or one that is stored. What a call does that runs other programs or files of the workspace
// cannot be seen in its arguments, so there everything must be as it was.
func (c *call) granted(ctx context.Context) (string, bool) {
	args := canonical(c.request.Call.Args)
	for _, g := range c.request.Grants {
		if !g.Leaves && g.Skill == c.request.Call.SkillName && g.Tool == c.request.Call.ToolName && bytes.Equal(canonical(g.Args), args) &&
			(!c.question.Opaque() || g.Digest != "" && g.Digest == c.grantDigest(ctx)) {
			return "an answer for this job", true
		}
	}
	if c.Granted == nil {
		return "", false
	}
	return c.Granted(engine.GrantRequest{
		Expert: c.question.Expert, Call: c.request.Call, Command: c.question.Command, Env: c.question.Env,
		InWorkspace: c.question.InWorkspace, Opaque: c.question.Opaque(), Digest: func() string { return c.grantDigest(ctx) },
	})
}

// grantDigest returns the digest that an earlier answer must have; "" if none can cover the call,
// because not all of what it runs was read.
func (c *call) grantDigest(ctx context.Context) string {
	if digest := c.digestOf(ctx); !c.unread {
		return digest
	}
	return ""
}

// canonical returns arguments in the one form that they are compared in.
func canonical(args rawjson.Value) rawjson.Value {
	v := jsontext.Value(args).Clone()
	if v.Canonicalize() != nil {
		return args
	}
	return rawjson.Value(v)
}

// relative returns a path below the workspace as rules have it, with slashes; "" if it lies elsewhere.
func (d *Decider) relative(path string) string {
	rest, ok := userfile.Below(d.Workspace.Path(), path)
	if !ok {
		return ""
	}
	return filepath.ToSlash(rest)
}
