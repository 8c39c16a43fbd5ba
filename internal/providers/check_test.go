package providers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// What Open would refuse is listed without a key, and all at once.
func TestCheck(t *testing.T) {
	mine := map[string]jsonValue{"messages": jsonValue("[]"), "model": jsonValue(`"m"`), "service_tier": jsonValue(`"flex"`)}
	for name, c := range map[string]struct {
		choice Config
		want   []string // path: beginning of the error
	}{
		"another family":   {Config{Provider: "openai", Model: "claude-sonnet-4-5"}, []string{`model: openai: the model "claude-sonnet-4-5" is not one of this provider`}},
		"behind a gateway": {Config{Provider: "openai", Model: "claude-sonnet-4-5", Setting: expert.Setting{BaseURL: "https://gw.example/v1"}}, nil},
		"user's gateway":   {env{"OPENAI_BASE_URL": "https://gw.example/v1"}.choose("openai", "claude-sonnet-4-5"), nil},
		"bad region":       {Config{Provider: "amazon-bedrock", Model: "amazon.nova-pro-v1:0", Setting: expert.Setting{Region: "Frankfurt"}}, []string{`provider.setting: amazon-bedrock: "Frankfurt" is not a region`}},
		"no deployment":    {Config{Provider: "azure-openai", Setting: expert.Setting{ExtraBody: mine}}, []string{"model: azure-openai: no deployment is named", `provider.setting.extraBody: azure-openai: extraBody cannot set "messages"`, `provider.setting.extraBody: azure-openai: extraBody cannot set "model"`}},
		"query":            {Config{Provider: "openai", Model: "gpt-5", Setting: expert.Setting{BaseURL: "https://gw.example/v1?key=1"}}, []string{"provider.setting.baseUrl: openai: the base URL of gw.example has a user, a query or a fragment"}},
		"custom skill":     {Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Expert: &expert.Expert{ProviderSkills: []expert.ProviderSkill{{Type: "custom", Name: "x", Definition: "y"}}}}, []string{`providerSkills: anthropic: provider skill "x" is custom`}},
		"mixed tools":      {Config{Provider: "google", Model: "gemini-2.5-pro", OwnTools: true, Expert: &expert.Expert{ProviderTools: []string{"googleSearch"}}}, []string{"providerTools: google: gemini-2.5-pro cannot use googleSearch together with the tools of the Expert"}},
		"plain headers":    {Config{Provider: "ollama", Model: "m", Setting: expert.Setting{BaseURL: "http://box:1", AllowPrivateEndpoint: true, Headers: map[string]string{"A": "b"}}}, []string{"provider.setting.baseUrl: ollama: headers may hold a key"}},
		"replay":           {Config{Provider: "replay", Model: "replay"}, nil},
		"no provider":      {Config{Provider: "nope", Model: "m"}, nil},
	} {
		var got []string
		for _, p := range Check(c.choice) {
			got = append(got, p.Path+": "+p.Err.Error())
		}
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

// A missing key is not an error here, and no file is read.
func TestCheckNeedsNothing(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(broken, []byte("no credentials"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, provider := range model.Providers() {
		name := model.DefaultModel(provider)
		if name == "" {
			name = "gpt-5"
		}
		for _, e := range []env{{}, enough(provider), {credentialsVariable: broken, rootsVariable: broken, proxyVariable: "::"}} {
			choice := e.choose(provider, name)
			choice.Warn = func(message string) { t.Errorf("%s: %s", provider, message) }
			if got := Check(choice); len(got) > 0 {
				t.Errorf("%s: %v", provider, got)
			}
		}
	}
}

// To find the members that a provider refuses, few models are opened.
func TestRefusedMembers(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprint(i))
	}
	for _, bad := range [][]string{nil, {"0"}, {"999"}, {"3", "500", "501"}} {
		asked := 0
		got := refusedMembers(names, func(some []string) bool {
			asked++
			return !slices.ContainsFunc(some, func(name string) bool { return slices.Contains(bad, name) })
		})
		if !slices.Equal(got, bad) || asked > 1+len(bad)*2*10 {
			t.Errorf("%q: got %q after asking %d times", bad, got, asked)
		}
	}
}
