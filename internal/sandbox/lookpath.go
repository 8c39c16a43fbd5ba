package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LookPath finds the file that a program is started from, for whoever has to know it
// before: see [Environment] for the variables. One that is named by a path is that path.
func LookPath(program string, env []string) (string, error) { return lookPath(program, env) }

// Variable returns the value of a variable; "" if there is none.
func Variable(env []string, name string) string { return variable(env, name) }

// lookPath finds the file of a program in the PATH that the child will have. A name
// with a separator is left for the kernel to resolve in the working directory.
//
// Relative entries of PATH are passed over: with "." in it, a file of the workspace
// would run in place of a program of the system.
func lookPath(program string, env []string) (string, error) {
	if strings.ContainsFunc(program, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		return withExtension(program)
	}
	var found error
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := executable(filepath.Join(dir, program))
		if err == nil {
			return path, nil
		}
		if found == nil {
			found = err
		}
	}
	if found != nil {
		return "", fmt.Errorf("%w: %q", found, program)
	}
	return "", fmt.Errorf("%w: %q", ErrNotFound, program)
}

func variable(env []string, name string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); sameVariable(k, name) {
			return v
		}
	}
	return ""
}
