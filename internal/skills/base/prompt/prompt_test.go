package prompt

import (
	"slices"
	"testing"
)

func TestAll(t *testing.T) {
	var orders []int
	for _, p := range All() {
		if p.Name == "" || p.Title == "" || p.Description == "" {
			t.Errorf("%+v", p)
		}
		orders = append(orders, p.order)
	}
	if len(orders) < 18 || !slices.IsSorted(orders) || len(slices.Compact(orders)) != len(All()) {
		t.Errorf("orders %v; each tool needs one of its own", orders)
	}
}

func TestParse(t *testing.T) {
	got, err := parse("x", "---\ntitle: Do X\norder: 7\n---\nDoes it.\n\n---\n")
	if want := (Prompt{"x", "Do X", "Does it.\n\n---", 7}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "text", "---\ntitle: X\n---\ntext", "---\ntitle: X\norder: x\n---\ntext", "---\ntitle: X\norder: 1\nlevel: 2\n---\ntext"} {
		if got, err := parse("x", text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
