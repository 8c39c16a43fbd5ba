package manifest

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gotoml "github.com/pelletier/go-toml/v2"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/job"
)

// FuzzParse checks that no input makes Parse panic, that what it accepts keeps
// the promises of Config.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	dozen, err := os.ReadFile(filepath.Join("testdata", "dozen.toml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(dozen)
	for _, s := range []string{
		"", "a", "a=", "a=[", "a.b.c=1", "[[a]]\n[[a.b]]\n[a.b.c]\nd=1", "a={b={c=1}}", "\ufeff", "a=1\na.b=2", "[a]\n[a.b]\n[a]", "[a.b]\n[a]",
		"a=[{b=1},{b=2}]\n[[a]]", "a=1979-05-27T07:32:00Z", "maxSteps=0x_1", "[experts.\"@o/a\"]\ninstruction='''x'''", "x=[[[[[[]]]]]]", "\xff", "a=\"\\uD800\"",
		expertWith("delegates=['a','b','b']"), skillWith("interactiveSkill", "tools.t={inputJsonSchema='{}'}"),
		skillWith("mcpHttpSkill", "endpoint='https://a.example'\nrequiredEnv=['K']\nheaders={A='${K}$'}"), skillWith("mcpStdioSkill", "command='npx'\nargs=['-y','--','x@1.0.0','-c']"),
		"perstackBaseSkillCommand=['uvx','--from','a','b']\n" + expertWith(""), expertWith("[experts.a.skills.'@perstack/base']\ntype='mcpStdioSkill'\ncommand='x'"),
		"maxTokens=1\nmaxCost=0.5\nmaxDuration='1h30m'\nmaxDepth=2\nmaxParallel=3\n" + expertWith("maxSteps=1\nmaxTokens=2\nmaxCost=3\nmaxDuration='1ms'"),
		"maxCost=inf", "maxCost=nan", "maxCost=-nan", "maxCost=1e400", "maxCost=-0.0", "maxCost=5e-324", "maxTokens=9223372036854775807", "maxDuration='0.0000000001s'", "maxDuration='9999999h'",
		"[prices.m]\ninput=1\noutput=2.5", "[prices.gpt-4.1]\ninput=1\noutput=1", "prices={m={input=-0.0,output=1e-9,cacheWrite=0}}", "[prices]\nm=3",
		"[docker]\nmemory='64MiB'\ncpus=0.01\npids=64\nbaseImage='a:5/b:c'\ndns=['::1','1.1.1.1']\nnetwork='n'\nidleTimeout='15s'", "docker={memory=9223372036854775807,cpus=nan}", "docker=1", "[docker]\nnodeImage='a@sha256:" + strings.Repeat("0", 64) + "'\nmirrors=['m:5/x']\noffline=true\nproxy='squid'\nsquidImage='sha256:" + strings.Repeat("f", 64) + "'",
		skillWith("mcpStdioSkill", "command='uvx'\nargs=['x']\nsandbox='landlock'\nworkspace='none'"), skillWith("mcpHttpSkill", "endpoint='https://a.example'\nworkspace='readOnly'"), "[docker]\nmemoryReservation='4TiB'",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, ps := Parse("p.toml", data)
		for _, p := range ps {
			if p.Line < 1 || p.Column < 1 || p.File != "p.toml" || p.Message == "" || strings.ContainsAny(p.String(), "\n\r\x1b\u202e") {
				t.Errorf("bad problem %q", p.String())
			}
		}
		if (c == nil) != (ps.Err() != nil) {
			t.Fatalf("config %v, error %v", c, ps.Err())
		}
		if c == nil {
			return
		}
		invariants(t, c)

		var want map[string]any
		if err := gotoml.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &want); err != nil {
			t.Fatal("accepted, but not TOML:", err)
		}
		_, costs := want["maxCost"]
		if _, timed := want["maxDuration"]; costs != (c.Settings.Limits.MaxCost > 0) || timed != (c.Settings.Limits.MaxDuration > 0) {
			t.Errorf("a limit was lost, or came from nowhere: %+v", c.Settings.Limits)
		}
	})
}

