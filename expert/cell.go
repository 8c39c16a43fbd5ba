package expert

// A SkillSandbox is what the processes of a skill are locked into.
type SkillSandbox string

// The sandboxes of a skill.
const (
	SandboxNone     SkillSandbox = ""
	SandboxLandlock SkillSandbox = "landlock" // a cell of its own, kept by the kernel
)

// A WorkspaceRight is what a skill in a cell may do with the workspace.
type WorkspaceRight string

// The rights.
const (
	WorkspaceWrite WorkspaceRight = "readWrite"
	WorkspaceRead  WorkspaceRight = "readOnly"
	WorkspaceNone  WorkspaceRight = "none"
)

func WorkspaceRights() []string {
	return []string{string(WorkspaceWrite), string(WorkspaceRead), string(WorkspaceNone)}
}

// StartsPrograms reports whether processes run for the skill: a server, or the commands of
// the base skill. Those are what a cell can be put around.
func (s *Skill) StartsPrograms() bool { return s.Type == StdioSkill || s.IsBase() && s.BuiltIn }

// InCell reports whether the processes of a skill have a cell with this runtime. All says
// that a flag gives one to every skill; behind the wall each has one anyway.
func (s *Skill) InCell(runtime string, all bool) bool {
	return s.StartsPrograms() && (runtime == DockerRuntime || all || s.Sandbox == SandboxLandlock)
}

// DockerRuntime is the runtime with a wall around it.
const DockerRuntime = "docker"
