package probes

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
)

// canary is a value that must be nowhere.
const canary = "canary-7f3a9c51e2d84b60"

// has reports whether an environment contains the canary.
func has(environ []string) bool {
	return slices.ContainsFunc(environ, func(v string) bool { return strings.Contains(v, canary) })
}

// secretVariables attacks E1.
func (m *Machine) secretVariables(ctx context.Context) audit.Result {
	dir, err := m.dir("env")
	if err != nil {
		return noStart(err)
	}
	c := m.command(dir)
	var names []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "PERSTACK_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "DATABASE_URL", "MY_OWN_SECRET"} {
		c.Environ = append(slices.Clone(c.Environ), name+"="+canary)
		names = append(names, name)
	}
	c.Environ = append(c.Environ, "HTTPS_PROXY=http://user:"+canary+"@127.0.0.1:1")
	open := c
	open.Set = map[string]string{"MY_OWN_SECRET": canary}
	if r, err := m.run(ctx, open); err != nil || !has(r.Environ) {
		return noControl("a variable that perstack sets does not reach the program either")
	}
	r, err := m.run(ctx, c)
	if err != nil {
		return noStart(err)
	}
	if has(r.Environ) {
		return audit.Break(audit.BuiltIn, "a program got a variable that it was not given: %s", leaked(r))
	}
	return audit.Hold(audit.BuiltIn, "a program got %d variables, and none of %s or the password of the proxy", len(r.Environ), strings.Join(names, ", "))
}

