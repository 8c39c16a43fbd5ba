package docker

import "strings"

// An UnsafeError says that the walls do not stand, so that nothing was run.
type UnsafeError struct {
	Checks []string // what failed, each with what was found
}

func (e *UnsafeError) Error() string {
	return "the walls of the container do not stand, so nothing was run: " + strings.Join(e.Checks, "; ") +
		"; please report it with the version of your container engine (docker version)"
}
