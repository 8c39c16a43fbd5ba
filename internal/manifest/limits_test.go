package manifest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// Each limit is refused for what it cannot be, where it stands, and with advice.
func TestWrongLimits(t *testing.T) {
	const units = `write it with its unit, like "90s", "30m" or "2h"`
	const form = ` is not a duration; write numbers with units, like "90s", "30m" or "2h"`
	const cost = "must be more than 0 and at most 1000000 US dollars; " + noLimit
	for text, want := range map[string]string{
		"maxSteps = -1":                   "must be between 1 and 2147483647; STEPS",
		"maxSteps = 2147483648":           "must be between 1 and 2147483647; STEPS",
		"maxTokens = 0":                   "must be between 1 and 1000000000000; " + noLimit,
		"maxTokens = -1":                  "must be between 1 and 1000000000000; " + noLimit,
		"maxTokens = 1_000_000_000_001":   "must be between 1 and 1000000000000; " + noLimit,
		"maxTokens = 1e6":                 "must be an integer, not a floating-point number; write a whole number",
		"maxTokens = '5'":                 "must be an integer, not a string; remove the quotes",
		"maxCost = 0":                     cost,
		"maxCost = 0.0":                   cost,
		"maxCost = -0.0":                  cost,
		"maxCost = -0.5":                  cost,
		"maxCost = nan":                   cost,
		"maxCost = -nan":                  cost,
		"maxCost = +nan":                  cost,
		"maxCost = inf":                   cost,
		"maxCost = -inf":                  cost,
		"maxCost = 1_000_000.01":          cost,
		"maxCost = 9223372036854775807":   cost,
		"maxCost = '$5'":                  "must be a number, not a string; write a number without quotes and signs, like 0.50",
		"maxCost = true":                  "must be a number, not a boolean",
		"maxDuration = 90":                "must be a string, not an integer; " + units,
		"maxDuration = 1.5":               "must be a string, not a floating-point number; " + units,
		"maxDuration = true":              "must be a string, not a boolean; put it in quotes",
		"maxDuration = 07:32:00":          "must be a string, not a date or time; put it in quotes",
		"maxDuration = ''":                `""` + form,
		"maxDuration = '90'":              `"90"` + form,
		"maxDuration = '30 min'":          `"30 min"` + form,
		"maxDuration = '1d'":              `"1d"` + form,
		"maxDuration = '-5s'":             `"-5s"` + form,
		"maxDuration = '1s\\n'":           `"1s\\n"` + form,
		"maxDuration = \"1s\\u202e\"":     `"1s\u202e"` + form,
		"maxDuration = '0s'":              "must be more than 0; " + noLimit,
		"maxDuration = '0.0000000001s'":   "must be more than 0; " + noLimit,
		"maxDuration = '8760h1ms'":        "must be at most 8760h; " + noLimit,
		"maxDuration = '99999999999999h'": "must be at most 8760h; " + noLimit,
	} {
		key, value, _ := strings.Cut(text, " = ")
		column := len(key) + 4
		if value == "true" { // the parser does not say where a boolean stands
			_, ps := Parse("p.toml", []byte(text))
			column = ps[0].Column
		}
		check(t, text, fmt.Sprintf("p.toml:1:%d: %s: %s", column, key, strings.ReplaceAll(want, "STEPS", "without the key it is 100")))
		check(t, expertWith(text), fmt.Sprintf("p.toml:3:%d: experts.a.%s: %s", column, key, strings.ReplaceAll(want, "STEPS", noLimit)))
	}
}

// A number that no float and no integer can hold is refused, wherever that is noticed.
func TestNumbersThatDoNotFit(t *testing.T) {
	for _, text := range []string{"maxCost = 1e400", "maxCost = 99999999999999999999", "maxTokens = 9223372036854775808", "prices.m = {input = 1e999, output = 1}", "maxDepth = 0xFFFFFFFFFFFFFFFFF"} {
		if c, ps := Parse("p.toml", []byte(text)); c != nil || len(ps) != 1 || ps[0].Line != 1 {
			t.Errorf("%s: %v", text, ps)
		}
	}
}

func TestGoodLimits(t *testing.T) {
	for text, want := range map[string]expert.Limits{
		"":                             {},
		"maxSteps = 2_147_483_647":     {MaxSteps: 1<<31 - 1},
		"maxTokens = 1":                {MaxTokens: 1},
		"maxTokens = 1000000000000":    {MaxTokens: expert.MostTokens},
		"maxCost = 1":                  {MaxCost: 1},
		"maxCost = 0.50":               {MaxCost: 0.5},
		"maxCost = 5e-1":               {MaxCost: 0.5},
		"maxCost = 1_0.2_5":            {MaxCost: 10.25},
		"maxCost = 1_000_000":          {MaxCost: expert.MostCost},
		"maxDuration = '90s'":          {MaxDuration: 90 * time.Second},
		"maxDuration = '1h2m3.5s20ms'": {MaxDuration: time.Hour + 2*time.Minute + 3520*time.Millisecond},
		"maxDuration = '8760h'":        {MaxDuration: expert.MostDuration},
	} {
		if c := check(t, text); c.Settings.Limits.Limits != want {
			t.Errorf("%s: the job has %+v", text, c.Settings.Limits)
		}
		if c := check(t, expertWith(text)); c.Experts[0].Limits != want || c.Settings.Limits != (job.Limits{}) {
			t.Errorf("%s: the Expert has %+v, the job %+v", text, c.Experts[0].Limits, c.Settings.Limits)
		}
	}
}

