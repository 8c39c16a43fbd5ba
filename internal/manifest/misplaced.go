package manifest

import (
	"slices"
)

// misplaced says where a key belongs that is known, but not where it stands.
// By the scoping of TOML a top-level key written below [provider] is part of
// the provider, and would be lost without a word.
func misplaced(key string) string {
	switch {
	case key == "prices" || key == "models" || key == "experts":
		return "it is a table of its own: write it like [" + key + ".<name>]"
	case key == "docker":
		return "it is a table of its own: write it as [docker]"
	case key == "sharedCell": // a file must not take a wall down
		return "it is a flag of perstack run only: --shared-cell"
	case slices.Contains(limitKeys, key):
		return "it bounds a job or an expert: move it above the first [table], or into [experts.<name>]"
	case slices.Contains(topKeys, key):
		return "it is a top-level key: move it above the first [table]"
	case slices.Contains(expertKeys, key):
		return "it belongs to an expert: move it into [experts.<name>]"
	case slices.Contains(anySkillKeys, key):
		return "it belongs to a skill: move it into [experts.<name>.skills.<skill>]"
	case slices.Contains(dockerKeys, key):
		return "it is about the container: move it into [docker]"
	case slices.Contains(priceKeys, key):
		return `it belongs to a price: move it into [prices."<model>"]`
	case slices.Contains(modelKeys, key):
		return `it is about a model: move it into [models."<model>"]`
	case key == "providerName" || key == "setting":
		return "it belongs to the provider: move it into [provider]"
	}
	return ""
}
