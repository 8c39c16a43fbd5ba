package model

import (
	"strings"
	"testing"
)

// A row that lacks something would show up far away: as a key that a skill gets to see, or
// a setting that nothing accepts.
func TestProviders(t *testing.T) {
	seen := map[string]string{}
	for _, p := range AllProviders() {
		for _, variable := range append([]string{p.BaseURLEnv}, p.KeyEnv...) {
			if other, taken := seen[variable]; taken && variable != "" {
				t.Errorf("%s belongs to %s and %s", variable, other, p.Name)
			}
			seen[variable] = p.Name
		}
		if p.Name == replay {
			continue
		}
		if p.BaseURLEnv == "" || len(p.Settings) == 0 {
			t.Errorf("%s lacks a variable for its address, or settings", p.Name)
		}
		if p.ToolHint != "" && len(p.Tools) == 0 {
			t.Errorf("%s has a hint about tools that it does not have", p.Name)
		}
		if p.Catalogue != "" && ProviderNamed(p.Catalogue).Name == "" {
			t.Errorf("the models of %s are listed under %q, which is no provider", p.Name, p.Catalogue)
		}
		if ProviderNamed(p.Name).Name != p.Name || CheckProvider(p.Name) != nil {
			t.Errorf("%s is not found", p.Name)
		}
	}
}

func TestCheckProvider(t *testing.T) {
	for name, want := range map[string]string{
		"antropic":               `provider "antropic" is unknown; did you mean "anthropic"?`,
		"":                       `provider "" is unknown; use anthropic, google, openai, `,
		strings.Repeat("a", 100): `provider "` + strings.Repeat("a", 60) + `" is unknown; use anthropic`,
	} {
		if err := CheckProvider(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, want := range map[string]string{"cassette": "replay", "guardrail": "amazon-bedrock", "safetySettings": "google google-vertex", "nothing": ""} {
		if got := strings.Join(SettingOwners(name), " "); got != want {
			t.Errorf("%s is a setting of %q, want %q", name, got, want)
		}
	}
}
