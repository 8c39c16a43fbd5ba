package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
)

func TestModels(t *testing.T) {
	c := check(t, `
[models."gpt-4.1"]
contextWindow = 1_000
maxOutputTokens = 500
reasoning = "effort"
efforts = ["low", "high"]
images = true
pdf = false
[models.small]
images = false
[models.empty]
`)
	yes, no := true, false
	want := map[string]expert.ModelEntry{
		"gpt-4.1": {ContextWindow: 1000, MaxOutputTokens: 500, Reasoning: "effort", Efforts: []string{"low", "high"}, Images: &yes, PDF: &no},
		"small":   {Images: &no},
		"empty":   {},
	}
	if d := cmp.Diff(want, c.Models); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if c := check(t, "[models]"); c.Models != nil {
		t.Errorf("%v", c.Models)
	}
}

func TestModelProblems(t *testing.T) {
	const unit = "it is a number of tokens; leave the key out if you do not know it"
	for _, c := range []struct{ text, want string }{
		{"models = 1", `p.toml:1:10: models: must be a table, not an integer`},
		{"[models]\nm = 1", `p.toml:2:5: models.m: must be a table, not an integer; write [models."m"] with what you know below it`},
		{"[models.'']", `p.toml:1:9: models."": is empty; write something or remove the key`},
		{"[models.m]\ncontextWindow = 0", `p.toml:2:17: models.m.contextWindow: must be between 1 and 1000000000; ` + unit},
		{"[models.m]\ncontextWindow = '200k'", `p.toml:2:17: models.m.contextWindow: must be an integer, not a string; remove the quotes`},
		{"[models.m]\ncontextWindow = 1_000_000_001", `p.toml:2:17: models.m.contextWindow: must be between 1 and 1000000000; ` + unit},
		{"[models.m]\ncontextWindow = 10\nmaxOutputTokens = 11", `p.toml:3:19: models.m.maxOutputTokens: is more than contextWindow; an answer is part of the window too`},
		{"[models.m]\nreasoning = 'much'", `p.toml:2:13: models.m.reasoning: unknown value "much"; use none, budget, effort, adaptive or switch`},
		{"[models.m]\nreasoning = 'budget'\nefforts = ['low']", `p.toml:3:1: models.m.efforts: goes with reasoning = "effort" or "adaptive"; remove it`},
		{"[models.m]\nefforts = ['']", `p.toml:2:12: models.m.efforts.0: is empty; write something or remove the key`},
		{"[models.m]\nimages = 'yes'", `p.toml:2:10: models.m.images: must be a boolean, not a string; remove the quotes`},
		{"[models.m]\nmaxOutput = 1", `p.toml:2:1: models.m.maxOutput: unknown key; did you mean "maxOutputTokens"?`},
		{"[models.gpt-4.1]\ncontextWindow = 1", `p.toml:1:15: models.gpt-4.1: unknown key; put the name of the model in quotes, like [models."gpt-4.1"]`},
		{"[models.m]\ninput = 1", `p.toml:2:1: models.m.input: unknown key; it belongs to a price: move it into [prices."<model>"]`},
		{"[prices.m]\ninput = 1\noutput = 1\ncontextWindow = 1", `p.toml:4:1: prices.m.contextWindow: unknown key; it is about a model: move it into [models."<model>"]`},
		{"[provider]\nproviderName = 'openai'\nmodels = {}", `p.toml:3:1: provider.models: unknown key; it is a table of its own: write it like [models.<name>]`},
	} {
		check(t, c.text, c.want)
	}
}

// A price may be another for what is long, and only for that.
func TestPriceFor(t *testing.T) {
	p := expert.Price{Input: 1, Output: 2, Long: expert.LongPrice{Above: 100, Input: 3, CachedInput: 4, CacheWrite: 5, Output: 6}}
	for input, want := range map[int]expert.Price{0: p, 100: p, 101: {Input: 3, CachedInput: 4, CacheWrite: 5, Output: 6}} {
		if got := p.For(input); got != want {
			t.Errorf("of %d tokens: %+v", input, got)
		}
	}
	if flat := (expert.Price{Input: 1}); flat.For(1<<40) != flat {
		t.Error("a price without a second one changes")
	}
}
