package inspect

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// A Container is the isolation of a run with the runtime docker: as the file says, or the
// defaults. Sizes are bytes.
type Container struct {
	Memory            int64    `json:"memory"`
	MemoryReservation int64    `json:"memoryReservation"`
	CPUs              float64  `json:"cpus"`
	PIDs              int      `json:"pids"`
	TmpSize           int64    `json:"tmpSize"`
	CacheSize         int64    `json:"cacheSize"`
	BaseImage         string   `json:"baseImage,omitzero"`
	NodeImage         string   `json:"nodeImage,omitzero"` // for packages of npm, if there is no baseImage; like the next
	PythonImage       string   `json:"pythonImage,omitzero"`
	SquidImage        string   `json:"squidImage,omitzero"`
	Images            []Image  `json:"images,omitempty"` // what runs of the Expert need, beside baseImage
	Mirrors           []string `json:"mirrors,omitempty"`
	Offline           bool     `json:"offline,omitzero"`
	Proxy             string   `json:"proxy,omitzero"` // builtin or squid
	ReadOnlyWorkspace bool     `json:"readOnlyWorkspace"`
	DNS               []string `json:"dns,omitempty"`
	Network           string   `json:"network,omitzero"`
	BuildTimeoutMS    int64    `json:"buildTimeoutMs"`
	StartTimeoutMS    int64    `json:"startTimeoutMs"`
	IdleTimeoutMS     int64    `json:"idleTimeoutMs"`
	TotalTimeoutMS    int64    `json:"totalTimeoutMs"`
	MaxJournalBytes   int64    `json:"maxJournalBytes"`
}

// An Image is one that is fetched, by the name that the file has for it. Without a pin no
// run uses it.
type Image struct {
	Name   string `json:"name"`
	Pinned string `json:"pinned,omitzero"`
}

// container returns that of the file; nil where another runtime is in use.
func container(s job.Settings) *Container {
	if s.Runtime != job.Docker {
		return nil
	}
	d := s.Isolation.Container
	return &Container{
		Memory: d.Memory, MemoryReservation: d.MemoryReservation, CPUs: d.CPUs, PIDs: d.PIDs, TmpSize: d.TmpSize, CacheSize: d.CacheSize,
		BaseImage: d.BaseImage, NodeImage: d.NodeImage, PythonImage: d.PythonImage, SquidImage: d.SquidImage, Mirrors: d.Mirrors, Offline: d.Offline, Proxy: d.Proxy,
		ReadOnlyWorkspace: d.ReadOnlyWorkspace, DNS: d.DNS, Network: d.Network,
		BuildTimeoutMS: roundUp(d.BuildTimeout), StartTimeoutMS: roundUp(d.StartTimeout), IdleTimeoutMS: roundUp(d.IdleTimeout), TotalTimeoutMS: roundUp(d.TotalTimeout),
		MaxJournalBytes: d.MaxJournalBytes,
	}
}

// Programs are how programs are isolated with the runtime local, as the file and the user's own
// configuration say.
type Programs struct {
	Level    string   `json:"level"` // the least one: off, auto, landlock or full
	Readable []string `json:"readable,omitempty"`
	Writable []string `json:"writable,omitempty"`
	Hidden   []string `json:"hide,omitempty"`
	Frozen   []string `json:"protect,omitempty"`
	Network  string   `json:"network"`

	Memory     int64 `json:"memory"` // bytes
	Processes  int   `json:"processes"`
	DiskGrowth int64 `json:"diskGrowth"` // bytes
}

// programsOf returns how programs are isolated; nil with another runtime, and where no file says
// nothing about it.
func programsOf(s job.Settings, said job.Isolation) *Programs {
	if s.Runtime != job.Local || said.Sandbox == "" && reflect.ValueOf(said.Reach).IsZero() && said.SandboxLimits == (job.SandboxLimits{}) {
		return nil
	}
	is, limits := s.Isolation, s.Isolation.SandboxLimits.Or(job.DefaultSandboxLimits())
	return &Programs{
		Level:    string(cmp.Or(is.Sandbox, expert.SandboxOff)),
		Readable: is.Reach.Read, Writable: is.Reach.Write, Hidden: is.Reach.Hide, Frozen: is.Reach.Protect,
		Network: cmp.Or(is.Reach.Network, job.NetworkListed),
		Memory:  limits.Memory, Processes: limits.Processes, DiskGrowth: limits.DiskGrowth,
	}
}

