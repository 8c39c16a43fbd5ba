package manifest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// A value is what a key may hold: how the schema describes it, how the reference calls it
// and how it is read. Absent or wrong, it is read as zero.
type value[V any] struct {
	schema *jsonSchema
	form   string
	rules  []toml.Rule // of a text
	read   func(t *toml.Table, key string) V
}

// matching is a text of this form, of at most high characters; 0 is no limit.
func matching(expression string, high int, form string, rules ...toml.Rule) value[string] {
	return value[string]{
		schema: &jsonSchema{Type: "string", Pattern: expression, MaxLength: high}, form: form, rules: rules,
		read: func(t *toml.Table, key string) string { return t.Str(key, rules...) },
	}
}

// text has low to high characters. If it must have some, it is not blank.
func text(low, high int, rules ...toml.Rule) value[string] {
	form := "text"
	if high > 255 {
		form = fmt.Sprintf("text, up to %d characters", high)
	}
	v := matching("", high, form, append([]toml.Rule{toml.Length(low, high)}, rules...)...)
	v.schema.MinLength = low
	if low > 0 {
		v.schema.Pattern = notBlank
	}
	return v
}

// word is one of a closed list.
func word(list ...string) value[string] {
	v := matching("", 0, "`"+strings.Join(list, "`, `")+"`", toml.OneOf(list...))
	if last := strings.LastIndex(v.form, ", "); last >= 0 {
		v.form = v.form[:last] + " or " + v.form[last+2:]
	}
	v.schema.Enum = list
	return v
}

// list has at most limit texts; 0 is no limit.
func list(limit int, about string, item value[string]) value[[]string] {
	form := "list"
	if limit > 0 {
		form = fmt.Sprintf("list of at most %d", limit)
	}
	described := *item.schema
	described.Description = about
	return value[[]string]{
		schema: &jsonSchema{Type: "array", Items: &described, MaxItems: limit}, form: form,
		read: func(t *toml.Table, key string) []string { return t.Strs(key, limit, item.rules...) },
	}
}

func flag() value[bool] {
	return value[bool]{schema: &jsonSchema{Type: "boolean", Default: false}, form: "true or false", read: (*toml.Table).Bool}
}

// maybe is a boolean that says nothing when it is absent.
func maybe() value[*bool] {
	return value[*bool]{schema: &jsonSchema{Type: "boolean"}, form: "true or false", read: func(t *toml.Table, key string) *bool {
		if n := t.Want(key, toml.KindBool); n != nil {
			return new(n.Text == "true")
		}
		return nil
	}}
}

// between is a whole number. The hint says what it counts, or what holds without it.
func between(low int, high int64, hint string) value[int64] {
	form := fmt.Sprintf("whole number from %d", low)
	if low > 1 {
		form += fmt.Sprintf(" to %d", high)
	}
	return value[int64]{
		schema: &jsonSchema{Type: "integer", Minimum: &low, Maximum: high}, form: form,
		read: func(t *toml.Table, key string) int64 {
			n := t.Want(key, toml.KindInteger)
			if n == nil || n.Unreadable {
				return 0
			}
			if n.Number < int64(low) || n.Number > high {
				t.Reader.Fault(n.At, n.Path(), fmt.Sprintf("must be between %d and %d", low, high), hint)
				return 0
			}
			return n.Number
		},
	}
}

// milliseconds is a time of at most limit that is not zero.
func milliseconds(limit time.Duration) value[time.Duration] {
	v := between(1, limit.Milliseconds(), "it is a number of milliseconds")
	return value[time.Duration]{
		schema: v.schema, form: fmt.Sprintf("milliseconds, up to %d", limit.Milliseconds()),
		read: func(t *toml.Table, key string) time.Duration {
			return time.Duration(inMilliseconds(v).read(t, key)) * time.Millisecond
		},
	}
}

// inMilliseconds is a number of milliseconds, with a hint for a text that has a unit.
func inMilliseconds(v value[int64]) value[int64] {
	read := v.read
	v.read = func(t *toml.Table, key string) int64 {
		n := t.Node.Fields[key]
		if n == nil || n.Kind != toml.KindString {
			return read(t, key)
		}
		hint := "it is a number of milliseconds"
		if d, err := ParseDuration(n.Text); err == nil {
			hint += fmt.Sprintf(": write %d", d.Milliseconds())
		} else if _, err := strconv.Atoi(n.Text); err == nil {
			hint = "remove the quotes"
		}
		t.Reader.Fault(n.At, n.Path(), "must be an integer, not a string", hint)
		return 0
	}
	return v
}

// noLimit answers a limit of 0, which could mean all or nothing.
const noLimit = "leave the key out for no limit"

// amount is a number of either kind. Check says what is wrong with it; it must not let NaN
// pass, of which no comparison holds.
func amount(schema *jsonSchema, form string, check func(v float64) (message, hint string)) value[float64] {
	schema.Type = "number"
	return value[float64]{schema: schema, form: form, read: func(t *toml.Table, key string) float64 {
		n := t.Get(key)
		var message, hint string
		switch {
		case n.Unreadable:
			return 0
		case n.Kind == toml.KindInteger || n.Kind == toml.KindFloat:
			if message, hint = check(n.Amount()); message == "" {
				return math.Abs(n.Amount()) // -0.0 is 0
			}
		default:
			message = fmt.Sprintf("must be a number, not %s", n.Kind)
			if n.Kind == toml.KindString {
				hint = "write a number without quotes and signs, like 0.50"
			}
		}
		t.Reader.Fault(n.At, n.Path(), message, hint)
		return 0
	}}
}

