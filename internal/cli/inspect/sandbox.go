package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// A Sandbox is what the processes of a skill are locked into, each skill of each Expert into
// one of its own. What is not named here is out of their reach, but for the programs and
// libraries of the system.
type Sandbox struct {
	Workspace string   `json:"workspace"` // readWrite, readOnly or none
	Own       []string `json:"own"`       // directories that no other skill has
	Listener  string   `json:"listener"`  // own: its port leads to a proxy that knows its hosts; absent hosts are refused
	Hosts     []string `json:"hosts"`     // that the listener leads to
	Variables []string `json:"variables"` // that the skill asks for, by name
}

// sandbox returns the sandbox of a skill; nil if nothing locks its processes in.
func (b *builder) sandbox(s *expert.Skill) *Sandbox {
	if !s.Sandboxed(b.card.Runtime, false) {
		return nil
	}
	right := cmp.Or(s.Workspace, expert.WorkspaceWrite)
	if b.card.Docker != nil && b.card.Docker.ReadOnlyWorkspace && right == expert.WorkspaceWrite {
		right = expert.WorkspaceRead // the container has no more than that
	}
	c := &Sandbox{
		Workspace: string(right), Own: []string{"tmp", "home"}, Listener: "own",
		Hosts: list(s.AllowedDomains), Variables: []string{},
	}
	if !s.BuiltIn {
		c.Variables = list(slices.Compact(slices.Sorted(slices.Values(s.RequiredEnv))))
	}
	if _, ok := s.Package(); ok && !s.BuiltIn {
		c.Own = append(c.Own, "package")
	}
	return c
}

// inside says what can be done from inside the sandbox of a skill; "" if it has none.
func (s Skill) inside(inContainer bool) string {
	c := s.Sandbox
	if c == nil {
		return ""
	}
	workspace := map[string]string{
		string(expert.WorkspaceWrite): "workspace read-write", string(expert.WorkspaceRead): "workspace read-only", string(expert.WorkspaceNone): "no workspace",
	}[c.Workspace]
	hosts, variables := "reaches no host", "gets no variables of yours"
	if len(c.Hosts) > 0 {
		hosts = "reaches, through its own listener, " + strings.Join(c.Hosts, ", ")
	}
	switch {
	case len(c.Variables) > 0:
		variables = "gets " + strings.Join(c.Variables, ", ")
	case s.BuiltIn && inContainer: // a flag of run hands some to commands
		variables += " except those of --env"
	}
	return strings.Join([]string{workspace, "own " + strings.Join(c.Own, ", "), hosts, variables}, "; ")
}

// findSandbox says what a sandbox without a container does not hold back.
func (b *builder) findSandbox(e *expert.Expert, s *expert.Skill) {
	if b.card.Docker == nil && s.Sandboxed(b.card.Runtime, false) {
		b.find(Finding{Severity: note, Expert: e.Key, Skill: s.Name,
			Message: "its hosts are held by the proxy; a program that ignores the proxy can reach one port number of any host", Hint: "runtime docker leaves no such way"})
	}
}

// findImages looks at the images that runs need. One that is not pinned could be
// another tomorrow, so none is used.
func (b *builder) findImages(closure []*expert.Expert) {
	if b.card.Docker == nil {
		return
	}
	if d := b.config.Docker; d.Proxy == job.ProxySquid {
		b.warn("a program of the image "+d.SquidImage+" decides what leaves the container, whatever the lists say", "run it with --proxy squid if you trust the image, else with --proxy builtin")
	}
	for _, name := range b.config.ImagesOf(closure) {
		pinned, ok := b.lock.Image(name)
		b.card.Docker.Images = append(b.card.Docker.Images, Image{Name: name, Pinned: pinned})
		if !ok {
			b.warn("the image "+name+" is not pinned: no run will start", install)
		}
	}
}