// line names the level and what programs can reach.
func (p *Programs) line() string {
	if p == nil {
		return ""
	}
	words := "sandboxes of level " + p.Level
	switch expert.SandboxLevel(p.Level) {
	case expert.SandboxOff:
		return "no sandboxes, except for skills that ask for one"
	case expert.SandboxAuto:
		words = "sandboxes of the best level that the machine offers"
	}
	return words + prefixed(", programs read ", p.Readable) + prefixed(", change ", p.Writable) + prefixed(", do not read ", p.Hidden) + prefixed(", do not change ", p.Frozen) +
		", network " + p.Network + fmt.Sprintf(", at most %s of memory, %d processes, %s more on the disk", manifest.FormatBytes(p.Memory), p.Processes, manifest.FormatBytes(p.DiskGrowth))
}

// line names what is in the container and how much it may use.
func (w *Container) line() string {
	if w == nil {
		return ""
	}
	words := []string{
		"a container of " + manifest.FormatBytes(w.Memory),
		wording.Number(w.CPUs) + " processors",
		strconv.Itoa(w.PIDs) + " processes",
		"at most " + ms(w.TotalTimeoutMS),
	}
	if w.ReadOnlyWorkspace {
		words = append(words, "the workspace cannot be changed")
	}
	if w.BaseImage != "" {
		words = append(words, "programs of the image "+w.BaseImage)
	}
	for _, i := range w.Images {
		if i.Pinned == "" {
			words = append(words, "the image "+i.Name+", which is not pinned")
		} else {
			words = append(words, "the image "+i.Pinned)
		}
	}
	if w.Offline {
		words = append(words, "nothing is fetched")
	} else if len(w.Mirrors) > 0 {
		words = append(words, prefixed("images from ", w.Mirrors))
	}
	if w.Proxy == job.ProxySquid {
		words = append(words, "connections through Squid")
	}
	if w.Network != "" {
		words = append(words, "connections through the network "+w.Network)
	}
	return strings.Join(words, ", ") + prefixed(", name servers ", w.DNS)
}

// hosts says what a server, or a command, may reach. The local runtime holds no process to
// it; a finding says so. In a container, what is not named is not reached.
func (c *Card) hosts(s Skill) string {
	switch {
	case len(s.AllowedDomains) > 0:
		return strings.Join(s.AllowedDomains, ", ")
	case s.Endpoint != "":
		return "" // perstack itself speaks to the endpoint, and to nothing else
	case c.Docker != nil || s.Sandbox != nil && !s.BuiltIn:
		return "none"
	case s.BuiltIn:
		return "" // what commands may do is told elsewhere
	}
	return "any"
}

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
	if !s.Sandboxed(b.card.Runtime, b.spec.Isolation.Sandbox) {
		return nil
	}
	right := cmp.Or(s.Workspace, expert.WorkspaceWrite)
	if b.card.Docker != nil && b.card.Docker.ReadOnlyWorkspace && right == expert.WorkspaceWrite {
		right = expert.WorkspaceRead // the container has no more than that
	}
	c := &Sandbox{
		Workspace: string(right), Own: []string{"tmp", "home"}, Listener: "own",
		Hosts: s.AllowedDomains,
	}
	if !s.BuiltIn {
		c.Variables = slices.Compact(slices.Sorted(slices.Values(s.RequiredEnv)))
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

// findSandbox says what a sandbox of level landlock does not hold back. Which level a machine
// offers is not known here, so only a level that was asked for counts.
func (b *builder) findSandbox(e *expert.Expert, s *expert.Skill) {
	level := b.spec.Isolation.Sandbox.Stricter(s.Sandbox)
	if b.card.Docker == nil && level == expert.SandboxLandlock && s.Sandboxed(b.card.Runtime, b.spec.Isolation.Sandbox) {
		b.find(Finding{Severity: note, Expert: e.Key, Skill: s.Name,
			Message: "at level landlock, a program that ignores the proxy can reach one port of any host", Hint: "level full and runtime docker prevent this"})
	}
}

// findImages looks at the images that runs need. One that is not pinned could be
// another tomorrow, so none is used.
func (b *builder) findImages() {
	if b.card.Docker == nil {
		return
	}
	if d := b.config.Settings.Isolation.Container; d.Proxy == job.ProxySquid {
		b.warn("a program of the image "+d.SquidImage+" decides what leaves the container, whatever the lists say", "run it with --proxy squid if you trust the image, else with --proxy builtin")
	}
	for _, name := range b.config.ImagesOf(b.spec.Experts) {
		pinned, ok := b.lock.Image(name)
		b.card.Docker.Images = append(b.card.Docker.Images, Image{Name: name, Pinned: pinned})
		if !ok {
			b.warn("the image "+name+" is not pinned: no run will start", install)
		}
	}
}