// leaked names the variables with the canary.
func leaked(r hostile.Report) string {
	var names []string
	for _, v := range r.Environ {
		if name, value, _ := strings.Cut(v, "="); strings.Contains(value, canary) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// protectedNames are those of E2.
var protectedNames = strings.Fields("PATH HOME SHELL NODE_OPTIONS LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES " +
	"PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5LIB PERL5OPT RUBYLIB RUBYOPT BASH_ENV ENV IFS CDPATH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF JAVA_TOOL_OPTIONS GCONV_PATH")

// steeringVariables attacks E2: with the arguments of a tool, and with requiredEnv.
func (m *Machine) steeringVariables(ctx context.Context) audit.Result {
	dir, err := m.dir("env")
	if err != nil {
		return noStart(err)
	}
	c := m.command(dir)
	c.Env = map[string]string{}
	for _, name := range protectedNames {
		c.Env[name], c.Env[strings.ToLower(name)] = canary, canary
		if !m.Parts.Protected(name) || !m.Parts.Protected(strings.ToLower(name)) {
			return audit.Break(audit.BuiltIn, "a skill can require %s", name)
		}
	}
	r, err := m.run(ctx, c)
	if err != nil {
		return noStart(err)
	}
	if has(r.Environ) {
		return audit.Break(audit.BuiltIn, "a call could set %s", leaked(r))
	}
	c.Env = map[string]string{"PLAIN_NAME": canary}
	if r, err := m.run(ctx, c); err != nil || !has(r.Environ) {
		return noControl("a call cannot set ordinary variables either")
	}
	return audit.Hold(audit.BuiltIn, "%d names were refused in upper and lower case, in calls and in requiredEnv; an ordinary name was passed on", len(protectedNames))
}

// nodePath attacks E3.
func (m *Machine) nodePath(ctx context.Context) audit.Result {
	dir, err := m.dir("env")
	if err != nil {
		return noStart(err)
	}
	c := m.command(dir)
	c.Environ = append(slices.Clone(c.Environ), "NODE_PATH=/"+canary)
	r, err := m.run(ctx, c)
	if err != nil {
		return noStart(err)
	}
	if has(r.Environ) {
		return audit.Break(audit.BuiltIn, "NODE_PATH was passed on")
	}
	return audit.Hold(audit.BuiltIn, "NODE_PATH of the environment was not passed on")
}

// ownMemory attacks E4.
func (m *Machine) ownMemory(ctx context.Context) audit.Result {
	if runtime.GOOS != "linux" {
		return audit.Skip("other processes of the same user can be read on this system; SECURITY.md says so")
	}
	dir, err := m.dir("memory")
	if err != nil {
		return noStart(err)
	}
	attack := hostile.Memory + "=" + strconv.Itoa(m.PID)
	r, err := m.run(ctx, m.command(dir, hostile.Memory+"=self", attack))
	if err != nil {
		return noStart(err)
	}
	if !slices.Contains(r.Did, hostile.Memory+"=self") {
		return noControl("/proc shows the program not even itself")
	}
	if slices.Contains(r.Did, attack) {
		return audit.Break(audit.BuiltIn, "a program read the environment or the memory of perstack by /proc")
	}
	const evidence = "a program could read neither environ, maps nor mem of perstack in /proc, but its own"
	s, _, err := m.sandboxed(ctx, "E4", dir)
	if err != nil {
		return noStart(err)
	}
	if s.level == "" {
		return audit.Hold(audit.BuiltIn, evidence)
	}
	// In a process table of its own, the program is no process of the table that PID is of. A
	// small number could be one of both.
	attacks := []string{hostile.Memory + "=self"}
	if m.PID > smallPID || !s.full() {
		attacks = append(attacks, attack)
	}
	if s.full() {
		attacks = append(attacks, hostile.Memory+"=1")
	}
	r, err = m.run(ctx, m.inside(s, attacks...))
	if err != nil {
		return noStart(err)
	}
	if did := slices.DeleteFunc(r.Did, func(a string) bool { return a == hostile.Memory+"=self" }); len(did) > 0 {
		return audit.Break(s.runtime, "a program in the sandbox read the environment or the memory of a process of perstack by /proc: %q", did)
	}
	return audit.Hold(s.runtime, "%s; the same holds in a sandbox, for the process that starts the program, too", evidence)
}

// smallPID is a number that processes of a sandbox do not reach in an audit.
const smallPID = 100

const askingTOML = `model = "claude-sonnet-4-5"
[provider]
providerName = "anthropic"
[experts.a]
instruction = "x"
[experts.a.skills.s]
type = "mcpStdioSkill"
command = "server"
requiredEnv = ["%s"]
`

func parseAsking(variable string) (*manifest.Config, error) {
	config, problems := manifest.Parse("perstack.toml", []byte(strings.Replace(askingTOML, "%s", variable, 1)))
	return config, problems.Err()
}

func refusedVariables(c *manifest.Config) error {
	spec := c.Spec(c.Experts[0])
	spec.Settings.Provider = job.DefaultProvider
	return manifest.RefusedEnv(&spec).Err()
}

// requiredVariables attacks E5.
func (m *Machine) requiredVariables(context.Context) audit.Result {
	honest, err := parseAsking("SEARCH_KEY")
	if err != nil {
		return noStart(err)
	}
	if err := m.Parts.Refused(honest); err != nil {
		return noControl(err.Error())
	}
	if err := honest.Experts[0].MissingEnv(func(string) string { return "" }).Err(); err == nil || !strings.Contains(err.Error(), "SEARCH_KEY") {
		return audit.Break(audit.BuiltIn, "a missing variable is not named before the start")
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "PERSTACK_API_KEY"} {
		// As an Expert that did not come from a file would.
		config, err := parseAsking("SEARCH_KEY")
		if err != nil {
			return noStart(err)
		}
		for _, s := range config.Experts[0].Skills {
			if len(s.RequiredEnv) > 0 {
				s.RequiredEnv = []string{name}
			}
		}
		if m.Parts.Refused(config) == nil {
			return audit.Break(audit.BuiltIn, "a skill can require %s", name)
		}
	}
	if len(m.Parts.Asks(honest)) == 0 {
		return audit.Break(audit.BuiltIn, "a project gets variables for its skill without consent")
	}
	return audit.Hold(audit.BuiltIn, "a missing variable is named, the keys of the provider and of the registry are refused, and another needs consent")
}

// envFiles attacks E6.
func (m *Machine) envFiles(ctx context.Context) audit.Result {
	dir, err := m.dir("envfile")
	if err != nil {
		return noStart(err)
	}
	files := map[string]string{".env": canary, ".env.local": canary, "sub/.env": canary, "notes.txt": "plain"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(files[name]), 0o600))
	}
	err = errors.Join(err, os.Symlink(".env", filepath.Join(dir, "link")), os.Link(filepath.Join(dir, ".env"), filepath.Join(dir, "hard")))
	if err != nil {
		return noStart(err)
	}
	ws, err := m.Parts.Workspace(dir, workspace.Options{Protected: []string{filepath.Join(dir, ".env")}})
	if err != nil {
		return noStart(err)
	}
	defer ws.Close()
	if _, data, err := ws.ReadFile(ctx, "notes.txt", 1<<10); err != nil || string(data) != "plain" {
		return noControl("the file tools read no file at all")
	}
	attempts := []string{".env", "./.env", "sub/../.env", ".env.local", "sub/.env", "link", "hard", filepath.Join(dir, ".env")}
	for _, name := range attempts {
		if _, data, err := ws.ReadFile(ctx, name, 1<<10); err == nil && strings.Contains(string(data), canary) {
			return audit.Break(audit.BuiltIn, "a file tool read an env file as %q", name)
		}
	}
	r, err := m.run(ctx, m.command(dir))
	if err != nil {
		return noStart(err)
	}
	if has(r.Environ) {
		return audit.Break(audit.BuiltIn, "an env file was exported to a program")
	}
	return audit.Hold(audit.BuiltIn, "%d ways to read env files were refused, links among them, and a program in their directory got none of it", len(attempts))
}
