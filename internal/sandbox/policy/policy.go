// Package policy says what a sandboxed program can reach: one plain value, made once a run,
// which is printed, compared and sent to the process that enforces it.
//
// The package looks for what has to be protected in a workspace and knows where toolchains and
// caches lie. It enforces nothing: package space mounts files and landlock restricts processes.
//
// Start reading at [Policy], then [Search] and [Explain]. [Exemptions] is the table of programs that
// run without a sandbox.
package policy

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A Policy is what a program can reach. All paths outside the workspace are absolute and
// without links, except Cache.Path; those in the workspace are relative to it.
type Policy struct {
	Level expert.SandboxLevel `json:"level"` // off, landlock or full
	// Exempt says why the level is off; see [Off], which alone sets it.
	Exempt Exemption `json:"exempt,omitzero"`
	// Name tells apart sandboxes that reach the same and have nothing in common. Commands with
	// equal policies share a sandbox of level full.
	Name      string    `json:"name,omitzero"`
	Workspace Workspace `json:"workspace,omitzero"`

	// Read are files and trees outside the workspace that it can read, and run programs from.
	// Those that do not exist are skipped: machines differ in where they keep their libraries.
	Read []string `json:"read,omitempty"`
	// Opened are directories that the user opened while the job runs. They are read like those of
	// Read. No link is followed to one of them: what was put in its place since then is skipped.
	Opened []string `json:"opened,omitempty"`
	// Write are files and trees outside the workspace that it can change too. They must exist.
	Write []string `json:"write,omitempty"`
	// Caches are the user's caches, which it can use and not change. Level full only.
	Caches []Cache `json:"caches,omitempty"`
	// Home is the home directory of the user. At level full an empty directory takes its place,
	// with what Read, Write, Caches and Files put into it.
	Home string `json:"home,omitzero"`
	// Files are small files that exist in the sandbox only, by their path. Level full only.
	Files map[string]string `json:"files,omitempty"`

	// Hidden cannot be read, Frozen cannot be changed, Pinned cannot be renamed or replaced.
	// All three are paths relative to the workspace, or absolute paths below one of Write.
	// Level full only.
	Hidden []string `json:"hidden,omitempty"`
	Frozen []string `json:"frozen,omitempty"`
	Pinned []string `json:"pinned,omitempty"`

	// Ports are the TCP ports that it can connect to, on every host. Level landlock only.
	Ports []uint16 `json:"ports,omitempty"`
	// FixedMetadata keeps it from changing modes, owners and times of files. Level landlock only: at level full,
	// nothing can be changed in what it can only read.
	FixedMetadata bool `json:"fixedMetadata,omitzero"`
	// Listener gives the sandbox a listener at [ProxyAddress], which is handed to the process
	// that starts the program. Level full only.
	Listener bool `json:"listener,omitzero"`
	// HostNetwork shares the network of the machine.
	HostNetwork bool `json:"hostNetwork,omitzero"`

	Limits Limits `json:"limits,omitzero"`
}

// ProxyAddress is where a sandbox of level full has its proxy.
const ProxyAddress = "127.0.0.1:3128"

// A Workspace is a directory and the right to it.
type Workspace struct {
	Path  string                `json:"path"`
	Right expert.WorkspaceRight `json:"right,omitzero"` // empty for readWrite
}

// CanWrite reports whether programs can change the workspace.
func (w Workspace) CanWrite() bool {
	return w.Path != "" && (w.Right == "" || w.Right == expert.WorkspaceWrite)
}

// CanRead reports whether programs can read the workspace.
func (w Workspace) CanRead() bool {
	return w.Path != "" && (w.Right == expert.WorkspaceRead || w.CanWrite())
}

// Changeable are the trees in which this program, or another one of the job, can replace
// directories by links.
func (p *Policy) Changeable() []string {
	trees := slices.Clone(p.Write)
	if p.Workspace.Path != "" {
		trees = append(trees, p.Workspace.Path)
	}
	return trees
}

