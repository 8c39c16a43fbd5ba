package host

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/terminal"
)

// LoadConfig reads the perstack.toml that the flag --config names, or the one that is found
// from here upwards. Its warnings are printed; what is wrong with it is the error.
func (h *Host) LoadConfig(flag string) (*expert.Config, error) {
	path, err := expert.Locate(h.Dir, flag)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	config, problems, err := expert.Load(path)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	for _, w := range problems.Warnings() {
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.Clean(w.String()))
	}
	return config, problems.Err()
}
