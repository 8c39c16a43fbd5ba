//go:build unix && !linux && !darwin

package sandbox

// Shield keeps commands from the files, pipes and sockets that whoever started us left
// open, and allows no core dumps. A program calls it after [Init]. It does not hide our
// environment.
func Shield() error {
	sealEach()
	return noCoreDumps()
}
