package toml

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// Plain returns a value as its JSON has it, for [Inline]: a struct of texts, numbers and lists.
func Plain(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil // such a struct always encodes
	}
	return out
}

// Key writes the name of a member, in quotes if it needs them.
func Key(name string) string {
	if IsBare(name) {
		return name
	}
	return String(name)
}

// Inline writes a value of JSON in one line, without lists and tables that are empty; "" if nothing is
// left.
func Inline(v any) string {
	var parts []string
	switch v := v.(type) {
	case string:
		return String(v)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		for _, item := range v {
			parts = append(parts, Inline(item))
		}
		if len(parts) > 0 {
			return "[" + strings.Join(parts, ", ") + "]"
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if text := Inline(v[name]); text != "" {
				parts = append(parts, Key(name)+" = "+text)
			}
		}
		if len(parts) > 0 {
			return "{ " + strings.Join(parts, ", ") + " }"
		}
	}
	return ""
}