// A Cache is a directory whose changes go elsewhere.
type Cache struct {
	Path  string `json:"path"`           // where programs look for it
	Lower string `json:"lower,omitzero"` // the user's cache, which stays as it is; empty for none
	Upper string `json:"upper"`          // what programs write
	Work  string `json:"work"`           // a directory beside Upper that the kernel needs
}

// Limits are what a program and all it starts can use; 0 means no limit.
type Limits struct {
	Tasks     int   `json:"tasks,omitzero"`     // processes and threads
	Memory    int64 `json:"memory,omitzero"`    // bytes
	FileSize  int64 `json:"fileSize,omitzero"`  // bytes of one file
	OpenFiles int   `json:"openFiles,omitzero"` // of one process
	Signals   int   `json:"signals,omitzero"`   // pending
}

// Validate refuses a policy whose paths depend on the working directory or leave the
// workspace, or whose numbers are out of range.
func (p *Policy) Validate() error {
	switch {
	case p.Level == expert.SandboxOff:
		return p.validateOff()
	case p.Level != expert.SandboxLandlock && p.Level != expert.SandboxFull:
		return fmt.Errorf("a sandbox policy cannot have the level %q", p.Level)
	case p.Exempt != "":
		return fmt.Errorf("a sandbox policy of level %s cannot be exempt", p.Level)
	}
	if w := p.Workspace; w.Right != expert.WorkspaceNone && w.Path != "" && !w.CanRead() {
		return fmt.Errorf("a sandbox policy cannot have the right %q to the workspace", w.Right)
	}
	for _, path := range p.absolute() {
		if !isClean(path) || !filepath.IsAbs(path) {
			return fmt.Errorf("a sandbox policy cannot have the path %q: it must be absolute and clean", path)
		}
	}
	for _, path := range slices.Concat(p.Hidden, p.Frozen, p.Pinned) {
		if err := p.checkProtected(path); err != nil {
			return err
		}
	}
	for _, port := range p.Ports {
		if port == 0 {
			return errors.New("a sandbox policy cannot have the port 0")
		}
	}
	l := p.Limits
	if min(int64(l.Tasks), l.Memory, l.FileSize, int64(l.OpenFiles), int64(l.Signals)) < 0 {
		return errors.New("a sandbox policy cannot have a negative limit")
	}
	return nil
}

// checkProtected refuses a path that neither the workspace nor one of Write contains.
func (p *Policy) checkProtected(path string) error {
	if filepath.IsAbs(path) && isClean(path) {
		for _, dir := range p.Write {
			if rest, ok := userfile.Below(dir, path); ok && rest != "." {
				return nil
			}
		}
		return fmt.Errorf("a sandbox policy cannot protect %q: it lies in nothing that can be written", path)
	}
	if !isClean(path) || !filepath.IsLocal(path) || path == "." {
		return fmt.Errorf("a sandbox policy cannot protect %q: it must be a clean path in the workspace", path)
	}
	if p.Workspace.Path == "" {
		return errors.New("a sandbox policy cannot protect files of a workspace that it does not have")
	}
	return nil
}

func (p *Policy) absolute() []string {
	var all []string
	all = append(append(append(all, p.Read...), p.Opened...), p.Write...)
	for _, c := range p.Caches {
		all = append(all, c.Path, c.Upper, c.Work)
		if c.Lower != "" {
			all = append(all, c.Lower)
		}
	}
	for path := range p.Files {
		all = append(all, path)
	}
	if p.Home != "" {
		all = append(all, p.Home)
	}
	if p.Workspace.Path != "" {
		all = append(all, p.Workspace.Path)
	}
	return all
}

func isClean(path string) bool {
	return path != "" && !strings.ContainsRune(path, 0) && filepath.Clean(path) == path
}

// Encode returns the policy as text, for the process that will enforce it. Equal policies
// have equal texts.
func (p *Policy) Encode() (string, error) {
	if err := p.Validate(); err != nil {
		return "", err
	}
	text, err := json.Marshal(p, json.Deterministic(true))
	return string(text), err
}

// Decode reads what Encode wrote.
func Decode(text string) (*Policy, error) {
	p := new(Policy)
	if err := json.Unmarshal([]byte(text), p, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("a sandbox policy cannot be read: %w", err)
	}
	return p, p.Validate()
}
