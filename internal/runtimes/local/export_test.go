package local

// WithoutCells makes this a machine that cannot keep cells, for a reason.
func (r *Runtime) WithoutCells(why error) { r.cellsHere = func() error { return why } }
