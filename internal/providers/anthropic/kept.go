package anthropic

import (
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// kept is a block that is sent back as it came: what the provider ran itself, and what we
// do not know. It arrives as an object, of which some members grow.
type kept struct {
	members   map[string]rawjson.Value
	words     map[string]*strings.Builder // what is added to members that are texts
	input     strings.Builder             // JSON, in pieces
	citations []rawjson.Value
}

// maxMembers bounds what a block is made of, citations included.
const maxMembers = 10_000

func keep(raw rawjson.Value) *kept {
	k := &kept{words: map[string]*strings.Builder{}}
	if wire.Decode(raw, &k.members) != nil || k.members == nil {
		k.members = map[string]rawjson.Value{}
	}
	return k
}

// toolName says what the block is about: the tool that it calls, or whose result it is.
func (k *kept) toolName() string {
	if name := k.text("name"); name != "" {
		return name
	}
	kind := k.text("type")
	if tool, ok := strings.CutSuffix(kind, "_tool_result"); ok {
		return tool
	}
	return kind
}

func (k *kept) text(name string) (s string) {
	if wire.Decode(k.members[name], &s) != nil {
		return ""
	}
	return s
}

// fold adds an event to the block. The words of a delta go behind those of the member
// that has its name; two kinds of deltas are named otherwise.
func (k *kept) fold(event []byte) {
	var m struct {
		Delta map[string]rawjson.Value `json:"delta"`
	}
	if wire.Decode(event, &m) != nil {
		return
	}
	for name, value := range m.Delta {
		var words string
		switch {
		case name == "type":
		case len(k.members)+len(k.words)+len(k.citations) > maxMembers: // no block has so many
			return
		case name == "citation":
			k.citations = append(k.citations, value)
		case wire.Decode(value, &words) != nil:
			k.members[name] = value
		case name == "partial_json":
			k.input.WriteString(words)
		default:
			if k.words[name] == nil {
				k.words[name] = &strings.Builder{}
				k.words[name].WriteString(k.text(name))
			}
			k.words[name].WriteString(words)
		}
	}
}

// value is the block, when it is complete. It is valid whatever came.
func (k *kept) value() rawjson.Value {
	all := maps.Clone(k.members)
	for name, words := range k.words {
		all[name] = wire.Quote(words.String())
	}
	if input := rawjson.Value(k.input.String()); len(input) > 0 {
		all["input"] = wire.Object(input)
	}
	if len(k.citations) > 0 {
		all["citations"] = marshal(k.citations)
	}
	block := wire.Members{{Name: "type", Value: wire.Quote(k.text("type"))}}
	delete(all, "type")
	delete(all, "cache_control") // which marks we set is ours to say
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if value := wire.Marshal(all[name], nil); value != nil {
			block = append(block, wire.Member{Name: name, Value: value})
		}
	}
	return block.Join('{')
}

// cited is where the words of a text come from, kept for the next request.
type cited struct {
	Citations []rawjson.Value `json:"citations"`
}

// citations returns those that the API takes back: what it found on the web.
func citations(data rawjson.Value) rawjson.Value {
	var of cited
	if len(data) == 0 || wire.Decode(data, &of) != nil {
		return nil
	}
	taken := slices.DeleteFunc(of.Citations, func(c rawjson.Value) bool { return typeOf(c) != "web_search_result_location" })
	if len(taken) == 0 {
		return nil
	}
	return marshal(taken)
}

// typeOf is the type of a block or of another object; empty if it has none.
func typeOf(raw rawjson.Value) string {
	var of struct {
		Type string `json:"type"`
	}
	if wire.Decode(raw, &of) != nil {
		return ""
	}
	return of.Type
}
