package audit

import (
	"context"
	"errors"
	"os"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/audit/probes"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/sandbox"
)

// selfTest returns the promises with probes that attack what this machine has.
func selfTest(_ context.Context, h *host.Host) ([]audit.Promise, func() error, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "perstack-audit-")
	if err != nil {
		return nil, nil, err
	}
	supervisor := sandbox.NewSupervisor()
	m := &probes.Machine{Program: program, Dir: dir, Environ: h.Environ, PID: os.Getpid(), Parts: probes.Real(supervisor)}
	release := func() error {
		m.Wait()
		return errors.Join(supervisor.Close(), os.RemoveAll(dir))
	}
	return probes.Promises(m), release, nil
}
