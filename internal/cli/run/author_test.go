package run

import (
	"bytes"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// A job keeps who thinks for it, unless a flag or the file says otherwise; then the user
// is told that the conversation goes elsewhere.
func TestChooseModel(t *testing.T) {
	was := author{"openai", "gpt-5-mini"}
	for name, c := range map[string]struct {
		flags, file, before author
		want                author
		told                string
	}{
		"new job":           {want: author{"anthropic", "claude-sonnet-4-5"}},
		"kept":              {before: was, want: was},
		"same flag":         {flags: author{provider: "openai"}, before: was, want: was},
		"same file":         {file: author{provider: "openai"}, before: was, want: was},
		"model by flag":     {flags: author{model: "gpt-5"}, before: was, want: author{"openai", "gpt-5"}},
		"model of the file": {file: author{model: "gpt-4o"}, before: was, want: author{"openai", "gpt-4o"}},
		"model for another": {file: author{model: "claude-opus-4-5"}, before: was, want: was},
		"flag":              {flags: author{provider: "google"}, before: was, want: author{"google", "gemini-2.5-pro"}, told: "google"},
		"file":              {file: author{"anthropic", ""}, before: was, want: author{"anthropic", "claude-sonnet-4-5"}, told: "anthropic"},
		"flag before file":  {flags: author{provider: "openai"}, file: author{"anthropic", ""}, before: was, want: was},
		"unknown model":     {before: author{"ollama", "mine:7b"}, want: author{"ollama", "mine:7b"}},
		"no model":          {before: author{"openai", ""}, want: author{"openai", "gpt-5"}},
	} {
		var stderr bytes.Buffer
		s := &setup{opts: &Options{Host: &host.Host{Stderr: &stderr}, Provider: c.flags.provider, Model: c.flags.model},
			config: &expert.Config{Provider: expert.Provider{Name: c.file.provider}, Model: c.file.model}}
		if err := s.chooseModel(c.before); err != nil {
			t.Fatal(err)
		}
		want := ""
		if c.told != "" {
			want = "perstack: the conversation goes on with " + c.told + ", it was held with openai\n"
		}
		if got := (author{s.provider, s.modelName}); got != c.want || stderr.String() != want {
			t.Errorf("%s: %+v, %q", name, got, stderr.String())
		}
	}
	// A name that no provider has may be an attack on the terminal, and is not used.
	var stderr bytes.Buffer
	s := &setup{opts: &Options{Host: &host.Host{Stderr: &stderr}}, config: &expert.Config{}}
	if err := s.chooseModel(author{"ev\x1bil", "m"}); err != nil || s.provider != "anthropic" || s.modelName != "claude-sonnet-4-5" || bytes.ContainsRune(stderr.Bytes(), 0x1b) || stderr.Len() == 0 {
		t.Errorf("%v, %s %s, %q", err, s.provider, s.modelName, stderr.String())
	}
	s = &setup{opts: &Options{Host: &host.Host{Stderr: &stderr}, Model: "m"}, config: &expert.Config{}}
	if err := s.chooseModel(author{"replay", "replay"}); host.ExitCode(err) != host.ExitUsage {
		t.Errorf("%v", err)
	}
}
