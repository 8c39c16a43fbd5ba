package run

import (
	"io"
	"os"
	"path/filepath"
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
