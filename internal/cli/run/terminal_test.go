package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// dirty is what an attacker would like to send to a terminal: it clears the screen, sets
// the title, colours, rings, and turns text round.
const dirty = "\x1b[2J\x1b]0;title\x07\u009b31m\a\u202e\u2066\u200b"

// wantClean checks that a text came through, and that only it did. lines is how many there are.
func wantClean(t *testing.T, got, text string, lines int) {
	t.Helper()
	bad := strings.IndexFunc(got, func(r rune) bool {
		return r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r))
	})
	if bad >= 0 || !strings.Contains(got, text) || strings.Contains(got, "title") {
		t.Errorf("%q is shown, want %q in it, and nothing that a terminal obeys", got, text)
	}
	if n := strings.Count(strings.TrimSuffix(got, "\n"), "\n") + 1; n != lines {
		t.Errorf("%q has %d lines, want %d", got, n, lines)
	}
}

// What --verbose tells has words of the provider and of the programs behind skills.
func TestNotesAreClean(t *testing.T) {
	for text, body := range map[string]event.Body{
		"retry: try later":    event.Retry{Reason: "try" + dirty + "\nlater"},
		"skill: listening on": event.SkillStderr{SkillName: "sk" + dirty + "ill", Message: "listening" + dirty + "\ron"},
	} {
		var out strings.Builder
		o := outputOf(&Options{Verbose: true, Host: &host.Host{Stderr: &out}}, job.Spec{})
		if err := o.note(event.Event{Body: body}); err != nil {
			t.Fatal(err)
		}
		wantClean(t, out.String(), text, 1)
	}
}

// How a run ended is told in words of the provider, and of the model that asks something.
func TestOutcomeIsClean(t *testing.T) {
	o := outputOf(&Options{}, job.Spec{})
	for text, r := range map[string]engine.Result{
		"APIError: bad request; resume":  {JobID: "j", Status: event.StatusStoppedByError, Failure: &event.Failure{Name: "API" + dirty + "Error", Message: "bad" + dirty + "\nrequest"}},
		"the limit on pati ence; resume": {JobID: "j", Status: event.StatusStoppedByLimit, Limit: &engine.LimitError{Limit: "pati" + dirty + "\nence"}},
		"limit on patience; resume":      {JobID: "j", Status: event.StatusStoppedByLimit, Reason: "pati" + dirty + "ence"},
		`ask {"question":"When?"}, then`: {JobID: "j", Status: event.StatusStoppedByInteractiveTool, Pending: []event.ToolCall{
			{ToolName: "a" + dirty + "sk", Args: rawjson.Value(`{"question":"Wh` + dirty + `en?"}`)},
			{ToolName: "ask", Args: rawjson.Value(`{}`)},
		}},
	} {
		err := o.end(t.Context(), r)
		if err == nil {
			t.Fatal("no error")
		}
		wantClean(t, err.Error(), text, 1)
	}
}

// What a skill offers now is told on a line each, and clean as well.
func TestDifferencesAreClean(t *testing.T) {
	o := outputOf(&Options{}, job.Spec{})
	err := o.end(t.Context(), engine.Result{JobID: "j", Status: event.StatusStoppedByError, Failure: &event.Failure{
		Name: engine.SkillFailure, Message: "skill \"a\":\n+ send" + dirty + "Mail\n- echo",
	}})
	if err == nil {
		t.Fatal("no error")
	}
	wantClean(t, err.Error(), "+ sendMail\n- echo\nresume with: perstack run --continue-job j", 4)
}

// Warnings name files and keys, which a repository has called what it liked.
func TestWarningsAreClean(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ru\u009b31m\u202e\u2066les.toml") // what every system takes for a name
	if err := os.WriteFile(path, []byte("temperature = 1\n[experts.writer]\ninstruction = \"Write.\"\nminRuntimeVersion = \"1.0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	o := &Options{Host: &host.Host{Dir: filepath.Dir(path), Home: t.TempDir(), Stderr: &out}, Config: path}
	p, err := loadProject(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	wantClean(t, out.String(), "temperature", strings.Count(out.String(), "\n"))
	out.Reset()
	if _, err := makeSpec(t.Context(), o, p, &target{expertKey: "writer"}); err != nil {
		t.Fatal(err)
	}
	wantClean(t, out.String(), "minRuntimeVersion", strings.Count(out.String(), "\n"))
}

// A user who reads where the key goes must read the true address.
func TestBaseURLIsClean(t *testing.T) {
	var out strings.Builder
	o := &Options{Host: &host.Host{Stderr: &out}}
	spec := job.Spec{Manifest: "/ru" + dirty + "les.toml", Settings: job.Settings{
		Provider: "anthropic", Model: "m", Setting: expert.Setting{BaseURL: "https://" + dirty + "gateway.example"},
	}}
	none := func(string) engine.Variable { return engine.Variable{} }
	if _, err := runtimes.OpenModel(spec, engine.Parts{Variables: none, Secrets: &o.Host.Secrets, Log: o.logger()}, nil); err == nil {
		t.Error("such an address was taken")
	}
	wantClean(t, out.String(), "go to https://gateway.example, as /rules.toml says", 1)
}