// limited holds for the limits of every Config: code that adds and multiplies them need not
// consider overflow, infinities or signs.
func limited(t *testing.T, c *Config) {
	all := []expert.Limits{c.Settings.Limits.Limits}
	for _, e := range c.Experts {
		all = append(all, e.Limits)
	}
	for _, l := range all {
		if l.MaxSteps < 0 || l.MaxTokens < 0 || l.MaxTokens > expert.MostTokens || !(l.MaxCost >= 0 && l.MaxCost <= expert.MostCost) || l.MaxDuration < 0 || l.MaxDuration > expert.MostDuration {
			t.Errorf("bad limits %+v", l)
		}
	}
	d, whole := c.Settings.Isolation.Container, c.Settings.Isolation.Container.Or(job.DefaultContainer())
	for _, n := range []int64{d.Memory, d.MemoryReservation, d.TmpSize, d.CacheSize, d.MaxJournalBytes} {
		if n < 0 || n > mostDockerBytes {
			t.Errorf("a size of %d bytes", n)
		}
	}
	if !(d.CPUs >= 0 && d.CPUs <= mostCPUs) || d.PIDs < 0 || d.PIDs > mostPIDs || whole.MemoryReservation > whole.Memory || strings.HasPrefix(d.BaseImage+d.Network, "-") ||
		strings.HasPrefix(d.NodeImage, "-") || strings.HasPrefix(d.PythonImage, "-") || strings.HasPrefix(d.SquidImage, "-") || d.Proxy == job.ProxySquid && d.SquidImage == "" {
		t.Errorf("bad isolation %+v", d)
	}
	if c.Settings.Limits.MaxDepth < 0 || c.Settings.Limits.MaxDepth > expert.MostDepth || c.Settings.Limits.MaxParallel < 0 || c.Settings.Limits.MaxParallel > expert.MostParallel {
		t.Errorf("depth %d, parallel %d", c.Settings.Limits.MaxDepth, c.Settings.Limits.MaxParallel)
	}
	for model, p := range c.Prices {
		for _, v := range []float64{p.Input, p.Output, p.CachedInput, p.CacheWrite} {
			if !(v >= 0 && v <= mostPrice) || math.Signbit(v) || model == "" {
				t.Errorf("price of %q: %+v", model, p)
			}
		}
	}
}

// invariants hold for every Config that Parse returns.
func invariants(t *testing.T, c *Config) {
	limited(t, c)
	names := map[string]bool{}
	for _, e := range c.Experts {
		if !expert.ValidName(e.Name) || !expert.ValidVersion(e.Version) || names[e.Name] || e.Instruction == "" || e.Key != e.Name {
			t.Errorf("bad expert %+v", e)
		}
		names[e.Name] = true
		if got, ok := c.Lookup(e.Name + "@" + e.Version); !ok || got != e {
			t.Errorf("%s cannot be looked up", e.Name)
		}
		if len(e.Digest()) != 64 {
			t.Errorf("digest %q", e.Digest())
		}
		bases := 0
		for _, s := range e.Skills {
			if s.NamesBase() {
				bases++
			}
			startable(t, s)
			if (s.Type == expert.SSESkill || s.Type == expert.HTTPSkill) && s.Endpoint == "" {
				t.Errorf("skill %+v has no endpoint", s)
			}
			if !s.UsesSandbox() && !s.IsBase() && s.Sandbox+expert.SandboxLevel(s.Workspace) != "" || s.Sandbox != "" && !slices.Contains(expert.SkillSandboxes(), string(s.Sandbox)) {
				t.Errorf("sandbox of %+v", s)
			}
			for _, name := range s.RequiredEnv {
				if env.Protected(name) {
					t.Errorf("protected variable %q", name)
				}
			}
			if len(s.Connection()) != 64 || s.StartTimeout < 0 || s.StartTimeout > maxTimeout || s.CallTimeout < 0 || s.CallTimeout > maxTimeout {
				t.Errorf("bad skill %+v", s)
			}
			if headers, err := s.ResolvedHeaders(func(name string) string { return "v" }); err != nil || len(headers) != len(s.Headers) {
				t.Errorf("headers of %+v: %v", s, err)
			}
			for _, tool := range s.Tools {
				if message, _ := jsonObject(string(tool.InputSchema)); message != "" {
					t.Errorf("tool %s: %s", tool.Name, message)
				}
			}
		}
		if bases != 1 {
			t.Errorf("%s has %d base skills", e.Name, bases)
		}
		if all, _ := c.Closure(e); len(all) == 0 || all[0] != e || len(all) > len(c.Experts) {
			t.Errorf("closure of %s: %d experts", e.Name, len(all))
		}
		for _, d := range e.Delegates {
			if _, err := expert.ParseKey(d); err != nil {
				t.Error(err)
			}
		}
		for _, p := range append(c.Unsupported(e, job.Settings{Provider: "replay", Runtime: "local"}), c.Unsupported(e, job.Settings{Provider: "replay", Runtime: job.Docker})...) {
			if p.Path != "" && p.Line < 1 {
				t.Errorf("%v has no place", p)
			}
		}
	}
}

// startable checks that there is one way to start a skill: as part of this program, from
// a package or as a program of the machine.
func startable(t *testing.T, s *expert.Skill) {
	if s.Type != expert.StdioSkill {
		return
	}
	p, fromPackage := s.Package()
	line, err := s.CommandLine()
	ways := 0
	for _, way := range []bool{s.BuiltIn, fromPackage, err == nil} {
		if way {
			ways++
		}
	}
	if ways != 1 || s.BuiltIn && !s.IsBase() || s.PackageName != "" && len(s.Args) > 0 {
		t.Errorf("%d ways to start %+v: %+v, %q", ways, s, p, line)
	}
	if fromPackage {
		plausible(t, p)
	}
}
