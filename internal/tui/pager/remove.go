package pager

// Remove removes a row, if there is one of that name. It costs as much as there are rows after it, which
// are few where a row is shown for a while and then replaced.
func (p *Pager) Remove(id string) {
	at, ok := p.index[id]
	if !ok {
		return
	}
	delete(p.index, id)
	p.rows = append(p.rows[:at], p.rows[at+1:]...)
	for i := at; i < len(p.rows); i++ {
		p.index[p.rows[i].id] = i
	}
	kept := p.drawn[:0]
	for _, i := range p.drawn {
		switch {
		case i < at:
			kept = append(kept, i)
		case i > at:
			kept = append(kept, i-1)
		}
	}
	p.drawn = kept
	if p.top.row > at {
		p.top.row--
	} else if p.top.row == at {
		p.top.line = 0
	}
	p.selected = without(p.selected, at)
	p.search.row = without(p.search.row, at)
}

// without returns the number of a row, plus 1, after another was removed; 0 if it was that one.
func without(row, removed int) int {
	switch {
	case row-1 == removed:
		return 0
	case row-1 > removed:
		return row - 1
	}
	return row
}
