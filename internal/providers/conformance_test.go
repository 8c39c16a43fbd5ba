package providers_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/rawjson"
)

// TestConformance holds every provider to every promise of package modeltest. With -v it
// prints a table of them. The requests of some conversations are kept as files, one for
// each provider and case, to be compared with the documentation of the provider.
func TestConformance(t *testing.T) {
	kept := map[string]bool{}
	modeltest.Run(t, modeltest.Subjects(), func(t *testing.T, s *modeltest.Subject, c modeltest.Case, all []llm.Recorded) {
		if !c.Golden || s.Way != "" && c.Name != "text" {
			return // another way to the same provider differs by the address alone
		}
		name := slug(s.Name) + "/" + slug(c.Name) + ".json"
		golden(t, name, all)
		kept[name] = true
	})
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimPrefix(filepath.ToSlash(file), "testdata/"); !kept[name] && !t.Failed() && flag.Lookup("test.run").Value.String() == "" {
			t.Errorf("%s belongs to no case", file)
		}
	}
}

func slug(name string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// golden keeps the requests of a conversation: where each went, the headers that are about
// its meaning, and its body.
func golden(t *testing.T, name string, all []llm.Recorded) {
	t.Helper()
	type request struct {
		Post   string            `json:"POST"`
		Header map[string]string `json:"header"`
		Body   rawjson.Value     `json:"body"`
	}
	var requests []request
	for _, r := range all {
		header := map[string]string{}
		for _, name := range []string{"Accept", "Anthropic-Beta", "Anthropic-Version", "Content-Type"} {
			if value := r.Header.Get(name); value != "" {
				header[name] = value
			}
		}
		requests = append(requests, request{r.URI, header, r.Raw})
	}
	text, err := json.Marshal(requests, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if *testkit.Update {
		if err := os.MkdirAll(filepath.Join("testdata", filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Golden(t, name, string(text)+"\n")
}
