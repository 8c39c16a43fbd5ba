package toml

// maxSteps bounds how many keys the decoder of go-toml compares in all. It has no index: to
// find a key, it goes through everything that came after the table of the key. A file of a
// megabyte can make that ten billion comparisons. This many take a third of a second; a
// file with a thousand Experts needs a tenth of them.
const maxSteps = 200_000_000

// decoderCost counts the comparisons that the decoder makes, or more: it refuses a file before
// the decoder sees it.
type decoderCost struct {
	steps   int
	held    int // keys that the decoder holds
	removed int // keys that it held, and has forgotten
}

// A place is where the decoder holds a key.
type place struct {
	index   int // among the keys that it held then
	removed int // how many it had forgotten by then
	below   int // of an array of tables: the keys that belong to its last entry
}

func (d *decoderCost) add(n *Node) {
	d.held++
	n.place = place{index: d.held, removed: d.removed}
	for above := n.parent; above != nil; above = above.parent {
		if above.headed {
			above.place.below++
		}
	}
}

// search counts what it takes to find a key of a table; found is nil if it does not exist.
func (d *decoderCost) search(t, found *Node) {
	// What was forgotten since may have come before the table: then it is further ahead.
	from, to := max(t.place.index-(d.removed-t.place.removed), 0), d.held
	if found != nil {
		to = min(found.place.index, d.held)
	}
	d.steps += max(to-from, 0)
}

// clear counts what it takes to forget the last entry of an array of tables, before the next.
func (d *decoderCost) clear(array *Node) {
	d.steps += d.held
	gone := array.place.below
	d.held -= gone
	d.removed += gone
	for above := array; above != nil; above = above.parent {
		if above.headed {
			above.place.below -= gone
		}
	}
}
