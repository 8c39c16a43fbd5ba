package manifest

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// cell reads what the processes of a skill are locked into.
func (r *reader) cell(t *toml.Table, s *expert.Skill) {
	s.Sandbox = expert.SkillSandbox(t.Str("sandbox", toml.OneOf(string(expert.SandboxLandlock))))
	s.Workspace = expert.WorkspaceRight(t.Str("workspace", toml.OneOf(expert.WorkspaceRights()...)))
	for _, key := range []string{"sandbox", "workspace"} {
		if n := t.Node.Fields[key]; n != nil {
			r.Mark(t.At(key), n)
		}
	}
}

// cells looks at what is said about cells that are not there. A right that nobody holds a
// skill to must not be written down: whoever reads the file would rely on it.
func (u *use) cells() {
	for _, s := range u.expert.Skills {
		held := s.InCell(u.runtime, u.sandbox)
		if s.Workspace != "" && !held {
			u.report(toml.PathTo(u.skill(s), "workspace"), "nobody holds the skill to it: with runtime "+u.runtime+" it has no cell",
				`add sandbox = "landlock" beside it, or use --sandbox or runtime docker`)
		}
		if len(s.AllowedDomains) > 0 && u.runtime == job.Local && !held {
			message := "is not enforced by runtime local"
			if s.StartsPrograms() {
				message += ` without sandbox = "landlock" or --sandbox`
			}
			u.note(toml.PathTo(u.skill(s), "allowedDomains"), message+"; runtime docker does")
		}
	}
}
