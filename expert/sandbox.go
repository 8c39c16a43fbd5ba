package expert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A SandboxLevel says how well programs are kept from files, processes and the network.
type SandboxLevel string

// The levels. What a setting or a skill asks for is a minimum; empty says nothing.
const (
	SandboxOff      SandboxLevel = "off"      // a program can do what the user can do
	SandboxAuto     SandboxLevel = "auto"     // the best level that the machine offers; only as a setting
	SandboxLandlock SandboxLevel = "landlock" // the kernel restricts files, ports and system calls
	SandboxFull     SandboxLevel = "full"     // namespaces of its own as well
)

// strictness has the levels in order, the weakest first.
var strictness = []SandboxLevel{"", SandboxOff, SandboxAuto, SandboxLandlock, SandboxFull}

// SandboxLevels lists what a setting can ask for.
func SandboxLevels() []string {
	return []string{string(SandboxAuto), string(SandboxFull), string(SandboxLandlock), string(SandboxOff)}
}

// SkillSandboxes lists the minimums that a skill can ask for.
func SkillSandboxes() []string { return []string{string(SandboxLandlock), string(SandboxFull)} }

// ParseSandboxLevel reads what a setting asks for.
func ParseSandboxLevel(text string) (SandboxLevel, error) {
	if !slices.Contains(SandboxLevels(), text) {
		return "", fmt.Errorf("the sandbox %q is unknown; use %s", text, strings.Join(SandboxLevels(), ", "))
	}
	return SandboxLevel(text), nil
}

// Compare returns a negative number if programs are less restricted at l than at other, 0 if
// the two are the same, and else a positive number. A level of a later version counts as full.
func (l SandboxLevel) Compare(other SandboxLevel) int { return cmp.Compare(l.rank(), other.rank()) }

func (l SandboxLevel) rank() int {
	if i := slices.Index(strictness, l); i >= 0 {
		return i
	}
	return len(strictness) - 1
}

// Stricter returns the level of the two that restricts programs more.
func (l SandboxLevel) Stricter(other SandboxLevel) SandboxLevel {
	if l.Compare(other) < 0 {
		return other
	}
	return l
}

// Restricts reports whether programs are in a sandbox at this level.
func (l SandboxLevel) Restricts() bool { return l.Compare(SandboxOff) > 0 }

// ExecTool is the tool of the base skill that starts programs.
const ExecTool = "exec"

// Offers reports whether a tool is offered to the model: Omit is stronger than Pick.
func (s *Skill) Offers(tool string) bool {
	return !slices.Contains(s.Omit, tool) && (len(s.Pick) == 0 || slices.Contains(s.Pick, tool))
}

// StartsPrograms reports whether processes run for the skill, which can be sandboxed: a
// server, or the commands of the base skill.
func (s *Skill) StartsPrograms() bool {
	if s.IsBase() && s.BuiltIn {
		return s.Offers(ExecTool)
	}
	return s.Type == StdioSkill
}

// UsesSandbox reports whether a sandbox means something for the skill: it starts programs, or the
// file tools of the base skill have a right to the workspace, which its sandbox states.
func (s *Skill) UsesSandbox() bool {
	return s.StartsPrograms() || s.IsBase() && s.BuiltIn && s.Workspace != ""
}

// Sandboxed reports whether the processes of a skill have a sandbox with this runtime. The
// level is that of the job. In a container, there is always one.
func (s *Skill) Sandboxed(runtime string, level SandboxLevel) bool {
	return s.UsesSandbox() && (runtime == DockerRuntime || level.Restricts() || s.Sandbox.Restricts())
}
