package consent_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
)

// A registry that only the project names is asked about where it is used. An answer is for its
// address, its scope and its key.
func TestRegistryRequests(t *testing.T) {
	config := parse(t, "perstackApiBaseUrl = 'https://d.example'\n[registries.acme]\nurl = 'https://a.example'\nscopes = ['@acme']")
	list := func(all ...consent.Registry) []consent.Request {
		return consent.List(consent.Project{Config: config, Registries: all, Resolved: job.Resolve(job.Flags{}, config.Settings, job.Settings{}, providers.Catalogue{})})
	}
	if got := list(); len(got) > 0 {
		t.Errorf("asked about registries that are not used: %v", got)
	}
	acme := consent.Registry{Name: "acme", URL: "https://a.example", Scope: "@acme"}
	usual := consent.Registry{Name: "default", URL: "https://d.example"}
	var got []string
	for _, r := range list(usual, acme, acme, consent.Registry{Name: "default", URL: "https://api.perstack.ai", LogKey: "k", KeyOnly: true}) {
		got = append(got, fmt.Sprintf("%s %d %t: %s", r.Kind, r.Line, r.Explicit, r.Text))
	}
	want := []string{
		"registries 1 true: Experts that are not in the file come from https://d.example, which does not get your PERSTACK_API_KEY; the first key of its log that is seen counts",
		"registries 2 false: Experts of @acme come from https://a.example; the first key of its log that is seen counts",
		"registries 2 false: the log of https://api.perstack.ai has the key k",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first := list(acme)[0].Digest()
	for what, change := range map[string]func(*consent.Registry){
		"address": func(r *consent.Registry) { r.URL = "https://b.example" },
		"scope":   func(r *consent.Registry) { r.Scope = "@other" },
		"key":     func(r *consent.Registry) { r.LogKey = "k" },
		"default": func(r *consent.Registry) { r.Name = "default" },
	} {
		other := acme
		change(&other)
		if list(other)[0].Digest() == first {
			t.Errorf("not asked again about another %s", what)
		}
	}
	renamed := acme
	renamed.Name = "other" // a name is only for display
	if list(renamed)[0].Digest() != first {
		t.Error("asked again about another name")
	}
}
