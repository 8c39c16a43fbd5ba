package docker

import "fmt"

// A DaemonError says that no run is possible on the Docker daemon: it cannot be reached,
// it cannot be used, or a safeguard is missing.
type DaemonError struct{ Err error }

func (e *DaemonError) Error() string { return e.Err.Error() }
func (e *DaemonError) Unwrap() error { return e.Err }

// A WorkspaceError says that a directory cannot be the workspace of a container.
type WorkspaceError struct {
	Link string // a link in the workspace on the way to a protected path; empty if there is none
	Err  error
}

func (e *WorkspaceError) Error() string { return e.Err.Error() }
func (e *WorkspaceError) Unwrap() error { return e.Err }

func unfit(format string, args ...any) error {
	return &WorkspaceError{Err: fmt.Errorf(format, args...)}
}

// A PinError says that the lockfile does not pin a package or an image, or pins another one.
type PinError struct {
	Stale bool // it is pinned, but to an image that this machine does not have
	Err   error
}

func (e *PinError) Error() string { return e.Err.Error() }
func (e *PinError) Unwrap() error { return e.Err }

// A LostError says that a container ended without saving. The job is recorded up to there,
// and can be continued.
type LostError struct {
	JobID string
	Err   error
}

func (e *LostError) Error() string { return e.Err.Error() }
func (e *LostError) Unwrap() error { return e.Err }
