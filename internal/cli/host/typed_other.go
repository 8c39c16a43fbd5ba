//go:build !linux && !darwin

package host

// dropTyped does nothing: the system has no such call that perstack knows.
func dropTyped(int) error { return nil }
