//go:build unix

package sandbox

import "os"

func platformSafe(string) bool { return false }

func sameVariable(a, b string) bool { return a == b }

func withExtension(program string) (string, error) { return program, nil }

// executable checks a candidate as a shell does.
func executable(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return "", ErrNotFound
	}
	if info.Mode().Perm()&0o111 == 0 {
		return "", ErrPermission
	}
	return path, nil
}
