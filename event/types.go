package event

import (
	"maps"
	"slices"
)

// Types returns the names of all event types that this version knows, in order. A
// program that lets a user choose among them can tell a slip from a type without events.
func Types() []Type { return slices.Sorted(maps.Keys(codecs)) }
