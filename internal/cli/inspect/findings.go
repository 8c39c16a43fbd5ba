package inspect

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// The severities of findings.
const (
	warning = "warning"
	note    = "note"
)

// The kinds of findings that other commands look for.
const (
	HiddenText       = "hiddenText"
	ProviderKey      = "providerKey"
	OtherProvider    = "otherProvider"
	CommandNotPinned = "commandNotPinned"
)

// install is the hint for everything that the lockfile lacks.
const install = "run: perstack install"

// find adds a finding, once: what is about the provider is found with every Expert.
func (b *builder) find(f Finding) {
	f.Message, f.Hint = host.Advise(f.Message), host.AddConfig(f.Hint, b.flag)
	if !b.found[f] {
		b.found[f] = true
		b.card.Findings = append(b.card.Findings, f)
	}
}

func (b *builder) warn(message, hint string) {
	b.find(Finding{Severity: warning, Message: message, Hint: hint})
}

// findAbout looks at what a server gets and may do.
func (b *builder) findAbout(e *expert.Expert, s *expert.Skill, card *Skill) {
	about := func(severity, message, hint string) {
		b.find(Finding{Severity: severity, Expert: e.Key, Skill: s.Name, Message: message, Hint: hint})
	}
	b.findUnpinned(card, about)
	for _, domain := range s.AllowedDomains {
		if strings.Contains(domain, "*") {
			about(warning, "can reach every host that matches "+domain, "name the hosts that it needs")
		}
	}
	if s.AllowPrivateEndpoint {
		about(warning, "can be at a private address: allowPrivateEndpoint is set", "")
	}
	if s.Type == expert.StdioSkill && len(s.RequiredEnv) > 0 && len(s.AllowedDomains) == 0 && card.Sandbox == nil {
		about(warning, "gets "+strings.Join(s.RequiredEnv, ", ")+" and can reach any host", "name the hosts that it needs in allowedDomains")
	}
	if keys := manifest.ProviderKeys(s); len(keys) > 0 {
		b.find(Finding{Severity: warning, Kind: ProviderKey, Expert: e.Key, Skill: s.Name,
			Message: "gets " + strings.Join(keys, ", ") + ", which is the key of a provider", Hint: "give it a key of its own under another name"})
	}
	if card.Package == nil && startsPackages(s.Command) {
		message := "is started by " + s.Command + ", which can fetch and run anything, and none of it is pinned"
		if card.Program != nil {
			message = "is started by " + s.Command + ", which can fetch and run anything, and only its files in the workspace are compared"
		}
		b.find(Finding{Severity: warning, Kind: CommandNotPinned, Expert: e.Key, Skill: s.Name, Message: message, Hint: "use command = \"npx\" with a package"})
	}
}

// findUnpinned looks at what no lockfile holds the server to. What one command cures is
// one finding.
func (b *builder) findUnpinned(card *Skill, about func(severity, message, hint string)) {
	p := card.Package
	loose := p != nil && !p.Pinned
	if loose {
		message, hint := "the package "+p.Wanted+" is not pinned: each run may start another version", install
		if p.Version != "" {
			message = "the package " + p.Wanted + " is pinned by its version alone: what it holds and needs is not compared with anything"
		}
		if b.card.Docker != nil && b.lock == nil {
			message = "the package " + p.Wanted + " is not pinned: no run will start, since only pinned ones are put into an image"
		}
		switch {
		case p.Manager == "uvx" && b.card.Docker != nil && b.lock == nil: // install pins it
		case p.Manager == "uvx" && p.Version == "":
			hint = "name a version in perstack.toml"
		case p.Manager == "uvx":
			hint = "" // perstack cannot pin what uvx fetches
		case !card.ToolsKnown:
			message += "; its tools are unknown"
		}
		about(warning, message, hint)
	}
	if !card.ToolsKnown && (!loose || p.Manager == "uvx") {
		about(note, "its tools are unknown until they are installed", install)
	}
}

// startsPackages reports whether a command is known to start programs that it fetches
// first, or that its arguments name, so that neither grammar nor lockfile sees them.
func startsPackages(command string) bool {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command)), ".exe")
	return slices.Contains([]string{
		"npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "deno", "uv", "pip", "pipx", "go", "cargo", "docker", "podman",
		"env", "sh", "bash", "zsh", "cmd", "powershell", "pwsh",
	}, strings.TrimSuffix(name, ".cmd"))
}

// laterNotes repeats what this version does not do although the file says so: a reader
// of allowedDomains on the card must know whether it is enforced.
func (b *builder) laterNotes(e *expert.Expert) {
	for _, p := range b.config.UnsupportedBy([]*expert.Expert{e}, job.Settings{}) {
		severity := warning
		if p.Warning {
			severity = note
		}
		p.File, p.Line, p.Column, p.Warning = "", 0, 0, false
		hint := p.Hint
		p.Hint = ""
		f := Finding{Severity: severity, Message: p.String(), Hint: hint}
		if strings.HasPrefix(p.Path, "experts.") {
			f.Expert = e.Key
		}
		b.find(f)
	}
}

// findUnanswerable looks for questions that cannot be answered: a delegate has no user.
func (b *builder) findUnanswerable() {
	askers := make(map[string]string) // the first that can delegate to each, by key
	for _, e := range b.spec.Experts {
		for _, key := range e.Delegates {
			if d, ok := b.config.Lookup(key); ok && askers[d.Key] == "" {
				askers[d.Key] = e.Key
			}
		}
	}
	for _, e := range b.spec.Experts {
		for _, s := range e.Skills {
			if by := askers[e.Key]; by != "" && s.Type == expert.InteractiveSkill {
				b.find(Finding{Severity: warning, Expert: e.Key, Skill: s.Name,
					Message: "the user cannot answer it when " + by + " delegates to " + e.Key + ": a delegate does not get these tools",
					Hint:    "have " + by + " ask, and put the answer into the query"})
			}
		}
	}
}

// revealTexts looks for invisible characters in what the model is told.
func (b *builder) revealTexts(e *expert.Expert) {
	b.reveal(e, nil, "the instruction", e.Instruction)
	b.reveal(e, nil, "the description", e.Description)
	for _, s := range e.Skills {
		b.reveal(e, s, "the description", s.Description)
		b.reveal(e, s, "the rule", s.Rule)
	}
}

// reveal reports the first of some texts that is not what it looks like.
func (b *builder) reveal(e *expert.Expert, s *expert.Skill, what string, texts ...string) {
	for _, text := range texts {
		where, found := hidden(text)
		if !found {
			continue
		}
		f := Finding{Severity: warning, Kind: HiddenText, Expert: e.Key, Message: what + " contains invisible characters: " + where}
		if s != nil {
			f.Skill = s.Name
		}
		b.find(f)
		return
	}
}

// hidden finds characters that cannot be seen, and shows the first with what is around it.
func hidden(text string) (where string, found bool) {
	const before, after = 20, 40
	plain := []rune(strings.ReplaceAll(text, "\r\n", "\n"))
	shown := []rune(terminal.Reveal(text))
	if string(shown) == string(plain) {
		return "", false
	}
	at := 0
	for at < len(plain) && at < len(shown) && plain[at] == shown[at] {
		at++
	}
	from, to := max(0, at-before), min(len(shown), at+after)
	return terminal.RevealLine(string(shown[from:to])), true
}

// stringsIn are all strings of a JSON value, names included: a model reads them all.
func stringsIn(value rawjson.Value) []string {
	var all []string
	d := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return all // the end; what is no JSON was refused when it was read
		}
		if token.Kind() == '"' {
			all = append(all, token.String())
		}
	}
}
