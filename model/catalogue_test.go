package model

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/perstack-go/perstack/expert"
)

// Every row can be right, can be reached, and stands where it is looked for.
func TestCatalogue(t *testing.T) {
	day, err := time.Parse(time.DateOnly, PricesDate())
	if err != nil || day.After(time.Now()) {
		t.Errorf("the date is %q", PricesDate())
	}
	if !slices.IsSortedFunc(rows, func(a, b Entry) int { return cmp.Compare(a.Provider, b.Provider) }) {
		t.Error("the rows are not sorted by provider")
	}
	ids, plain := map[string]bool{}, map[string]string{}
	for i := range rows {
		r := &rows[i]
		name := r.Provider + " " + r.ID
		if !slices.Contains(Providers(), r.Provider) || listed(r.Provider) != r.Provider || r.ID == "" {
			t.Errorf("%s: this name is never looked up", name)
		}
		if ids[name] {
			t.Errorf("%s is there twice", name)
		}
		ids[name] = true
		if got := find(r.Provider, r.ID); got == nil || got.ID != r.ID {
			t.Errorf("%s is not reached, but %+v", name, got)
		}
		// Another version of a model must not mean now this row and now that. A row
		// without a version decides.
		if key := r.Provider + " " + unversioned(r.Provider, r.ID); plain[key] != "" && !ids[key] {
			t.Errorf("%s and %s are versions of one model", name, plain[key])
		} else {
			plain[key] = name
		}
		if at, err := time.Parse(time.DateOnly, r.date()); err != nil || at.Before(day) || at.After(time.Now()) || r.Date != "" && !at.After(day) {
			t.Errorf("%s was looked up on %q", name, r.Date)
		}
		checkRow(t, name, r)
	}
	for _, provider := range Providers() {
		if name := DefaultModel(provider); name != "" && provider != "replay" {
			if _, ok := Lookup(provider, name); !ok {
				t.Errorf("the default model %s of %s is not known", name, provider)
			}
			if _, ok := PriceOf(provider, name); !ok {
				t.Errorf("the default model %s of %s has no price", name, provider)
			}
		}
	}
}

func checkRow(t *testing.T, name string, r *Entry) {
	t.Helper()
	if r.ContextWindow < 8192 || r.ContextWindow > 4_000_000 || r.MaxOutputTokens < 1024 || r.MaxOutputTokens > r.ContextWindow {
		t.Errorf("%s: a window of %d tokens with answers of %d", name, r.ContextWindow, r.MaxOutputTokens)
	}
	words := r.Reasoning == ReasoningEffort || r.Reasoning == ReasoningAdaptive
	if !slices.Contains([]Reasoning{ReasoningNone, ReasoningBudget, ReasoningEffort, ReasoningAdaptive, ReasoningSwitch}, r.Reasoning) || words != (len(r.Efforts) > 0) {
		t.Errorf("%s thinks by %q with %q", name, r.Reasoning, r.Efforts)
	}
	// From little to much, and only words that exist.
	if all := []string{"none", "minimal", "low", "medium", "high"}; !slices.IsSortedFunc(r.Efforts, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) }) ||
		slices.ContainsFunc(r.Efforts, func(s string) bool { return !slices.Contains(all, s) }) {
		t.Errorf("%s: efforts %q", name, r.Efforts)
	}
	p := r.Price
	switch {
	case p == nil:
		return
	case r.Provider == ollama:
		if *p != (expert.Price{}) {
			t.Errorf("%s costs %+v", name, p)
		}
		return
	case p.Input <= 0 || p.CachedInput <= 0 || p.Output <= 0 || p.CacheWrite < 0 || p.Output > 200:
		t.Errorf("%s costs %+v", name, p)
	case p.CachedInput > p.Input || p.Output < p.Input || p.CacheWrite > 0 && p.CacheWrite < p.Input:
		t.Errorf("%s: reading a cache costs at most what input costs, writing one and output at least: %+v", name, p)
	}
	if l := p.Long; l.Above != 0 && (l.Above < 8192 || l.Above >= r.ContextWindow || l.Input <= p.Input || l.Output <= p.Output || l.CachedInput < p.CachedInput || (l.CacheWrite > 0) != (p.CacheWrite > 0)) {
		t.Errorf("%s: what is long costs more: %+v, %+v", name, p, l)
	}
}

// What was looked up later than the rest says so.
func TestPriceDate(t *testing.T) {
	for _, c := range []struct{ provider, model, want string }{
		{"anthropic", "claude-sonnet-4-5", PricesDate()},
		{"anthropic", "claude-opus-5", "2026-11-15"},
		{"deepseek", "deepseek-chat", "2026-11-15"},
		{"google-vertex", "gemini-2.5-pro", PricesDate()},
		{"anthropic", "claude-next", ""},
	} {
		if got := PriceDate(c.provider, c.model); got != c.want {
			t.Errorf("%s %s: %q", c.provider, c.model, got)
		}
	}
	for _, e := range All() {
		if e.Date != PriceDate(e.Provider, e.ID) || e.Date == "" {
			t.Errorf("%s %s: %q", e.Provider, e.ID, e.Date)
		}
	}
}

func TestAll(t *testing.T) {
	all := All()
	if len(all) != len(rows) || len(all) < 40 {
		t.Fatalf("%d models", len(all))
	}
	for _, e := range all {
		k, ok := Lookup(e.Provider, e.ID)
		if !ok || k.ContextWindow != e.ContextWindow || k.Images != e.Images {
			t.Errorf("%s %s is %+v here and %+v there", e.Provider, e.ID, e.Known, k)
		}
		if p, ok := PriceOf(e.Provider, e.ID); ok != (e.Price != nil) || ok && p != *e.Price {
			t.Errorf("%s %s costs %+v here and %+v there", e.Provider, e.ID, e.Price, p)
		}
	}
}
