package manifest

import (
	"slices"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// A key is one key of a table of perstack.toml: its name, what it may hold, what it is for
// and where its value goes. The parser, the JSON Schema and the tables of the reference
// page are made of these rows. To add a key, add a row.
type key[T any] struct {
	name   string
	about  string // one sentence, for editors and for the reference
	schema func() *jsonSchema
	form   string   // what its value looks like, for the reference
	kinds  []string // the providers or types of skills that have it; nil means all
	hint   string   // what to write when it is missing, {path} being its own; empty if it may be missing
	value  any      // what holds without it; nil if the schema says that, or nothing does
	absent string   // the same in words, for the reference; empty if the value says it
	see    string   // what the reference adds
	read   func(r *reader, t *toml.Table, v *T)
}

// row is a key whose value goes into one field.
func row[T, V any](name, about string, is value[V], set func(*T, V)) key[T] {
	return custom(name, about, is.form, fixed(is.schema), func(_ *reader, t *toml.Table, v *T) {
		if t.Node.Fields[name] != nil {
			set(v, is.read(t, name))
		}
	})
}

// custom is a key that is read by a function of its own. Its schema can be that of a large
// table, so it is made only when a schema is needed, not to read a file.
func custom[T any](name, about, form string, schema func() *jsonSchema, read func(r *reader, t *toml.Table, v *T)) key[T] {
	return key[T]{name: name, about: about, form: form, schema: schema, read: read}
}

func fixed(s *jsonSchema) func() *jsonSchema { return func() *jsonSchema { return s } }

// subtable is a key that holds a table with these keys.
func subtable[T, V any](name, about string, keys []key[V], field func(*T) **V) key[T] {
	return custom(name, about, "table", func() *jsonSchema { return schemaOf("", keys) }, func(r *reader, t *toml.Table, v *T) {
		if sub := t.Sub(name); sub != nil {
			*field(v) = new(V)
			readKeys(r, sub, keys, *field(v))
			sub.Finish()
		}
	})
}

// or says what holds when the key is absent.
func (k key[T]) or(value any) key[T] {
	k.value = value
	return k
}

// without says in words what holds when the key is absent.
func (k key[T]) without(words string) key[T] {
	k.absent = words
	return k
}

// required says that the key must be there, and how to write it.
func (k key[T]) required(hint string) key[T] {
	k.hint = hint
	return k
}

// of names the kinds that have the key.
func (k key[T]) of(kinds ...string) key[T] {
	k.kinds = kinds
	return k
}

// more adds to what the reference says.
func (k key[T]) more(text string) key[T] {
	k.see = text
	return k
}

func (k key[T]) belongsTo(kind string) bool { return k.kinds == nil || slices.Contains(k.kinds, kind) }

// keyNames are the names of rows.
func keyNames[T any](keys []key[T]) (names []string) {
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

// those are the keys for which something holds.
func those[T any](keys []key[T], hold func(key[T]) bool) []key[T] {
	return slices.DeleteFunc(slices.Clone(keys), func(k key[T]) bool { return !hold(k) })
}

// ofKind are the keys that a kind of table has; all of them if the kind is not known.
func ofKind[T any](keys []key[T], kind string) []key[T] {
	return those(keys, func(k key[T]) bool { return kind == "" || k.belongsTo(kind) })
}

// readKeys reads the keys of a table into v, in the order of the rows.
func readKeys[T any](r *reader, t *toml.Table, keys []key[T], v *T) {
	t.Knows(keyNames(keys)...)
	for _, k := range keys {
		k.read(r, t, v)
		if t.Node.Fields[k.name] == nil && k.hint != "" {
			r.Missing(t.Node.KeyAt, t.At(k.name), "is required", strings.ReplaceAll(k.hint, "{path}", t.At(k.name)))
		}
	}
}

// readVariant reads a table whose key type, one of kinds, decides which keys it has, and
// returns the type. If the type is not known, the keys tell which one was probably meant:
// they are read as such, and all are accepted, so that one mistake is reported once and does
// not hide others. The type is empty if no key tells.
func readVariant[T any](r *reader, t *toml.Table, keys []key[T], kinds []string, v *T) string {
	if n := t.Node.Fields["type"]; n != nil && slices.Contains(kinds, n.Text) {
		readKeys(r, t, ofKind(keys, n.Text), v)
		return n.Text
	}
	kind := meantKind(t.Node, keys, kinds)
	common := func(k key[T]) bool { return k.kinds == nil }
	meant := func(k key[T]) bool { return k.kinds != nil && slices.Contains(k.kinds, kind) }
	readKeys(r, t, those(keys, common), v)
	readKeys(r, t, optional(those(keys, meant)), v)
	t.Knows(keyNames(keys)...)
	return kind
}

// meantKind is the kind of table that the keys of a table belong to, or "".
func meantKind[T any](n *toml.Node, keys []key[T], kinds []string) (kind string) {
	most := 0
	for _, candidate := range kinds {
		own := 0
		for _, k := range keys {
			if n.Fields[k.name] != nil && k.kinds != nil && slices.Contains(k.kinds, candidate) {
				own++
			}
		}
		if own > most {
			kind, most = candidate, own
		}
	}
	return kind
}

// schemaOf is a table that has these keys and no others. What only some kinds of it must
// have is not required here.
func schemaOf[T any](about string, keys []key[T]) *jsonSchema {
	s := &jsonSchema{Description: about, Type: "object", AdditionalProperties: false}
	for _, k := range keys {
		s.Properties = append(s.Properties, property{k.name, k.described()})
		if k.hint != "" && k.kinds == nil {
			s.Required = append(s.Required, k.name)
		}
	}
	return s
}

// described is the schema of the key with what the row says of it.
func (k key[T]) described() *jsonSchema {
	s := described(k.schema(), k.about)
	if k.value != nil {
		s.Default = k.value
	}
	return s
}

// ofKindOnly is what the schema of a table says once its kind is known.
func ofKindOnly[T any](keys []key[T], kind string) *jsonSchema {
	required := those(keys, func(k key[T]) bool { return k.hint != "" && slices.Contains(k.kinds, kind) })
	return &jsonSchema{PropertyNames: &jsonSchema{Enum: keyNames(ofKind(keys, kind))}, Required: keyNames(required)}
}

// tables are the rows of all tables, made when a file has the first of them.
type tables struct {
	top      func() []key[Config]
	docker   func() []key[job.Container]
	sandbox  func() []key[job.Isolation]
	rules    func() []key[job.Rule]
	stored   func() []key[job.Snapshots]
	prices   func() []key[expert.Price]
	models   func() []key[expert.ModelEntry]
	provider func() []key[expert.Provider]
	setting  func() []key[expert.Provider]
	expert   func() []key[expert.Expert]
	skill    func() []key[expert.Skill]
}

// allTables are shared by all files, and never changed. A reader has them in a field: rows
// read tables in tables, and hints ask all of them.
var allTables = tables{
	sync.OnceValue(topKeys), sync.OnceValue(dockerKeys), sync.OnceValue(sandboxKeys),
	sync.OnceValue(func() []key[job.Rule] { return ruleKeys(job.Verdicts()) }), sync.OnceValue(snapshotKeys), sync.OnceValue(priceKeys), sync.OnceValue(modelKeys),
	sync.OnceValue(providerKeys), sync.OnceValue(settingKeys), sync.OnceValue(expertKeys), sync.OnceValue(skillKeys),
}

// misplaced is [tables.misplaced] for a table that other files have, too.
func (r *reader) misplaced(key string) string {
	if r.tables == nil {
		return ""
	}
	return r.tables.misplaced(key)
}

// misplaced says where a key belongs that is known, but not where it stands.
// By the scoping of TOML a top-level key written below [provider] is part of
// the provider, and would be lost without a word.
func (t *tables) misplaced(key string) string {
	is := func(names []string) bool { return slices.Contains(names, key) }
	switch {
	case key == "prices" || key == "models" || key == "experts" || key == "registries":
		return "it is a table of its own: write it like [" + key + ".<name>]"
	case key == "docker" || key == "snapshots":
		return "it is a table of its own: write it as [" + key + "]"
	case key == "rules":
		return "it is a list of tables: write each rule below [[rules]]"
	case key == "sandbox":
		return "it belongs to a skill: move it into [experts.<name>.skills.<skill>], or write [sandbox] with mode below it"
	case key == "sharedSandbox":
		return "a file cannot lower isolation; only the command line can"
	case is(keyNames(expertLimits())):
		return "it bounds a job or an expert: move it above the first [table], or into [experts.<name>]"
	case is(keyNames(t.top())):
		return "it is a top-level key: move it above the first [table]"
	case is(keyNames(t.expert())):
		return "it belongs to an expert: move it into [experts.<name>]"
	case is(keyNames(t.skill())) && key != "type" && !is(keyNames(t.setting())):
		return "it belongs to a skill: move it into [experts.<name>.skills.<skill>]"
	case is(keyNames(t.docker())):
		return "it is about the container: move it into [docker]"
	case is(keyNames(t.sandbox())):
		return "it is about sandboxes: move it into [sandbox]"
	case is(keyNames(t.stored())):
		return "it is about snapshots: move it into [snapshots]"
	case is(keyNames(t.prices())):
		return `it belongs to a price: move it into [prices."<model>"]`
	case is(keyNames(t.models())):
		return `it is about a model: move it into [models."<model>"]`
	case key == "providerName" || key == "setting":
		return "it belongs to the provider: move it into [provider]"
	}
	return ""
}

// optional are the keys, of which these need not be there; all of them if none is named.
func optional[T any](keys []key[T], names ...string) []key[T] {
	keys = slices.Clone(keys)
	for i := range keys {
		if len(names) == 0 || slices.Contains(names, keys[i].name) {
			keys[i].hint = ""
		}
	}
	return keys
}
