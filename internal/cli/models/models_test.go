package models

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/model"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args []string
		want Options
		err  string
	}{
		{args: nil},
		{args: []string{"openai"}, want: Options{Provider: "openai"}},
		{args: []string{"--json", "--config", "a.toml"}, want: Options{Config: "a.toml", JSON: true}},
		{args: []string{"openai", "google"}, err: "models takes one provider, but got 2 arguments; leave it out for all"},
	} {
		var got *Options
		cmd := New(nil, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{}, test.args...)) // nil would stand for those of the test
		err := cmd.Execute()
		if test.err != "" {
			if err == nil || err.Error() != test.err || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%q: error = %v, want usage error %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil || *got != test.want {
			t.Errorf("%q: options = %+v, %v, want %+v", test.args, got, err, test.want)
		}
	}
}

// listed runs the command with a perstack.toml, if text is not empty.
func listed(t *testing.T, text string, opts Options) (stdout string, err error) {
	t.Helper()
	dir := t.TempDir()
	if text != "" {
		if err := os.WriteFile(filepath.Join(dir, manifest.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	opts.Host = &host.Host{Dir: dir, Stdout: &out, Stderr: &out}
	err = run(t.Context(), &opts)
	return out.String(), err
}

const file = `
model = "gpt-5-mini"
[provider]
providerName = "openai"
[models."gpt-5-mini"]
contextWindow = 1000
maxOutputTokens = 500
[models.gpt-5-2025-08-07]
images = false
[models.mine]
reasoning = "effort"
efforts = ["low"]
[prices.mine]
input = 0.5
output = 2
[prices."o3"]
input = 1
output = 2
`

// The table shows what is known, what the file says instead, and what is used.
func TestTable(t *testing.T) {
	out, err := listed(t, file, Options{Provider: "openai"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "openai.txt", strings.ReplaceAll(out, model.PricesDate(), "DATE"))
	out, err = listed(t, "", Options{Provider: "azure-openai"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "azure-openai.txt", strings.ReplaceAll(out, model.PricesDate(), "DATE"))
}

// Every provider can be listed alone, and a list of all has every model once.
func TestAllAreListed(t *testing.T) {
	all, err := listed(t, "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range model.All() {
		if strings.Count(all, "  "+e.ID+" ") != 1 {
			t.Errorf("%s %s is there %d times", e.Provider, e.ID, strings.Count(all, "  "+e.ID+" "))
		}
	}
	for _, provider := range model.Providers() {
		if provider == "replay" {
			continue
		}
		out, err := listed(t, "", Options{Provider: provider})
		if provider == "openai-compatible" { // its models are not known
			if err != nil || !strings.Contains(out, "those of your server") || strings.Contains(all, "\n"+provider+"\n") {
				t.Errorf("%s: %v\n%s", provider, err, out)
			}
			continue
		}
		want := model.DefaultModel(provider)
		if err != nil || !strings.Contains(out, "\n"+provider+"\n") || want != "" && !strings.Contains(out, "  "+want+" * ") {
			t.Errorf("%s: %v\n%s", provider, err, out)
		}
		if strings.Contains(all, "\n"+provider+"\n") == (provider == "google-vertex" || provider == "azure-openai") {
			t.Errorf("%s in the list of all", provider)
		}
	}
}

func TestJSON(t *testing.T) {
	out, err := listed(t, file, Options{Provider: "openai", JSON: true})
	if err != nil {
		t.Fatal(err)
	}
	var got list
	if err := json.Unmarshal([]byte(out), &got, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	found := map[string]entry{}
	for _, e := range got.Models {
		found[e.ID] = e
	}
	mine, changed, dated, o3 := found["mine"], found["gpt-5-mini"], found["gpt-5-2025-08-07"], found["o3"]
	switch {
	case got.Format != 1 || got.Date != model.PricesDate():
		t.Errorf("%+v", got)
	case !mine.File || mine.Default || mine.ContextWindow != 0 || mine.Images != nil || mine.Price.Output != 2 || mine.Price.CachedInput != 0.5 || mine.Reasoning != "effort":
		t.Errorf("%+v", mine)
	case !changed.File || !changed.Default || changed.ContextWindow != 1000 || changed.MaxOutputTokens != 500 || changed.Price.Output != 2 || !*changed.Images:
		t.Errorf("%+v", changed)
	case !dated.File || dated.ContextWindow != 400_000 || *dated.Images || dated.Price.Output != 10: // the rest is what the model is known for
		t.Errorf("%+v", dated)
	case !o3.File || o3.Price.Output != 2 || o3.ContextWindow != 200_000:
		t.Errorf("%+v", o3)
	case found["gpt-5"].File || found["gpt-5"].Default:
		t.Errorf("%+v", found["gpt-5"])
	}
	out, err = listed(t, "", Options{Provider: "google", JSON: true})
	if err != nil || !strings.Contains(out, `"above": 200000`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// What the file says of models belongs to its provider, and is not listed for others.
func TestFileOfAnotherProvider(t *testing.T) {
	out, err := listed(t, file, Options{Provider: "google"})
	if err != nil || strings.Contains(out, "mine") || strings.Contains(out, "gpt") || !strings.Contains(out, "gemini-2.5-pro * ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		opts Options
		want string
	}{
		"provider":     {"", Options{Provider: "opnai"}, `provider "opnai" is unknown; did you mean "openai"?`},
		"replay":       {"", Options{Provider: "replay"}, "the provider replay has no models"},
		"broken file":  {"[models.m]\nimages = 1", Options{}, "models.m.images: must be a boolean"},
		"missing file": {"", Options{Config: "none.toml"}, `none.toml" not found`},
	} {
		_, err := listed(t, c.text, c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An untrusted file does not act on the terminal.
func TestHostileNames(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		out, err := listed(t, "[models.\"a\\u00a0b\"]\nefforts = [\"x\"]\n", Options{JSON: asJSON})
		if err == nil && strings.ContainsAny(out, "\x1b\u202e") {
			t.Errorf("%q", out)
		}
	}
	l := &list{Models: []entry{{Provider: "openai", ID: "a\x1b[31m\nb\u202e"}}}
	var text, data bytes.Buffer
	if l.print(&text, 0) != nil || host.WriteJSON(&data, l) != nil || strings.ContainsAny(text.String()+data.String(), "\x1b\u202e") || strings.Contains(text.String(), "a\nb") {
		t.Errorf("%q\n%q", text.String(), data.String())
	}
}

func TestCompletion(t *testing.T) {
	cmd := New(&host.Host{}, nil)
	offers, directive := cmd.ValidArgsFunction(cmd, nil, "")
	if len(offers) != len(model.Providers())-1 || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("%q", offers)
	}
	if offers, _ := cmd.ValidArgsFunction(cmd, []string{"openai"}, ""); offers != nil {
		t.Errorf("%q", offers)
	}
}

// Every field of the JSON is on the page.
func TestFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "models.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				field := of.Field(i)
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if name == "" {
					continue // not part of it
				}
				if seen++; !strings.Contains(string(page), "`"+name+"`") {
					t.Errorf("%s.%s: `%s` is not on the page", of.Name(), field.Name, name)
				}
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeFor[list]())
	if seen < 20 {
		t.Errorf("only %d fields were looked at", seen)
	}
	for _, column := range heads {
		if !strings.Contains(string(page), column) {
			t.Errorf("the column %s is not on the page", column)
		}
	}
}

// On a narrow terminal, what the table says takes several lines, and none is wider than the terminal.
func TestNarrowTerminal(t *testing.T) {
	yes := true
	l := &list{Models: []entry{{Provider: "acme", ID: "small", ContextWindow: 200_000, Images: &yes}}}
	var out strings.Builder
	if err := l.print(&out, 20); err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(out.String(), "\n\n")
	if !strings.HasPrefix(table, "acme\n  small\n    context 200000,\n") || !strings.Contains(table, "images yes") {
		t.Errorf("%s", table)
	}
	for _, line := range strings.Split(table, "\n") {
		if len(line) > 20 {
			t.Errorf("%q is too wide", line)
		}
	}
}
