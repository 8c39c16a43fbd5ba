package narrate

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// SandboxLabel is the label of rows about what a sandbox blocked.
const SandboxLabel = "Sandbox"

// blocked fills the row of a connection that a sandbox of the runtime local did not allow.
func (b *batch) blocked(r *Row, body event.ProxyAccess, host string) {
	expert, skill, _ := strings.Cut(body.Listener, " ")
	r.Summary = "blocked network " + host
	switch {
	case body.Command != "":
		r.Summary += ", command " + body.Command
	case Asker(body) != "":
		r.Summary += ", " + Asker(body)
	}
	r.Body = text(Refusal(body))
	switch {
	case body.Reason != "domain":
	case b.narrator.local.Network == job.NetworkNone:
		r.Body = text("the network of sandboxes is turned off")
	case skill == event.BaseSkill:
		r.Body = nil
		r.Remedy = &Remedy{Domain: body.Domain, Table: &Table{expert, skill}, Host: body.Domain}
	default:
		r.Body = nil
		r.Remedy = &Remedy{Table: &Table{expert, skill}, Host: body.Domain}
	}
}

// hint shows what a sandbox probably kept a program from.
func (b *batch) hint(body event.SandboxHint) {
	by := ""
	switch {
	case body.SkillName != "" && body.SkillName != event.BaseSkill:
		by = ", skill " + body.SkillName
	case body.Command != "":
		by = ", command " + body.Command
	}
	r := Row{Kind: Sandbox, State: Warning, Label: SandboxLabel, Summary: body.Message + by}
	switch body.Kind {
	case "network":
		r.Summary, r.Body = "blocked network "+cmp.Or(body.Host, "(host unknown)")+by, text(body.Message)
	case "outside":
		if b.narrator.local != nil && filepath.IsAbs(body.Path) {
			r.Remedy = &Remedy{Read: toOpen(body.Path)}
		}
	case "gitconfig":
		r.Summary = body.Message
	case "hidden":
		r.Summary = body.Message
		if strings.HasPrefix(filepath.Base(body.Path), ".env") {
			r.Summary += "; pass single variables with requiredEnv"
		}
	case "readonly":
		if b.narrator.local != nil {
			read := b.narrator.local.Read
			if i := slices.IndexFunc(read, func(dir string) bool { return isBelow(body.Path, dir) }); i >= 0 {
				r.Remedy = &Remedy{Write: read[i]}
			}
		}
	}
	b.add(r)
}

// toOpen returns what has to be opened for a path: the directory that it is in, because one file is
// rarely enough, but no directory as large as a home.
func toOpen(path string) string {
	dir := filepath.Dir(path)
	if strings.Count(filepath.ToSlash(dir), "/") < 3 {
		return path
	}
	return dir
}

// isBelow reports whether a path is a directory, or lies in it.
func isBelow(path, dir string) bool {
	rest, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rest)
}
