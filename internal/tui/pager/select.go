package pager

// Selected returns the name of the selected row, and false if there is none.
func (p *Pager) Selected() (id string, ok bool) {
	if p.selected == 0 {
		return "", false
	}
	return p.rows[p.selected-1].id, true
}

// Deselect selects no row.
func (p *Pager) Deselect() { p.selected = 0 }

// selectAbove selects the row above, or the last visible one if none is selected.
func (p *Pager) selectAbove() { p.choose(-1) }

// selectBelow selects the row below, or the first visible one if none is selected.
func (p *Pager) selectBelow() { p.choose(1) }

// choose selects a row that has lines. Those without are not visible.
func (p *Pager) choose(by int) {
	top := p.settle()
	to := p.selected - 1 + by
	if p.selected == 0 {
		if to = top.row; by < 0 {
			end, _ := p.down(top, p.page()-1)
			to = min(end.row, len(p.rows)-1)
		}
	}
	for to >= 0 && to < len(p.rows) && len(p.lines(to)) == 0 {
		to += by
	}
	if to < 0 || to >= len(p.rows) {
		return
	}
	p.selected = to + 1
	p.reveal(place{to, 0}, len(p.lines(to)))
}

// reveal makes so many lines visible, or as many as fit, and moves no further than it must. The end is
// not followed then, or the lines would move away.
func (p *Pager) reveal(at place, lines int) {
	lines = min(max(lines, 1), p.page())
	top := p.settle()
	end, missing := p.down(top, p.page()-1)
	if missing > 0 {
		end = place{len(p.rows), 0}
	}
	last := place{at.row, at.line + lines - 1}
	switch {
	case at.before(top):
		p.jump(at)
	case end.before(last):
		p.jump(p.up(last, p.page()-1))
	}
	p.away = p.away || len(p.rows) > 0 && missing == 0
}
