package log

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// notIsolated is a start of a Run without isolation for the whole of it. Single skills can
// have had a sandbox nevertheless, if the file says so.
const notIsolated = "none for the whole run"

// isolation says in words how a job was isolated.
func isolation(spec job.Spec) string {
	var words []string
	is, c := spec.Isolation, spec.Isolation.Container
	switch {
	case spec.Runtime == job.Docker && is.SharedSandbox:
		words = append(words, "docker", "one shared sandbox for all skills (--shared-sandbox)")
	case spec.Runtime == job.Docker:
		words = append(words, "docker", "a sandbox for each skill")
	case is.Sandbox.Restricts():
		words = append(words, "a sandbox for each skill (level "+string(is.Sandbox)+")")
		words = append(words, reach(is)...)
	case is.Sandbox == expert.SandboxOff:
		return "none for the whole run (--sandbox=off)"
	default:
		return notIsolated
	}
	if c.Proxy != "" && c.Proxy != job.ProxyBuiltin {
		words = append(words, "out by "+c.Proxy)
	}
	if c.ReadOnlyWorkspace {
		words = append(words, "workspace read-only")
	}
	if c.BaseImage != "" {
		words = append(words, "on the image "+c.BaseImage)
	}
	if len(is.Env) > 0 {
		words = append(words, "commands get "+strings.Join(is.Env, " "))
	}
	return strings.Join(words, ", ")
}

// reach says what programs in sandboxes could use besides the workspace, and what of the
// workspace they could not.
func reach(is job.Isolation) (words []string) {
	add := func(about string, list []string) {
		if len(list) > 0 {
			words = append(words, about+" "+strings.Join(list, " "))
		}
	}
	r := is.Reach
	add("reads", r.Read)
	add("writes", r.Write)
	add("does not read", r.Hide)
	add("does not write", r.Protect)
	add("commands reach", r.Domains)
	switch r.Network {
	case job.NetworkNone:
		words = append(words, "no network")
	case job.NetworkHost:
		words = append(words, "the network of the machine")
	}
	return words
}

// isolated takes what a start says of isolation. A job that is resumed can have another
// one, and the first must not hide that.
func (n *node) isolated(spec job.Spec) {
	if w := isolation(spec); len(n.isolation) == 0 || n.isolation[len(n.isolation)-1] != w {
		n.isolation = append(n.isolation, w)
	}
}

// printIsolation says nothing where there was never any.
func (n *node) printIsolation(p *printer) {
	if len(n.isolation) > 0 && !slices.Equal(n.isolation, []string{notIsolated}) {
		p.given("Isolation", strings.Join(n.isolation, "; then "))
	}
}
