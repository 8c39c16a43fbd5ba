package replay

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
)

// calls checks the calls of a turn and encodes their arguments.
func calls(tables []callTable) ([]call, error) {
	var out []call
	seen := make(map[string]bool)
	for i, t := range tables {
		c := call{tool: t.Tool}
		switch {
		case t.Tool == "":
			return nil, fmt.Errorf("the %s call has no tool", ordinal(i+1))
		case t.Args != nil && t.ArgsText != nil:
			return nil, fmt.Errorf("the call of %s has args and argsText; keep one", t.Tool)
		case t.ID != nil && *t.ID == "":
			return nil, fmt.Errorf("the call of %s has an empty id; leave it out to have one made", t.Tool)
		case t.ID != nil && seen[*t.ID]:
			return nil, fmt.Errorf("two calls have the id %q", *t.ID)
		}
		if t.ID != nil {
			c.id = *t.ID
			seen[c.id] = true
		}
		var err error
		if c.args, err = encodeArgs(t); err != nil {
			return nil, fmt.Errorf("the call of %s: %w", t.Tool, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// encodeArgs returns the arguments as a model would have written them: JSON with the
// members in order, or exactly the text that is given.
func encodeArgs(t callTable) ([]byte, error) {
	if t.ArgsText != nil {
		return []byte(*t.ArgsText), nil
	}
	if t.Args == nil {
		return []byte("{}"), nil
	}
	if err := checkValue("args", t.Args); err != nil {
		return nil, err
	}
	return json.Marshal(t.Args, json.Deterministic(true))
}

// checkValue refuses what TOML has and JSON has not, rather than picking a form for
// it that the writer did not see.
func checkValue(path string, v any) error {
	switch v := v.(type) {
	case string, bool, int64:
		return nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v, which JSON does not have", path, v)
		}
		return nil
	case []any:
		for i, item := range v {
			if err := checkValue(fmt.Sprintf("%s[%d]", path, i), item); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := checkValue(path+"."+key, v[key]); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s is a TOML date or time, which JSON does not have; write it in quotes", path)
}
