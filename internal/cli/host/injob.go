package host

import (
	"strings"

	"github.com/spf13/cobra"
)

// RefuseInJob refuses a command that decides for the user if a job started this process: otherwise an
// Expert could answer its own questions. flags are named if only they decide.
func (h *Host) RefuseInJob(cmd *cobra.Command, flags ...string) error {
	if h.Supervised == nil || !h.Supervised() {
		return nil
	}
	what := strings.Join(append([]string{cmd.CommandPath()}, flags...), " ")
	return Usagef("%s is for you, and not for programs that a job runs; call it in a terminal of your own", what)
}
