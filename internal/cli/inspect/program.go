package inspect

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/wording"
)

// program fills in what of a server's program lies in the workspace, where the Expert works.
func (b *builder) program(e *expert.Expert, s *expert.Skill, pinned *lockfile.Skill, card *Skill) {
	p, err := skills.ProgramOf(s, b.dir, b.card.Runtime)
	if err != nil {
		return
	}
	now, err := p.Digest()
	about := func(message, hint string) {
		b.find(Finding{Severity: warning, Expert: e.Key, Skill: s.Name, Message: message, Hint: hint})
	}
	for _, l := range p.Loaders {
		about(l.String(), "name the script in args, as in node tools/server.js")
	}
	if err != nil {
		about("its program cannot be read: "+err.Error(), "")
		return
	}
	if programs.Count(now) == 0 && (pinned == nil && !p.HasCode() || pinned != nil && programs.Compare(pinned.Program, now) == "") {
		return
	}
	card.Program = &Program{Files: append([]string{}, p.Files...), Dirs: append([]string{}, p.Dirs...), Manifests: append([]string{}, p.PresentManifests()...), Count: programs.Count(now)}
	switch {
	case pinned == nil:
		about("its program lies in the workspace and is not pinned: what a job changes there is started by the next job", install)
	default:
		card.Program.Changed = programs.Compare(pinned.Program, now)
		card.Program.Pinned = card.Program.Changed == ""
		if !card.Program.Pinned {
			about("its program is not the one that was installed, and no run will start: "+card.Program.Changed, install)
		}
	}
	for _, bare := range p.Bare {
		about("only the file "+bare.File+" of its program is compared: "+bare.Why, "move the program into a directory of its own, with a package.json or pyproject.toml")
	}
}

func (p *Program) line() string {
	where := strings.Join(p.Files, ", ")
	if len(p.Dirs) > 0 {
		where = prefix(where, " in ") + strings.Join(p.Dirs, "/, ") + "/"
	}
	if len(p.Manifests) > 0 {
		where = prefix(where, ", with ") + strings.Join(p.Manifests, ", ")
	}
	state := "not pinned"
	switch {
	case p.Pinned:
		state = "pinned"
	case p.Changed != "":
		state = "changed: " + p.Changed
	}
	return fmt.Sprintf("%s (%s, %s)", cmp.Or(where, "links"), wording.Count(p.Count, "file"), state)
}

func prefix(text, separator string) string {
	if text == "" {
		return ""
	}
	return text + separator
}
