package sandbox

import (
	"context"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Version asks a program of the user for its version. The program can read files, since it can be
// installed anywhere. Where the kernel has Landlock, it can neither write nor connect.
func (s *Supervisor) Version(ctx context.Context, program, dir string, environ []string) (Outcome, error) {
	p := &policy.Policy{Level: expert.SandboxLandlock, Read: []string{"/"}, Write: landlock.WritableDevices()}
	if landlock.Available() != nil {
		p = policy.Off(policy.VersionQuery)
	}
	return s.Run(ctx, Command{
		Program: program, Args: []string{"--version"}, Dir: dir, Environ: environ, Policy: p,
		Timeout: 10 * time.Second, MaxOutput: 4 << 10,
	})
}
