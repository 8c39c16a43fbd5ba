package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/cli/inspect"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// review applies the rules to a card.
func review(c *inspect.Card, config *manifest.Config) []audit.Finding {
	r := &reviewer{card: c, config: config}
	r.job()
	for _, e := range c.Experts {
		r.expert(e)
		for _, s := range e.Skills {
			r.skill(e, s)
		}
	}
	r.known()
	return r.found
}

type reviewer struct {
	card   *inspect.Card
	config *manifest.Config
	found  []audit.Finding
}

// add adds a finding about a key of the file. The path and what tells it from others make its
// fingerprint.
func (r *reviewer) add(kind, path, location, description, affected string, apart ...string) *audit.Finding {
	f := audit.NewFinding(kind, "Expert "+r.card.Expert, location, description, affected, append([]string{path}, apart...)...)
	at := r.config.Problem(path, "", "")
	f.File, f.Line = at.File, at.Line
	for _, have := range r.found {
		if have.Fingerprint == f.Fingerprint {
			return &f // said before, of another place that is the same
		}
	}
	r.found = append(r.found, f)
	return &r.found[len(r.found)-1]
}

// job looks at what is said once for all Experts.
func (r *reviewer) job() {
	c := r.card
	var missing []string
	if c.Limits.MaxCost == 0 && c.Limits.MaxTokens == 0 {
		missing = append(missing, "maxCost or maxTokens")
	}
	if c.Limits.MaxDurationMS == 0 {
		missing = append(missing, "maxDuration")
	}
	if len(missing) > 0 {
		r.add(audit.MissingLimits, "", "the job", "The file does not set "+wording.And(missing)+".", fmt.Sprintf("maxSteps is %d", c.Limits.MaxSteps))
	}
	if d := c.Docker; d != nil && d.Network != "" {
		r.add(audit.HostNetwork, "docker.network", "docker.network", "Connections of the container go through the network "+d.Network+".", "network = "+d.Network)
	}
	switch c.Lock.State {
	case "stale", "broken":
		r.add(audit.BrokenLock, "", c.Lock.Path, "The lockfile is "+c.Lock.State+": "+strings.Join(c.Lock.Problems, "; "), "")
	}
}

// quoted writes a key as paths of the file have it.
func quoted(key string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if key != "" && !strings.ContainsFunc(key, func(r rune) bool { return !strings.ContainsRune(bare, r) }) {
		return key
	}
	return strconv.Quote(key)
}

// published reports whether an Expert is one of a registry, by its name.
func published(key string) bool { return strings.HasPrefix(key, "@") }

func (r *reviewer) expert(e inspect.Expert) {
	path := "experts." + quoted(e.Key)
	for _, d := range e.Delegates {
		if !d.InFile && d.Exact == "" {
			r.add(audit.UnknownDelegate, path+".delegates", "Expert "+e.Key, "It can delegate to "+d.Key+", which is not in the file.", d.Key, d.Key)
		}
	}
	r.secretWayOut(e, path)
}

// secretWayOut looks for the three things that, together, let a text that the model reads take a
// secret out: the secret, the text, and the way.
func (r *reviewer) secretWayOut(e inspect.Expert, path string) {
	var secrets, inputs, ways []string
	anywhere := false
	for _, s := range e.Skills {
		if len(s.Env) > 0 || len(s.Headers) > 0 {
			secrets = append(secrets, s.Name+" gets "+names(s))
		}
		server := !s.BuiltIn && s.Type != "interactiveSkill"
		if server || s.BuiltIn && readsFiles(s) {
			inputs = append(inputs, s.Name)
		}
		way, any := r.wayOut(s)
		if way != "" {
			ways = append(ways, s.Name+" reaches "+way)
		}
		anywhere = anywhere || any
	}
	if len(secrets) == 0 || len(inputs) == 0 || len(ways) == 0 {
		return
	}
	f := r.add(audit.SecretWayOut, path, "Expert "+e.Key,
		fmt.Sprintf("Secrets: %s. Untrusted input: %s. Ways out: %s.", strings.Join(secrets, "; "), strings.Join(inputs, ", "), strings.Join(ways, "; ")), "")
	if !anywhere {
		f.Severity = audit.Medium // the hosts are named, so a person can judge them
	}
}

func names(s inspect.Skill) string {
	var all []string
	for _, v := range s.Env {
		all = append(all, v.Name)
	}
	if len(s.Headers) > 0 {
		all = append(all, wording.Count(len(s.Headers), "header"))
	}
	return strings.Join(all, ", ")
}

