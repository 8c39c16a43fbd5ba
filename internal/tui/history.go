package tui

// newHistory shows the jobs of the project.
func newHistory(p *program) screen { return newExperts(p) }