func TestDepthAndParallel(t *testing.T) {
	if c := check(t, "maxDepth = 1\nmaxParallel = 10_000"); c.Settings.Limits.MaxDepth != 1 || c.Settings.Limits.MaxParallel != 10_000 {
		t.Errorf("%d, %d", c.Settings.Limits.MaxDepth, c.Settings.Limits.MaxParallel)
	}
	check(t, "maxDepth = 0\nmaxParallel = 0",
		"p.toml:1:12: maxDepth: must be between 1 and 1000; without the key it is 8",
		"p.toml:2:15: maxParallel: must be between 1 and 10000; without the key it is 16")
	check(t, "maxDepth = 1001\nmaxParallel = 10001",
		"p.toml:1:12: maxDepth: must be between 1 and 1000; without the key it is 8",
		"p.toml:2:15: maxParallel: must be between 1 and 10000; without the key it is 16")
}

func TestPrices(t *testing.T) {
	c := check(t, "[prices.\"gpt-4.1\"]\ninput = 2\noutput = 8.0\n[prices.free]\ninput = 0\noutput = -0.0\ncachedInput = 0\n[prices.cached]\ninput = 4\noutput = 9\ncachedInput = 0\ncacheWrite = 5")
	want := map[string]expert.Price{
		"gpt-4.1": {Input: 2, Output: 8, CachedInput: 2, CacheWrite: 2}, // absent is never cheaper than known
		"free":    {},
		"cached":  {Input: 4, Output: 9, CachedInput: 0, CacheWrite: 5},
	}
	if len(c.Prices) != len(want) {
		t.Errorf("%d prices", len(c.Prices))
	}
	for model, p := range want {
		if c.Prices[model] != p {
			t.Errorf("%s: %+v", model, c.Prices[model])
		}
	}
	if c := check(t, "[prices]"); c.Prices != nil {
		t.Errorf("an empty table gives %v", c.Prices)
	}
}

func TestWrongPrices(t *testing.T) {
	const unit = "it is US dollars for a million tokens"
	for text, want := range map[string]string{
		"[prices.m]":                               "p.toml:1:9: prices.m.input: is required; " + unit + "\np.toml:1:9: prices.m.output: is required; " + unit,
		"[prices.m]\ninput = 1":                    "p.toml:1:9: prices.m.output: is required; " + unit,
		"[prices.m]\ninput = -1\noutput = nan":     "p.toml:2:9: prices.m.input: must be between 0 and 100000; " + unit + "\np.toml:3:10: prices.m.output: must be between 0 and 100000; " + unit,
		"[prices.m]\ninput = inf\noutput = 100001": "p.toml:2:9: prices.m.input: must be between 0 and 100000; " + unit + "\np.toml:3:10: prices.m.output: must be between 0 and 100000; " + unit,
		"[prices.m]\ninput = '3'\noutput = 1":      "p.toml:2:9: prices.m.input: must be a number, not a string; write a number without quotes and signs, like 0.50",
		"[prices.m]\ninput=1\noutput=1\ncached=1":  `p.toml:4:1: prices.m.cached: unknown key; did you mean "cachedInput"?`,
		"[prices.m]\ninput=1\noutput=1\nmodel='x'": "p.toml:4:1: prices.m.model: unknown key; it is a top-level key: move it above the first [table]",
		"[prices.gpt-4.1]\ninput = 2\noutput = 8":  `p.toml:1:15: prices.gpt-4.1: unknown key; put the name of the model in quotes, like [prices."gpt-4.1"]`,
		"[prices]\nm = 3":                          `p.toml:2:5: prices.m: must be a table, not an integer; write [prices."m"] with input and output below it`,
		"[prices.\"\"]\ninput=1\noutput=1":         `p.toml:1:9: prices."": is empty; write something or remove the key`,
		"[prices.\"a\\u202e\"]\ninput=1\noutput=1": `p.toml:1:9: prices."a\u202e": has an invisible character (U+202E); remove it`,
		"prices = 3":            "p.toml:1:10: prices: must be a table, not an integer",
		"[[prices]]\ninput = 1": "p.toml:1:3: prices: must be a table, not an array",
		"[prices.m]\ninput=1\noutput=1\n[prices.m]": "p.toml:4:9: prices.m: defined twice; the first is on line 1",
		"input = 3":                                    `p.toml:1:1: input: unknown key; it belongs to a price: move it into [prices."<model>"]`,
		expertWith("prices = {}"):                      "p.toml:3:1: experts.a.prices: unknown key; it is a table of its own: write it like [prices.<name>]",
		expertWith("maxDepth = 3"):                     "p.toml:3:1: experts.a.maxDepth: unknown key; it is a top-level key: move it above the first [table]",
		expertWith("maxParallel = 3"):                  "p.toml:3:1: experts.a.maxParallel: unknown key; it is a top-level key: move it above the first [table]",
		expertWith("maxCosts = 3"):                     `p.toml:3:1: experts.a.maxCosts: unknown key; did you mean "maxCost"?`,
		"[provider]\nproviderName='replay'\nmaxCost=3": "p.toml:3:1: provider.maxCost: unknown key; it bounds a job or an expert: move it above the first [table], or into [experts.<name>]",
		"max_tokens = 3":                               `p.toml:1:1: max_tokens: unknown key; did you mean "maxTokens"?`,
	} {
		check(t, text, strings.Split(want, "\n")...)
	}
}

// Flags read durations with the same function, so errors name no key.
func TestParseDuration(t *testing.T) {
	if d, err := ParseDuration("1h30m"); d != 90*time.Minute || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	for _, text := range []string{"", "0s", "5", "1y", "inf", "1e3s", strings.Repeat("1h", 17), strings.Repeat("9", 31) + "h"} {
		if d, err := ParseDuration(text); d != 0 || err == nil || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
}