func readsFiles(s inspect.Skill) bool {
	return slices.ContainsFunc(s.Tools, func(t inspect.Tool) bool { return strings.HasPrefix(t.Name, "read") || t.Name == "exec" })
}

func runsCommands(s inspect.Skill) bool {
	return slices.ContainsFunc(s.Tools, func(t inspect.Tool) bool { return t.Name == "exec" })
}

// startsPrograms reports whether programs run for the skill on this machine.
func startsPrograms(s inspect.Skill) bool {
	return len(s.Command) > 0 || s.BuiltIn && runsCommands(s)
}

// wayOut says which hosts a skill can reach; any reports whether they cannot be told.
func (r *reviewer) wayOut(s inspect.Skill) (hosts string, any bool) {
	confined := s.Sandbox != nil && !r.hostNetwork() || r.card.Docker != nil
	switch {
	case s.Endpoint != "":
		return s.Endpoint, false
	case !startsPrograms(s):
		return "", false
	case !confined:
		return "any host", true
	case len(s.AllowedDomains) > 0:
		list := strings.Join(s.AllowedDomains, ", ")
		return list, strings.Contains(list, "*")
	}
	return "", false
}

// hostNetwork reports whether sandboxes share the network of the machine, as the file says.
func (r *reviewer) hostNetwork() bool {
	return r.card.Programs != nil && r.card.Programs.Network == job.NetworkHost
}

func (r *reviewer) skill(e inspect.Expert, s inspect.Skill) {
	path := "experts." + quoted(e.Key) + ".skills." + quoted(s.Name)
	location := "Expert " + e.Key + ", skill " + s.Name
	if p := s.Package; p != nil && !p.Pinned {
		f := r.add(audit.UnpinnedPackage, path, location, "The package "+p.Wanted+" is not pinned by its content.", p.Wanted, p.Wanted)
		if p.Version != "" {
			f.Severity = audit.Medium // a registry does not replace a version, as a rule
		}
	}
	for _, domain := range s.AllowedDomains {
		if strings.Contains(domain, "*") {
			r.add(audit.WildcardDomain, path+".allowedDomains", location, "It can reach every host that matches "+domain+".", domain, domain)
		}
	}
	if published(e.Key) && len(s.Command) > 0 && s.Package == nil {
		r.add(audit.CustomCommand, path, location, "It starts "+terminal.ShellJoin(s.Command...)+".", terminal.ShellJoin(s.Command...))
	}
	if s.AllowPrivateEndpoint {
		r.add(audit.PrivateEndpoint, path, location, "allowPrivateEndpoint is set, for "+s.Endpoint+".", s.Endpoint)
	}
	if !s.ToolsKnown {
		r.add(audit.UnknownTools, path, location, "What its server says of its tools is in no lockfile.", "")
	}
	if s.Program != nil && !s.Program.Pinned {
		r.add(audit.UncheckedCommand, path, location, "Its program in the workspace is not pinned, or has changed.", strings.Join(s.Program.Files, ", "), "program")
	}
	if !startsPrograms(s) || r.card.Docker != nil {
		return
	}
	if s.Sandbox != nil {
		if r.hostNetwork() {
			r.add(audit.OpenNetwork, path, location, "Its sandbox has the network of the machine, so allowedDomains is not enforced.", "sandbox.network = host")
		}
		return
	}
	what := "Its program runs as you."
	if s.BuiltIn {
		what = "Commands that the model chooses run as you."
	}
	r.add(audit.SandboxOff, path, location, what, "runtime "+r.card.Runtime+", without a sandbox")
	r.add(audit.OpenNetwork, path, location, "Without a sandbox, allowedDomains is not enforced.", strings.Join(s.AllowedDomains, ", "))
}

// known takes over what the card has found already.
func (r *reviewer) known() {
	kinds := map[string]string{
		inspect.HiddenText: audit.HiddenText, inspect.ProviderKey: audit.ProviderKey,
		inspect.OtherProvider: audit.OtherProvider, inspect.CommandNotPinned: audit.UncheckedCommand,
	}
	for _, f := range r.card.Findings {
		kind, ok := kinds[f.Kind]
		if !ok {
			continue
		}
		path, location := "", "the job"
		if f.Expert != "" {
			path, location = "experts."+quoted(f.Expert), "Expert "+f.Expert
		}
		if f.Skill != "" {
			path, location = path+".skills."+quoted(f.Skill), location+", skill "+f.Skill
		}
		// Of one text, only the first hidden character is told; the text is told by the words before.
		apart, _, _ := strings.Cut(f.Message, ":")
		r.add(kind, path, location, f.Message, "", apart)
	}
}
