package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// platformSafe lists what programs need to start at all on Windows.
func platformSafe(name string) bool {
	return slices.Contains([]string{
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATH", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME",
		"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROCESSOR_ARCHITECTURE",
		"NUMBER_OF_PROCESSORS",
	}, strings.ToUpper(name))
}

func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }

// withExtension refuses batch files: Windows runs them by cmd.exe, which would
// interpret the arguments.
func withExtension(program string) (string, error) {
	switch strings.ToLower(filepath.Ext(strings.TrimRight(program, " ."))) {
	case ".bat", ".cmd":
		return "", fmt.Errorf("%w: %q is a batch file, which a shell would interpret", ErrInvalid, program)
	}
	return program, nil
}

func executable(path string) (string, error) {
	if _, err := withExtension(path); err != nil {
		return "", ErrInvalid
	}
	for _, candidate := range []string{path, path + ".exe", path + ".com"} {
		ext := strings.ToLower(filepath.Ext(candidate))
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() && (ext == ".exe" || ext == ".com") {
			return candidate, nil
		}
	}
	return "", ErrNotFound
}
