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

func workspaceRights() []string {
	return []string{string(WorkspaceWrite), string(WorkspaceRead), string(WorkspaceNone)}
}

// StartsPrograms reports whether processes run for the skill: a server, or the commands of
// the base skill. Those are what a cell can be put around.
func (s *Skill) StartsPrograms() bool { return s.Type == StdioSkill || s.IsBase() && s.BuiltIn }

// cell reads what the processes of a skill are locked into.
func (r *reader) cell(t *table, s *Skill) {
	s.Sandbox = SkillSandbox(t.str("sandbox", oneOf(string(SandboxLandlock))))
	s.Workspace = WorkspaceRight(t.str("workspace", oneOf(workspaceRights()...)))
	for _, key := range []string{"sandbox", "workspace"} {
		if n := t.n.fields[key]; n != nil {
			r.mark(t.at(key), n)
		}
	}
}

// InCell reports whether the processes of a skill have a cell with this runtime. All says
// that a flag gives one to every skill; behind the wall each has one anyway.
func (s *Skill) InCell(runtime string, all bool) bool {
	return s.StartsPrograms() && (runtime == DockerRuntime || all || s.Sandbox == SandboxLandlock)
}

// cells looks at what is said about cells that are not there. A right that nobody holds a
// skill to must not be written down: whoever reads the file would rely on it.
func (u *use) cells() {
	for _, s := range u.expert.Skills {
		held := s.InCell(u.runtime, u.sandbox)
		if s.Workspace != "" && !held {
			u.report(pathTo(u.skill(s), "workspace"), "nobody holds the skill to it: with runtime "+u.runtime+" it has no cell",
				`add sandbox = "landlock" beside it, or use --sandbox or runtime docker`)
		}
		if len(s.AllowedDomains) > 0 && u.runtime == DefaultRuntime && !held {
			message := "is not enforced by runtime local"
			if s.StartsPrograms() {
				message += ` without sandbox = "landlock" or --sandbox`
			}
			u.note(pathTo(u.skill(s), "allowedDomains"), message+"; runtime docker does")
		}
	}
}
