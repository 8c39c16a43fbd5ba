package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/egress/server"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Program is the path of the program in its container.
const Program = "/perstack"

// mark is the first argument in a container. Together with the path it tells a container
// from every other way in which a program can be started.
const mark = "perstack-in-container"

// What a container is for.
const (
	partEngine = "engine"
	partProxy  = "proxy"
	partSquid  = "squid" // the proxy, with Squid
)

// EngineArgs are the arguments of the program in the engine's container. They hold no
// secret, as none of these do: every user of the daemon can read them.
func EngineArgs() []string { return []string{mark, partEngine} }

// ProxyArgs are the arguments in the proxy's container.
func ProxyArgs() []string { return []string{mark, partProxy} }

// SquidArgs are the arguments in a proxy's container that has Squid, which asks the name
// servers of dns.
func SquidArgs(dns []string) []string { return append([]string{mark, partSquid}, dns...) }

// initCalled is closed when main has called Init. It is a fact about the program, not
// about a job: whether this binary does the work of a container when it is started in one,
// or runs main again.
var (
	initCalled = make(chan struct{})
	markInit   = sync.OnceFunc(func() { close(initCalled) })
)

// Init makes this program able to be the one in a container. In a process that was started
// there it does the work of the container and does not return. The main function calls it
// behind [sandbox.Init], which makes the program able to start others.
func Init(runJob RunFunc, list DiscoverFunc) {
	if len(os.Args) > 1 && os.Args[0] == Program && os.Args[1] == mark {
		os.Exit(start(os.Args[2:], runJob, list))
	}
	markInit()
}

// InitCalled reports whether this program can be the one in a container.
func InitCalled() bool {
	select {
	case <-initCalled:
		return true
	default:
		return false
	}
}

// The exit codes. The host reads how a job ended from what it is told, and these only where
// nothing was told.
const (
	exitFailure = 1
	exitUsage   = 2
)

// start prepares this process as a main function does, and does its work.
func start(args []string, runJob RunFunc, list DiscoverFunc) int {
	process.DelayCollection()
	if err := sandbox.Harden(); err != nil { // before any secret is read
		fmt.Fprintln(os.Stderr, "perstack:", err)
		return exitFailure
	}
	environ := os.Environ()
	process.Forget(environ)
	p := &program{stdin: os.Stdin, stdout: os.Stdout, environ: environ, runJob: runJob, list: list}
	runtimes.HideAllKeys(&p.secrets, p.getenv)
	p.stderr = p.secrets.Writer(os.Stderr)
	ctx, stop := process.Interruptible(context.Background(), p.stderr, p.begun.Load)
	defer stop()
	return p.exitCode(ctx, p.do(ctx, args))
}

// A program is what this process works with, whatever the container is for.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	secrets        secret.Set
	runJob         RunFunc
	list           DiscoverFunc
	begun          atomic.Bool // the job has begun, and is saved when it is stopped
}

func (p *program) getenv(name string) string { return sandbox.Variable(p.environ, name) }

// do does what the arguments say.
func (p *program) do(ctx context.Context, args []string) error {
	part := ""
	if len(args) > 0 {
		part, args = args[0], args[1:]
	}
	proxy := &server.Server{Stdout: p.stdout, Secrets: &p.secrets}
	switch {
	case part == partEngine && len(args) == 0:
		return run(ctx, &options{
			stdin: p.stdin, stdout: p.stdout, path: p.getenv("PATH"), secrets: &p.secrets,
			source: engine.SystemSource(), runJob: p.runJob, list: p.list, begun: func() { p.begun.Store(true) },
		})
	case part == partProxy && len(args) == 0:
	case part == partSquid:
		proxy.Squid = &server.Squid{Program: server.DefaultSquid, Environ: p.environ}
		for _, text := range args {
			a, err := netip.ParseAddr(text)
			if err != nil || a.Zone() != "" {
				return &server.UsageError{Err: errors.New("a name server must be an address, like 192.0.2.53")}
			}
			proxy.Squid.DNS = append(proxy.Squid.DNS, a)
		}
	default:
		return &server.UsageError{Err: errors.New("the container was started with arguments that this version of perstack does not know")}
	}
	err := proxy.Run(ctx, p.stdin)
	if errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("%w; name an image that has Squid: squidImage in [docker]", err)
	}
	return err
}

// exitCode says on standard error why the work failed, unless the host was told, and
// returns the code for it.
func (p *program) exitCode(ctx context.Context, err error) int {
	var s process.Signal
	switch {
	case err == nil:
		return 0
	case errors.As(err, &s):
		return s.ExitCode()
	case errors.Is(err, errFailed):
		return exitFailure
	}
	fmt.Fprintln(p.stderr, "perstack: "+terminal.Clean(err.Error()))
	switch {
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &s):
		return s.ExitCode()
	case errors.As(err, new(*server.UsageError)):
		return exitUsage
	}
	return exitFailure
}
