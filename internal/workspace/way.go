package workspace

// The way of a walk stays open until the next one: most calls go to a directory where
// the last call was, and to ask whether a name still stands for an open directory
// takes a third of the time of opening it. Nothing is taken on trust: as long as a
// directory is open no other has its identity, so a name that has it now leads there
// now, and the guard is asked again.
//
// One walk at a time owns the handles, so none is closed under another. A command
// begins with a walk to the directory that it runs in, which lets go of others.

// take gives the way of the walk before to p.
func (w *Workspace) take(p *place) {
	if keepsWay {
		p.before = w.last.Swap(nil)
	}
}

// leave closes p, or keeps its way for the next walk.
func (w *Workspace) leave(p *place) {
	p.forget()
	if !keepsWay || len(p.trail) > usualDepth {
		p.close()
		return
	}
	if other := w.last.Swap(p); other != nil {
		other.close()
	}
}

// again returns the directory of that name, and what it is, if the walk before went
// there as well and the name still leads to it.
func (p *place) again(name string) (folder, fileID, bool) {
	depth := len(p.trail)
	if p.before == nil {
		return folder{}, fileID{}, false
	}
	if depth < len(p.before.trail) && p.before.trail[depth] == name {
		known := p.before.ids[depth]
		if id, isDir, err := peek(p.dir(), name, false); err == nil && isDir && id.is(known) {
			dir := p.before.dirs[depth+1]
			p.taken++
			return dir, known, true
		}
	}
	p.forget()
	return folder{}, fileID{}, false
}

// forget closes what is left of the way before: the walk goes elsewhere.
func (p *place) forget() {
	if p.before == nil {
		return
	}
	for _, dir := range p.before.dirs[1+p.taken:] {
		dir.Close()
	}
	p.before = nil
}
