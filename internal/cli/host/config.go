package host

import (
	"fmt"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
)

// LoadConfig reads the perstack.toml that the flag --config names, or the one that is found
// from here upwards. Its warnings are printed; what is wrong with it is the error.
func (h *Host) LoadConfig(flag string) (*manifest.Config, error) {
	path, err := manifest.Locate(h.Dir, flag)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	config, problems, err := manifest.Load(path)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	for _, w := range problems.Warnings() {
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.Clean(w.String()))
	}
	return config, problems.Err()
}
