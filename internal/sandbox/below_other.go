//go:build !linux

package sandbox

// BelowSupervisor cannot tell here: the system does not keep orphans below a supervisor.
func BelowSupervisor() bool { return false }
