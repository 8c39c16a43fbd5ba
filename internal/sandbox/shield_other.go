//go:build !linux

package sandbox

// Shield does nothing here. Windows needs no such thing; macOS has none, and shows the
// environment that a process was started with to all processes of its user.
func Shield() error { return nil }
