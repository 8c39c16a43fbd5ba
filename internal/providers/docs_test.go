package providers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/model"
)

// The page names every variable that the code asks for, and nothing that it does not.
func TestPageNamesVariables(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "providers.md"))
	if err != nil {
		t.Fatal(err)
	}
	// Some are read by others than this package.
	asked := map[string]bool{"HTTPS_PROXY": true, "NO_PROXY": true, "OLLAMA_CONTEXT_LENGTH": true, "HOME": false, "APPDATA": false}
	// Every way through the code: with nothing, with enough, and with one too few.
	for _, provider := range model.Providers() {
		ways := []env{{}, enough(provider)}
		for name := range enough(provider) {
			ways = append(ways, enough(provider).with(name, ""))
		}
		for _, way := range ways {
			choice := way.choose(provider, "some-model")
			choice.Variables = func(name string) Variable {
				if _, ok := asked[name]; !ok {
					asked[name] = true
				}
				return Variable{Value: way[name]}
			}
			_, _ = Open(choice) // whether it opens is another test's matter
		}
	}
	for name, shown := range asked {
		if has := strings.Contains(string(page), "`"+name+"`"); shown && !has {
			t.Errorf("%s is not on the page", name)
		}
	}
	for _, m := range regexp.MustCompile("`([A-Z][A-Z0-9]+(_[A-Z0-9]+)+)`").FindAllStringSubmatch(string(page), -1) {
		if !asked[m[1]] {
			t.Errorf("%s is on the page, but no code reads it", m[1])
		}
	}
	for _, provider := range model.Providers() {
		if name := model.DefaultModel(provider); provider != "replay" && !strings.Contains(string(page), "`"+provider+"`") || !strings.Contains(string(page), "`"+name+"`") && name != "" && name != "replay" {
			t.Errorf("%s or its model %s is not on the page", provider, name)
		}
	}
}

// section is the part of the page below a heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "providers.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("the page has no %s", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}
