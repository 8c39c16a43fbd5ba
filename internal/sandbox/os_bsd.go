//go:build unix && !linux && !darwin

package sandbox

// Harden keeps commands from inheriting descriptors that the parent of this process left
// open, and switches core dumps off. A program calls it after [Init]. It does not hide the
// environment.
func Harden() error {
	closeEachOnExec()
	return noCoreDumps()
}
