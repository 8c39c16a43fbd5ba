//go:build unix && !linux

package sandbox

import "os/exec"

// await returns when the child has ended. It is reaped here, since x/sys has no way to
// wait without. The signal that follows could hit a stranger only if the system had
// used up all process numbers in between.
func (g *group) await(cmd *exec.Cmd) { g.reap(cmd) }
