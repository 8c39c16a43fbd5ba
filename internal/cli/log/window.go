package log

import "math"

// A window lets through what is selected and what --take and --offset leave of that, with as much
// around it as --context says.
type window struct {
	first, end int // numbers of selected rows or events, from 0
	context    int
	apart      func() // is called between two that do not follow each other

	count   int            // of those selected so far
	matched int            // selected, and shown
	shown   int            // those around them included
	after   int            // how many more are shown because of the last one
	before  []func() error // what is shown if another one comes soon
	gap     bool           // something was left out since the last that was shown
}

func (v *survey) window() window {
	w := window{end: max(v.matches-v.opts.Offset, 0), context: v.opts.Context}
	if v.opts.Take > 0 {
		w.first = max(w.end-v.opts.Take, 0)
	}
	if v.follows() {
		w.end = math.MaxInt
	}
	return w
}

// add takes the next row or event. show is called now, later or never.
func (w *window) add(selected bool, show func() error) error {
	if selected {
		w.count++
	}
	switch {
	case selected && w.inside():
		w.matched++
		w.after = w.context
		for _, show := range w.before {
			if err := w.show(show); err != nil {
				return err
			}
		}
		w.before = w.before[:0]
		return w.show(show)
	case w.after > 0:
		w.after--
		return w.show(show)
	case w.context > len(w.before):
		w.before = append(w.before, show)
		return nil
	case w.context > 0:
		w.before = append(w.before[1:], show)
	}
	w.gap = true
	return nil
}

func (w *window) show(show func() error) error {
	if w.gap && w.shown > 0 && w.context > 0 && w.apart != nil {
		w.apart()
	}
	w.gap = false
	w.shown++
	return show()
}

// inside reports whether the last selected row or event was in the window.
func (w *window) inside() bool { return w.count > w.first && w.count <= w.end }
