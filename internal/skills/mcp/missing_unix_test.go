//go:build unix

package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/mcp"
)

// In a container, the image decides which programs there are; it has no files of the workspace.
func TestMissingProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const inImage = ": the image of the container has no such program; " + mcp.ChooseImage
	for program, want := range map[string]struct{ host, container string }{
		"no-such-program":   {`program not found: "no-such-program"`, inImage},
		"./no-such-program": {`program not found: "./no-such-program"`, ""},
		"./script":          {"or its loader is not", "; " + mcp.ChooseImage},
	} {
		for _, container := range []bool{false, true} {
			b := newBench(t, func(o *mcp.Options) {
				o.InImage = container
				o.Process = func(context.Context) (mcp.Process, error) {
					return mcp.Process{Server: sandbox.Server{Program: program, Dir: dir, Environ: os.Environ(), Policy: policy.Off(policy.JobOff)}, Command: program}, nil
				}
			})
			end := want.host
			if container {
				end += want.container
			}
			if err := b.Start(t.Context()); err == nil || !strings.HasSuffix(err.Error(), end) {
				t.Errorf("%s, in a container: %t: %v", program, container, err)
			}
		}
	}
}
