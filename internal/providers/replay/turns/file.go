package turns

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2"
)

// Located puts the name of the file and the line before an error of the TOML decoder.
func Located(name string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		at := &strict.Errors[0]
		line, _ := at.Position()
		return fmt.Errorf("%s:%d: unknown key %q", name, line, strings.Join(at.Key(), "."))
	}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		return fmt.Errorf("%s:%d: %s", name, line, strings.TrimPrefix(err.Error(), "toml: "))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// EncodeArgs returns the arguments of a call as a model would write them: JSON with sorted
// members. It refuses values that TOML has and JSON lacks.
func EncodeArgs(args map[string]any) ([]byte, error) {
	if args == nil {
		return []byte("{}"), nil
	}
	if err := checkValue("args", args); err != nil {
		return nil, err
	}
	return json.Marshal(args, json.Deterministic(true))
}

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

// Words cuts s after the white space that follows each word. Answers are streamed in these
// pieces.
func Words(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest := s
		for rest != "" {
			end := len(rest)
			if space := strings.IndexFunc(rest, unicode.IsSpace); space >= 0 {
				end = len(rest) - len(strings.TrimLeftFunc(rest[space:], unicode.IsSpace))
			}
			if !yield(rest[:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}
