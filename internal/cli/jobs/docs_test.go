package jobs

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// docs/jobs.md names every command and every flag, and its list is one that is printed.
func TestPageOfJobs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		if !strings.Contains(page, "`perstack "+cmd.CommandPath()) {
			t.Errorf("docs/jobs.md does not mention %s", cmd.CommandPath())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, "--"+f.Name) {
				t.Errorf("docs/jobs.md does not mention --%s of %s", f.Name, cmd.CommandPath())
			}
		})
		for _, below := range cmd.Commands() {
			look(below)
		}
	}
	look(New(&host.Host{}, nil, nil))
	list, err := os.ReadFile("testdata/list.golden")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page, "```\n"+string(list)+"```\n") {
		t.Errorf("docs/jobs.md has another list than testdata/list.golden:\n%s", list)
	}
}
