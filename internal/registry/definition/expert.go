package definition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// Expert returns the Expert that the definition describes. The error is of type [Faults], and has
// everything that is wrong.
//
// The definition becomes the text of a perstack.toml, which is read as every other one: a registry can
// say nothing that a file could not, and there is one set of rules. What a published Expert may not do
// although a file may is checked here.
func (d *Definition) Expert() (*expert.Expert, error) {
	faults := d.check()
	config, problems := manifest.Parse(manifest.FileName, []byte(d.TOML(d.Name)))
	inTable := toml.PathTo("experts", d.Name) + "."
	for _, p := range problems {
		if !p.Warning {
			faults.add(strings.TrimPrefix(p.Path, inTable), p.Message, p.Hint)
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	e := config.Experts[0]
	e.Key = d.Key()
	return e, nil
}

// check finds what a perstack.toml may say and a published Expert may not.
func (d *Definition) check() (faults Faults) {
	if d.MinRuntimeVersion != runtimeVersion {
		faults.add("minRuntimeVersion", fmt.Sprintf("must be %q", runtimeVersion), "extensions.runtimeRange names a release")
	}
	if !IsVersion(d.Version) {
		faults.add("version", wording.Quote(d.Version)+" is not a version", "write it as 1.0.0 or 1.0.0-beta.1, without a + and what follows it")
	}
	if d.Description == "" {
		faults.add("description", "is missing", "say what the Expert is for")
	}
	if oldest, ok := strings.CutPrefix(d.Extensions.RuntimeRange, rangePrefix); d.Extensions.RuntimeRange != "" && (!ok || oldest == "") {
		faults.add("extensions.runtimeRange", "must be >= and a release", "")
	}
	if _, ok := d.Skills[expert.BaseSkill]; !ok {
		faults.add("skills", expert.BaseSkill+" is required", "declare it, even if it has no settings")
	}
	for name, s := range d.Skills {
		field := "skills." + name
		for _, variable := range s.RequiredEnv {
			if strings.EqualFold(variable, "SSH_AUTH_SOCK") {
				faults.add(field+".requiredEnv", variable+" would give the skill the SSH keys of its users", "remove it")
			}
		}
		if s.Type == expert.StdioSkill {
			if s.Command != "npx" && s.Command != "uvx" {
				faults.add(field+".command", wording.Quote(s.Command)+" cannot be published", "published skills are packages, which npx or uvx start")
			}
			if s.PackageName == "" {
				faults.add(field+".packageName", "is missing", "name the package")
			}
		}
	}
	for name := range d.Extensions.Skills {
		if _, ok := d.Skills[name]; !ok {
			faults.add("extensions.skills."+name, "is no skill of the Expert", "")
		}
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Field, b.Field) })
	return faults
}

// IsVersion reports whether s is a version that can be published: one of Semantic Versioning, without build
// metadata, which would give two versions the same rank.
func IsVersion(s string) bool {
	return len(s) <= expert.MaxVersion && semver.IsValid("v"+s) && semver.Canonical("v"+s) == "v"+s && semver.Build("v"+s) == ""
}

// CompareVersions orders two versions by rank.
func CompareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// TOML writes the definition as an Expert of a perstack.toml, with this name.
func (d *Definition) TOML(name string) string {
	w := &tableWriter{}
	w.line("[experts." + toml.Key(name) + "]")
	w.text("version", d.Version)
	w.text("minRuntimeVersion", strings.TrimPrefix(d.Extensions.RuntimeRange, rangePrefix))
	w.text("description", d.Description)
	w.set("instruction", toml.String(d.Instruction))
	w.text("model", d.Extensions.Model)
	if d.Extensions.Provider != "" {
		w.set("provider", toml.Inline(map[string]any{"providerName": d.Extensions.Provider}))
	}
	w.list("delegates", d.Delegates)
	w.list("tags", d.Extensions.Keywords)
	w.number("maxSteps", int64(d.Extensions.Limits.MaxSteps))
	w.number("maxTokens", d.Extensions.Limits.MaxTokens)
	if micros := d.Extensions.Limits.MaxCostMicros; micros != 0 {
		w.set("maxCost", dollars(micros))
	}
	if ms := d.Extensions.Limits.MaxDurationMS; ms != 0 {
		w.text("maxDuration", (time.Duration(ms) * time.Millisecond).String())
	}
	w.list("providerTools", d.Extensions.ProviderTools)
	w.set("providerSkills", toml.Inline(toml.Plain(d.Extensions.ProviderSkills)))
	w.set("providerToolOptions", toml.Inline(toml.Plain(d.Extensions.ProviderToolOptions)))
	for _, skill := range slices.Sorted(maps.Keys(d.Skills)) {
		d.writeSkill(w, name, skill)
	}
	return w.String()
}

// writeSkill writes a skill. The base skill without a setting is that of every Expert.
func (d *Definition) writeSkill(w *tableWriter, name, skill string) {
	s, more := d.Skills[skill], d.Extensions.Skills[skill]
	if s.IsBuiltIn(skill) {
		s.Command, s.PackageName = "", ""
		if len(s.Pick)+len(s.Omit)+len(s.RequiredEnv) == 0 && s.Rule == "" && more.isZero() {
			return
		}
	}
	table := "experts." + toml.Key(name) + ".skills." + toml.Key(skill)
	w.line("\n[" + table + "]")
	w.set("type", toml.String(string(s.Type)))
	w.text("description", s.Description)
	w.text("rule", s.Rule)
	w.text("command", s.Command)
	w.text("packageName", s.PackageName)
	w.text("endpoint", s.Endpoint)
	w.list("pick", s.Pick)
	w.list("omit", s.Omit)
	w.list("requiredEnv", s.RequiredEnv)
	w.list("allowedDomains", more.AllowedDomains)
	w.flag("lazyInit", more.LazyInit)
	w.flag("toolPrefix", more.ToolPrefix)
	w.number("startTimeout", more.StartTimeoutMS)
	w.number("callTimeout", more.CallTimeoutMS)
	w.text("sandbox", string(more.Sandbox))
	w.text("workspace", string(more.Workspace))
	w.set("headers", toml.Inline(toml.Plain(more.Headers)))
	for _, tool := range slices.Sorted(maps.Keys(s.Tools)) {
		w.line("\n[" + table + ".tools." + toml.Key(tool) + "]")
		w.text("description", s.Tools[tool].Description)
		w.set("inputJsonSchema", toml.String(s.Tools[tool].InputJSONSchema))
	}
}

// A tableWriter writes the keys of a table. What is empty is left out.
type tableWriter struct{ strings.Builder }

func (w *tableWriter) line(text string) { w.WriteString(text + "\n") }

func (w *tableWriter) set(key, value string) {
	if value != "" {
		w.line(key + " = " + value)
	}
}

func (w *tableWriter) text(key, value string) {
	if value != "" {
		w.set(key, toml.String(value))
	}
}

func (w *tableWriter) list(key string, values []string) { w.set(key, toml.Inline(toml.Plain(values))) }

func (w *tableWriter) number(key string, n int64) {
	if n != 0 {
		w.set(key, strconv.FormatInt(n, 10))
	}
}

func (w *tableWriter) flag(key string, set bool) {
	if set {
		w.set(key, "true")
	}
}

// dollars writes an amount exactly.
func dollars(micros int64) string {
	return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)
}
