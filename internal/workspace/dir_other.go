//go:build !linux

package workspace

// forChild returns the path: there is no name for an open directory here. A process
// that can swap the path while the child starts can write anywhere itself.
func forChild(d *Dir) string { return d.path }
