package workspace

// MaxChanges is how many tokens a tree has.
const MaxChanges = maxChanges

// Waiting returns how many places somebody has or waits for.
func (w *Workspace) Waiting() int {
	w.turns.mu.Lock()
	defer w.turns.mu.Unlock()
	return len(w.turns.places) + len(w.turns.tree) + len(w.turns.whole)
}

// Claims returns how many have the turn of a place or wait for it.
func (w *Workspace) Claims(location string) int {
	w.turns.mu.Lock()
	defer w.turns.mu.Unlock()
	if t := w.turns.places[location]; t != nil {
		return t.users
	}
	return 0
}
