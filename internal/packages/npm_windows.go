package packages

import (
	"os"
	"path/filepath"
	"strings"
)

// npmProgram is what starts npm. Its own npm.cmd is a batch file, which a shell would
// run; so node is given the script that stands beside it.
func npmProgram(environ []string) (program string, args []string) {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.EqualFold(name, "PATH") {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			script := filepath.Join(dir, modules, "npm", "bin", "npm-cli.js")
			if info, err := os.Stat(script); err == nil && info.Mode().IsRegular() && filepath.IsAbs(dir) {
				return "node", []string{script}
			}
		}
	}
	return "npm", nil // which is not found, and said so
}
