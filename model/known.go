package model

import (
	"cmp"
	"slices"

	"github.com/perstack-go/perstack/expert"
)

// Known is what is known of a model before it is asked. Zero is unknown.
type Known struct {
	ContextWindow   int // tokens
	MaxOutputTokens int
	Reasoning       Reasoning
	Efforts         []string // the words of ReasoningEffort and ReasoningAdaptive, from little to much
	Images          Ability  // what it can look at
	PDF             Ability
}

// Reasoning says in which way a model is asked to think.
type Reasoning string

// The ways. A wire that does not know the way of a model goes by the model's name.
const (
	ReasoningNone     Reasoning = "none"     // it cannot, or is not asked
	ReasoningBudget   Reasoning = "budget"   // by a number of tokens
	ReasoningEffort   Reasoning = "effort"   // by a word
	ReasoningAdaptive Reasoning = "adaptive" // as it sees fit; a word says how much
	ReasoningSwitch   Reasoning = "switch"   // on or off
)

// An Ability is what a model can do, if it is known.
type Ability string

// What is known of an ability.
const (
	Able   Ability = "yes"
	Unable Ability = "no"
)

// Lookup returns what is known of a provider's model. A model that is not in the
// catalogue can be used all the same; the run then does not know how full its window is.
//
// A deployment of azure-openai that is named like a model of OpenAI is taken for it.
func Lookup(provider, model string) (Known, bool) {
	e := find(listed(provider), model)
	if e == nil {
		return Known{}, false
	}
	k := e.Known
	k.Efforts = slices.Clone(k.Efforts)
	return k, true
}

// With is what is known once perstack.toml had its say. What the file does not say stays
// as it was.
func (k Known) With(e expert.ModelEntry) Known {
	k.ContextWindow = cmp.Or(e.ContextWindow, k.ContextWindow)
	k.MaxOutputTokens = cmp.Or(e.MaxOutputTokens, k.MaxOutputTokens)
	if e.Reasoning != "" {
		// The words of another way do not fit to this one.
		k.Reasoning, k.Efforts = Reasoning(e.Reasoning), nil
	}
	if len(e.Efforts) > 0 {
		k.Efforts = e.Efforts
	}
	k.Images, k.PDF = k.Images.with(e.Images), k.PDF.with(e.PDF)
	return k
}

func (a Ability) with(said *bool) Ability {
	if said == nil {
		return a
	}
	return ability(*said)
}

func ability(can bool) Ability {
	if can {
		return Able
	}
	return Unable
}
