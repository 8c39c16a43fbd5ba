// Package fixed is perstack whose names and times can be made the same in each run.
package fixed

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/userfile"
)

// source is set in the environment of a script that wants reproducible runs.
const source = "PERSTACK_TEST_FIXED"

// authority is set to a file with the certificate of a server on this machine, for a script that
// fetches a configuration from it.
const authority = "PERSTACK_TEST_AUTHORITY"

// policy is set to a file with the rules of the machine.
const policy = "PERSTACK_TEST_POLICY"

// mistake is set to the path of a file. While it exists, the engine panics.
const mistake = "PERSTACK_TEST_MISTAKE"

// A mistaken source panics while a file exists.
type mistaken struct {
	engine.Source
	file string
}

func (m mistaken) NewID() string {
	if _, err := os.Stat(m.file); err == nil {
		panic("a mistake in the engine")
	}
	return m.Source.NewID()
}

// trust lets a configuration come from this machine.
func trust(p *egress.Policy, file string) {
	pem, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "perstack:", err)
		return
	}
	p.AllowPrivate, p.RootCAs = true, x509.NewCertPool()
	p.RootCAs.AppendCertsFromPEM(pem)
}

// Main is the program behind sandbox.Init; it returns its exit code.
func Main(args []string) int {
	if err := sandbox.Harden(); err != nil {
		fmt.Fprintln(os.Stderr, "perstack:", err)
		return host.ExitFailure
	}
	h := host.System()
	h.Command = "perstack"
	if h.Getenv(source) != "" {
		h.Source = engine.FixedSource(time.UnixMilli(1_767_000_000_000))
		h.Reproducible = true
	}
	if file := h.Getenv(mistake); file != "" {
		h.Source = mistaken{h.Source, file}
	}
	if file := h.Getenv(authority); file != "" {
		h.RemotePolicy = func(p *egress.Policy) { trust(p, file) }
	}
	if file := h.Getenv(policy); file != "" {
		h.PolicyPath, h.ReadPolicy = file, userfile.ReadOwn // of the user of the test
	}
	return cli.Main(context.Background(), h, args)
}
