package pager

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// Whatever is removed, the pager is as if the row had never been there.
func TestRemove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pager
		var ids []string
		for i := range rapid.IntRange(1, 40).Draw(t, "rows") {
			ids = append(ids, fmt.Sprint("row", i))
			p.Put(ids[i], text{body: ids[i]})
		}
		width, height := 20, rapid.IntRange(1, 10).Draw(t, "height")
		p.Render(width, height, paint.Palette{})
		p.scroll(-rapid.IntRange(0, 20).Draw(t, "up"))
		for range rapid.IntRange(0, 3).Draw(t, "selections") {
			p.selectAbove()
		}
		selected, _ := p.Selected()
		for range rapid.IntRange(1, 5).Draw(t, "removals") {
			id := fmt.Sprint("row", rapid.IntRange(0, 40).Draw(t, "id"))
			p.Remove(id)
			if ids = slices.DeleteFunc(ids, func(other string) bool { return other == id }); id == selected {
				selected = ""
			}
		}
		if got, _ := p.Selected(); got != selected {
			t.Errorf("%q is selected, not %q", got, selected)
		}
		var shown []string
		for _, line := range p.Render(width, height, paint.Palette{}) {
			shown = append(shown, line.Text()[gutter:])
		}
		if p.Len() != len(ids) || len(shown) != min(height, len(ids)) {
			t.Fatalf("%d rows, %d lines", p.Len(), len(shown))
		}
		if len(ids) > 0 {
			at := slices.Index(ids, shown[0])
			if at < 0 || !slices.Equal(ids[at:at+len(shown)], shown) {
				t.Errorf("%q is shown of %q", shown, ids)
			}
		}
		for _, id := range ids { // every row can still be changed
			p.Put(id, text{body: id + "x"})
		}
		if p.Len() != len(ids) {
			t.Errorf("%d rows, not %d", p.Len(), len(ids))
		}
	})
}
