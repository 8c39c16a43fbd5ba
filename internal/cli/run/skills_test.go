package run

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// What keeps skills from starting is reported before anything starts, for the Expert and
// for those that it can delegate to.
func TestCheckSkills(t *testing.T) {
	const toml = `[experts.lead]
instruction = "Lead."
delegates = ["worker"]
[experts.worker]
instruction = "Work."
[experts.worker.skills.search]
type = "mcpStdioSkill"
command = "search"
requiredEnv = ["SEARCH_KEY", "OPENAI_API_KEY"]
[experts.alone]
instruction = "Work."
`
	tests := []struct {
		expert, provider, environ, lock string
		want                            []string // in the error; none means that there is none
	}{
		{expert: "alone"},
		{expert: "lead", want: []string{`skill "search"`, "SEARCH_KEY is not set", "OPENAI_API_KEY is not set"}},
		{expert: "worker", environ: "SEARCH_KEY=a,OPENAI_API_KEY=b"},
		{expert: "lead", environ: "SEARCH_KEY=a,OPENAI_API_KEY=b", provider: "openai", want: []string{`skill "search"`, "OPENAI_API_KEY", "provider openai"}},
		{expert: "alone", lock: "version = 9\n", want: []string{"perstack.lock", "perstack install"}},
		{expert: "alone", lock: "version = \"1\"\ngeneratedAt = 1\nconfigPath = \"perstack.toml\"\n"},
		{expert: "worker", environ: "SEARCH_KEY=a,OPENAI_API_KEY=b", lock: "version = \"1\"\ngeneratedAt = 1\nconfigPath = \"perstack.toml\"\n",
			want: []string{"perstack.lock", "worker", "perstack install"}},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		files := map[string]string{"perstack.toml": toml, "perstack.lock": tt.lock}
		for name, text := range files {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := loadSetup(&Options{Host: &host.Host{Dir: dir, Stderr: io.Discard, Environ: strings.Split(tt.environ, ",")}, Provider: tt.provider})
		if err != nil {
			t.Fatal(err)
		}
		e, ok := s.config.Lookup(tt.expert)
		if !ok {
			t.Fatal(tt.expert)
		}
		lock, err := s.checkSkills(e)
		if len(tt.want) == 0 {
			if err != nil || (lock != nil) != (tt.lock != "") {
				t.Errorf("%+v: %v, %v", tt, lock, err)
			}
			continue
		}
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%+v: error %v, want a usage error with %q", tt, err, want)
			}
		}
	}
}

// A file of another name has a lockfile of its own: that of its neighbour is not looked at,
// advice names the file, and no tool may change any of them.
func TestOtherConfig(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("perstack.toml", "envPath = ['keys.txt']\n")
	write("perstack.lock", "broken")
	write("b.toml", "[experts.a]\ninstruction = 'x'\n")
	s, err := loadSetup(&Options{Host: &host.Host{Dir: dir, Stderr: io.Discard}, Config: "b.toml"})
	if err != nil {
		t.Fatal(err)
	}
	if lock, err := s.checkSkills(s.config.Experts[0]); lock != nil || err != nil {
		t.Errorf("without a lockfile of its own: %v, %v", lock, err)
	}
	for _, name := range []string{"b.toml", "b.lock", "perstack.toml", "perstack.lock"} {
		if !slices.Contains(s.rules(), at(name)) {
			t.Errorf("%s is not protected: %q", name, s.rules())
		}
	}
	if !slices.Contains(s.envFiles, at("keys.txt")) {
		t.Errorf("the env files of the project are not kept from tools: %q", s.envFiles)
	}
	for lock, want := range map[string]string{
		"broken": "; run: perstack install --config b.toml",
		"version = \"1\"\ngeneratedAt = 1\nconfigPath = \"perstack.toml\"\n": `b.lock: was made from "perstack.toml", not from "b.toml"; run: perstack install --config b.toml`,
		"version = \"2\"\n": "; update perstack",
	} {
		write("b.lock", lock)
		if _, err := s.checkSkills(s.config.Experts[0]); err == nil || !strings.HasSuffix(err.Error(), want) || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%q: error %v, want %q", lock, err, want)
		}
	}
}

// Who serves the base tools, and who is handed keys, is told for all that can be reached.
func TestTellAll(t *testing.T) {
	dir := t.TempDir()
	const toml = `[experts.lead]
instruction = "Lead."
delegates = ["one", "two"]
[experts.one]
instruction = "Work."
[experts.one.skills."@perstack/base"]
type = "mcpHttpSkill"
endpoint = "https://base.example/KEY"
[experts.two]
instruction = "Work."
[experts.two.skills."@perstack/base"]
type = "mcpHttpSkill"
endpoint = "https://base.example/OTHER"
[experts.two.skills.far]
type = "mcpHttpSkill"
endpoint = "https://far.example/KEY"
requiredEnv = ["OPENAI_API_KEY"]
`
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	s, err := loadSetup(&Options{Host: &host.Host{Dir: dir, Stderr: &told, Environ: []string{"OPENAI_API_KEY=k"}}})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := s.config.Lookup("lead")
	if _, err := s.checkSkills(e); err != nil {
		t.Fatal(err)
	}
	got := told.String()
	if strings.Count(got, "the base tools are served by https://base.example, as ") != 1 || strings.Count(got, `skill "far" (https://far.example) gets your OPENAI_API_KEY, as `) != 1 || strings.Contains(got, "/KEY") {
		t.Errorf("told: %s", got)
	}
}
