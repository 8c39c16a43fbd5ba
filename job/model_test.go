package job

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/rawjson"
)

// An Expert's own model and provider go before those of the job. A provider brings its own
// settings: those of the job never go to another company.
func TestModelOf(t *testing.T) {
	setting := expert.Setting{BaseURL: "https://gateway.example", Headers: map[string]string{"X-Key": "topsecret"}}
	spec := Spec{Settings: Settings{Provider: "anthropic", Model: "large", Setting: setting}}
	own := &expert.Provider{Name: "openai", Setting: expert.Setting{Organization: "o"}}
	for _, c := range []struct {
		name   string
		expert expert.Expert
		want   ModelChoice
	}{
		{"nothing of its own", expert.Expert{}, ModelChoice{"anthropic", "large", setting}},
		{"a model", expert.Expert{Model: "small"}, ModelChoice{"anthropic", "small", setting}},
		{"a provider", expert.Expert{Provider: own, Model: "gpt"}, ModelChoice{"openai", "gpt", own.Setting}},
		{"a provider without a default", expert.Expert{Provider: own}, ModelChoice{"openai", "", own.Setting}},
	} {
		if diff := cmp.Diff(c.want, spec.ModelOf(&c.expert)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Without a timeout of its own, a job waits as long as the slowest of its providers needs.
func TestTimeoutOfAnExpert(t *testing.T) {
	spec := Spec{Experts: []*expert.Expert{{Key: "own", Provider: &expert.Provider{Name: "slow"}}}}
	spec.Complete(providers{})
	if spec.Limits.Timeout != time.Hour {
		t.Errorf("the default is %v", spec.Limits.Timeout)
	}
	spec.Limits.Timeout = time.Minute
	if spec.Complete(providers{}); spec.Limits.Timeout != time.Minute {
		t.Errorf("what the Spec says became %v", spec.Limits.Timeout)
	}
}

// A provider of an Expert without a model gets its default, and the program's Expert stays as
// it is.
func TestCompleteModelOfAnExpert(t *testing.T) {
	e := &expert.Expert{Key: "own", Provider: &expert.Provider{Name: "anthropic"}}
	spec := Spec{Experts: []*expert.Expert{e, nil}}
	spec.Complete(providers{})
	if got := spec.Experts[0].Model; got != (providers{}).DefaultModel("anthropic") || got == "" || e.Model != "" {
		t.Errorf("%q, was %q", got, e.Model)
	}
}

// Experts with the same model share one use of it.
func TestModelUses(t *testing.T) {
	own := func() *expert.Provider { return &expert.Provider{Name: "openai"} }
	spec := Spec{
		Settings: Settings{Provider: "anthropic", Model: "large"},
		Experts: []*expert.Expert{
			{Key: "lead"}, {Key: "a", Model: "gpt", Provider: own()}, {Key: "b"}, {Key: "c", Model: "gpt", Provider: own()}, {Key: "d", Model: "small"},
		},
	}
	var got []string
	for _, use := range spec.ModelUses() {
		line := use.Provider + " " + use.Model + ":"
		for _, e := range use.Experts {
			line += " " + e.Key
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"anthropic large: lead b", "openai gpt: a c", "anthropic small: d"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if uses := (&Spec{Settings: spec.Settings}).ModelUses(); len(uses) != 1 || uses[0].Model != "large" {
		t.Errorf("without Experts: %+v", uses)
	}
}

// The settings of an Expert's provider are part of the Spec, but for what can be a key.
func TestProviderOfAnExpertTravels(t *testing.T) {
	spec := fullSpec()
	spec.Experts[1].Model = "gpt"
	spec.Experts[1].Provider = &expert.Provider{Name: "openai", Setting: expert.Setting{
		Organization: "o", Headers: map[string]string{"X-Key": "topsecret"}, ExtraBody: map[string]rawjson.Value{"key": rawjson.Value(`"topsecret"`)},
	}}
	text, err := spec.MarshalJSON()
	if err != nil || strings.Contains(string(text), "topsecret") {
		t.Fatalf("%v: %s", err, text)
	}
	var got Spec
	if err := got.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	got.SetHeaders(spec.Headers())
	if diff := cmp.Diff(spec, got); diff != "" {
		t.Errorf("after a round trip (-sent +got):\n%s", diff)
	}
}