// dollars is an amount of money that is more than 0.
func dollars(most float64) value[float64] {
	return amount(&jsonSchema{Above: new(0), Maximum: int64(most)}, "number above 0", func(v float64) (string, string) {
		if v > 0 && v <= most {
			return "", ""
		}
		return fmt.Sprintf("must be more than 0 and at most %.0f US dollars", most), noLimit
	})
}

// duration is a time with its unit. The hint says what holds without the key. That it is
// not 0 and not years only the parser can tell, not the schema.
func duration(example, without string) value[time.Duration] {
	return value[time.Duration]{
		schema: &jsonSchema{Type: "string", Pattern: durationPattern, MaxLength: maxDurationText}, form: "text like `\"" + example + "\"`",
		read: func(t *toml.Table, key string) time.Duration {
			n := t.Get(key)
			switch {
			case n.Kind == toml.KindInteger || n.Kind == toml.KindFloat:
				t.Reader.Fault(n.At, n.Path(), fmt.Sprintf("must be a string, not %s", n.Kind), `write it with its unit, like "90s", "30m" or "2h"`)
				return 0
			case !t.Reader.Is(n, toml.KindString):
				return 0
			}
			d, err := ParseDuration(n.Text)
			if err != nil {
				message, hint := splitHint(err)
				if hint == noLimit {
					hint = without
				}
				t.Reader.Fault(n.At, n.Path(), message, hint)
			}
			return d
		},
	}
}

// deadline is a duration of at least low.
func deadline(example string, low time.Duration) value[time.Duration] {
	const without = "leave the key out for the default"
	v := duration(example, without)
	read := v.read
	v.form += ", from `\"" + FormatDuration(low) + "\"`"
	v.read = func(t *toml.Table, key string) time.Duration {
		d := read(t, key)
		if d > 0 && d < low {
			t.Reader.Fault(t.Node.Fields[key].At, t.At(key), fmt.Sprintf("must be at least %s", low), without)
			return 0
		}
		return d
	}
	return v
}

// splitHint takes an error apart that ends with its hint.
func splitHint(err error) (message, hint string) {
	message, hint, _ = strings.Cut(err.Error(), "; ")
	return message, hint
}

// size is a number of bytes from low: a text with its unit, or a whole number. The bounds
// of a text only the parser can tell, not the schema.
func size(low int) value[int64] {
	const hint = `write it with its unit, like "512MiB" or "2GiB"`
	least, most := FormatBytes(int64(low)), FormatBytes(mostDockerBytes)
	return value[int64]{
		schema: &jsonSchema{AnyOf: []*jsonSchema{
			{Description: "A whole number with its unit, such as 512MiB.", Type: "string", Pattern: bytesPattern},
			{Description: "A number of bytes.", Type: "integer", Minimum: &low, Maximum: mostDockerBytes},
		}},
		form: "size from `\"" + least + "\"`",
		read: func(t *toml.Table, key string) int64 {
			n := t.Get(key)
			switch {
			case n.Unreadable:
			case n.Kind == toml.KindInteger:
				if n.Number >= int64(low) && n.Number <= mostDockerBytes {
					return n.Number
				}
				t.Reader.Fault(n.At, n.Path(), fmt.Sprintf("must be between %d and %d bytes", low, int64(mostDockerBytes)), fmt.Sprintf("that is %s to %s; %s", least, most, hint))
			case n.Kind == toml.KindString:
				size, err := ParseBytes(n.Text)
				if err != nil {
					message, hint := splitHint(err)
					t.Reader.Fault(n.At, n.Path(), message, hint)
					return 0
				}
				if size >= int64(low) && size <= mostDockerBytes {
					return size
				}
				t.Reader.Fault(n.At, n.Path(), fmt.Sprintf("must be between %s and %s", least, most), "")
			default:
				t.Reader.Fault(n.At, n.Path(), fmt.Sprintf("must be a string or an integer, not %s", n.Kind), hint)
			}
			return 0
		},
	}
}

// named reads a table of tables whose keys are names of models; nil if there are none.
func named[V any](r *reader, t *toml.Table, key, below string, read func(entry *toml.Table) V) (found map[string]V) {
	all := t.Sub(key)
	if all == nil {
		return nil
	}
	for _, model := range all.Node.Keys {
		n := all.Node.Fields[model]
		if !r.Check(n.Name(model), toml.Length(1, 255), toml.Printable) {
			continue
		}
		if n.Kind != toml.KindTable {
			r.Fault(n.At, n.Path(), fmt.Sprintf("must be a table, not %s", n.Kind), "write ["+key+"."+wording.Quote(model)+"] with "+below+" below it")
			continue
		}
		entry := r.Table(n)
		if found == nil {
			found = map[string]V{}
		}
		found[model] = read(entry)
		entry.Finish(splitName(entry, key, model), r.tables.misplaced)
	}
	return found
}

// splitName is the hint for a name of a model that TOML took apart at its dots.
func splitName(t *toml.Table, table, model string) func(key string) string {
	return func(key string) string {
		if t.Node.Fields[key].Kind != toml.KindTable {
			return ""
		}
		return "put the name of the model in quotes, like [" + table + "." + wording.Quote(model+"."+key) + "]"
	}
}
