package manifest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// This file holds what a provider cannot do of what the file asks of it. It is known
// only when the provider is: a flag may choose another than the file.

// knownProvider refuses a name that only a flag can have: the file was checked.
func (u *use) knownProvider() {
	if err := model.CheckProvider(u.provider); err != nil {
		message, hint, _ := strings.Cut(err.Error(), "; ")
		u.reportFlag(message, hint)
	}
}

// providerFeatures looks at what the Expert wants the provider to run itself.
func (u *use) providerFeatures() {
	if u.provider == "replay" {
		// Its answers are prepared, so nothing is missed; but nothing is searched either.
		const message = "is not used by provider replay, whose answers are prepared"
		if len(u.expert.ProviderTools) > 0 {
			u.note(u.path("providerTools"), message)
		}
		if len(u.expert.ProviderSkills) > 0 {
			u.note(u.path("providerSkills"), message)
		}
		return
	}
	tools := model.ToolsOf(u.provider)
	var hint string
	switch {
	case u.provider == "azure-openai":
		// It is asked by Chat Completions, which has none of them.
		tools, hint = nil, "it is asked by Chat Completions, which has none; use openai for them"
	case len(tools) == 0:
		hint = "it has none; remove it"
	default:
		hint = "it has " + wording.And(tools)
	}
	for i, name := range u.expert.ProviderTools {
		if !slices.Contains(tools, name) {
			u.report(toml.PathTo(u.path("providerTools"), strconv.Itoa(i)), "provider "+wording.Quote(u.provider)+" has no tool "+wording.Quote(name), hint)
		}
	}
	if len(u.expert.ProviderSkills) > 0 && u.provider != "anthropic" {
		u.report(u.path("providerSkills"), "provider "+wording.Quote(u.provider)+" runs no skills itself", "only anthropic does; remove them")
	}
}
