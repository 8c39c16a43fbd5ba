package host

import "github.com/spf13/cobra"

// RefuseInJob refuses a command that decides for the user if a job started this process: otherwise an
// Expert could answer its own questions.
func (h *Host) RefuseInJob(cmd *cobra.Command) error {
	if h.Supervised == nil || !h.Supervised() {
		return nil
	}
	return Usagef("%s is for you, and not for programs that a job runs; call it in a terminal of your own", cmd.CommandPath())
}
