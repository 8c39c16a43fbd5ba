package expert

import (
	"errors"
	"slices"
	"strconv"
)

// This file holds what a provider cannot do of what the file asks of it. It is known
// only when the provider is: a flag may choose another than the file.

// knownProvider refuses a name that only a flag can have: the file was checked.
func (u *use) knownProvider() {
	if !slices.Contains(Providers(), u.provider) {
		u.reportFlag(unknownProvider(u.provider))
	}
}

// CheckProvider says that there is no such provider, and which one may have been meant.
func CheckProvider(name string) error {
	if slices.Contains(Providers(), name) {
		return nil
	}
	message, hint := unknownProvider(name)
	return errors.New(message + "; " + hint)
}

func unknownProvider(name string) (message, hint string) {
	return "provider " + quote(name) + " is unknown", didYouMean(name, Providers())
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
	tools := ToolsOfProvider(u.provider)
	var hint string
	switch {
	case u.provider == "azure-openai":
		// It is asked by Chat Completions, which has none of them.
		tools, hint = nil, "it is asked by Chat Completions, which has none; use openai for them"
	case len(tools) == 0:
		hint = "it has none; remove it"
	default:
		hint = "it has " + andList(tools)
	}
	for i, name := range u.expert.ProviderTools {
		if !slices.Contains(tools, name) {
			u.report(pathTo(u.path("providerTools"), strconv.Itoa(i)), "provider "+quote(u.provider)+" has no tool "+quote(name), hint)
		}
	}
	if len(u.expert.ProviderSkills) > 0 && u.provider != "anthropic" {
		u.report(u.path("providerSkills"), "provider "+quote(u.provider)+" runs no skills itself", "only anthropic does; remove them")
	}
}

// ToolsOfProvider are the names that providerTools can have with a provider.
func ToolsOfProvider(provider string) []string {
	for _, p := range providerTools {
		if p.provider == provider {
			return p.tools
		}
	}
	return nil
}

func andList(words []string) string {
	list := orList(words)
	if len(words) < 2 {
		return list
	}
	last := words[len(words)-1]
	return list[:len(list)-len(" or "+last)] + " and " + last
}
