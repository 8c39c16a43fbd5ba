// Package allow makes a user who allows everything that a project asks for. The projects of
// tests use scripted servers and variables of their own, and most tests are not about consent.
//
// Start reading at [Everything].
package allow

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
)

// Everything writes a configuration of the user below dir, and returns the variable that leads
// to it, like "XDG_CONFIG_HOME=…". No workspace may contain dir.
func Everything(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "perstack"), 0o700); err != nil {
		return "", err
	}
	root := filepath.VolumeName(dir) + string(filepath.Separator)
	text := fmt.Sprintf("[[consent]]\nproject = %q\nallow = ['"+strings.Join(manifest.RequestKinds(), "', '")+"']\n", root)
	err := os.WriteFile(filepath.Join(dir, "perstack", manifest.UserFileName), []byte(text), 0o600)
	if runtime.GOOS == "windows" {
		return "AppData=" + dir, err
	}
	return "XDG_CONFIG_HOME=" + dir, err
}

// Isolate is Everything for the programs that this process starts. A TestMain calls it.
func Isolate(dir string) error {
	variable, err := Everything(dir)
	if err != nil {
		return err
	}
	name, value, _ := strings.Cut(variable, "=")
	return os.Setenv(name, value)
}
