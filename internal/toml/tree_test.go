package toml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gotoml "github.com/pelletier/go-toml/v2"
)

// decoded turns a tree into what the decoder makes of the same text, apart from
// floats and dates, which the tree does not keep.
func (n *Node) decoded() any {
	switch n.Kind {
	case KindString:
		return n.Text
	case KindInteger:
		return n.Number
	case KindBool:
		return n.Text == "true"
	case KindArray:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, item.decoded())
		}
		return out
	case KindTable:
		out := map[string]any{}
		for k, v := range n.Fields {
			out[k] = v.decoded()
		}
		return out
	}
	return nil
}

func withoutOthers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = withoutOthers(v[k])
		}
		return v
	case []any:
		for i := range v {
			v[i] = withoutOthers(v[i])
		}
		return v
	case string, int64, bool:
		return v
	}
	return nil
}

// FuzzRead checks that no input makes the reader panic, that problems can be printed, and
// that the tree of what it accepts agrees with the real decoder.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"", "a", "a=", "a=[", "a.b.c=1", "[[a]]\n[[a.b]]\n[a.b.c]\nd=1", "a={b={c=1}}", "\ufeff", "a=1\na.b=2", "[a]\n[a.b]\n[a]", "[a.b]\n[a]",
		"a=[{b=1},{b=2}]\n[[a]]", "a=1979-05-27T07:32:00Z", "maxSteps=0x_1", "x=[[[[[[]]]]]]", "\xff", "a=\"\\uD800\"", "a=-nan", "a=1e400",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, root := ReadTree("p.toml", data)
		for _, p := range r.Problems {
			if p.Line < 1 || p.Column < 1 || p.File != "p.toml" || p.Message == "" || strings.ContainsAny(p.String(), "\n\r\x1b\u202e") {
				t.Errorf("bad problem %q", p.String())
			}
		}
		if len(r.Problems) > 0 {
			return
		}
		want := map[string]any{}
		if err := gotoml.Unmarshal(data, &want); err != nil {
			t.Fatal("accepted, but not TOML:", err)
		}
		if d := cmp.Diff(withoutOthers(want), root.decoded()); d != "" {
			t.Errorf("the tree differs from the decoder (-want +got)\n%s", d)
		}
	})
}
