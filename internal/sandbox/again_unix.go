//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// StartAgain starts this program once more, with the same arguments, streams and process group. The
// files are its descriptors from 3 on. It is no sandbox: the new process is perstack itself, as the
// user started it. The caller waits for it.
func StartAgain(environ []string, files ...*os.File) (pid int, err error) {
	path, err := ownProgram()
	if err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Env: environ, Files: []uintptr{0, 1, 2}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	return syscall.ForkExec(path, os.Args, attr)
}
