package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/egress/squid"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/terminal"
)

const (
	defaultSquid = "squid"
	// sbin is where systems keep Squid, which is not in every PATH.
	sbin = "/usr/local/sbin:/usr/sbin"

	squidStart = 30 * time.Second // until its listeners are open, which takes milliseconds
	// squidGrace is for writing down what its connections carried. It never takes less
	// than a second to end.
	squidGrace = 1500 * time.Millisecond
	maxSaid    = 4 << 10 // of its last words
)

// serveSquid has Squid carry out the listeners, and reports what it tells. It returns when
// Squid ends, or the context: then Squid is ended.
func (o *Options) serveSquid(ctx context.Context, config egress.ProxyConfig) error {
	servers, err := o.servers()
	if err != nil {
		return err
	}
	text, err := squid.Config(config, servers)
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	if os.Geteuid() == 0 {
		return host.Usagef("Squid does not work as root; run perstack egress --squid as another user")
	}
	if err := config.Vacant(ctx); err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	dir, err := os.MkdirTemp("", "perstack-squid-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "squid.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	programs := sandbox.NewSupervisor()
	defer programs.Close()
	running, err := programs.Start(ctx, sandbox.Server{
		Program: o.Squid, Args: []string{"-N", "-d", "0", "-f", file}, Dir: dir, Environ: o.Host.Environ,
		Set: map[string]string{"PATH": strings.TrimPrefix(o.Host.Getenv("PATH")+":"+sbin, ":")},
	})
	if errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("%w: %s; install Squid, or name it: --squid=/path/to/squid", err, o.Squid)
	}
	if err != nil {
		return err
	}
	return o.follow(ctx, running, config)
}

// follow reports what a started Squid does until it ends.
func (o *Options) follow(ctx context.Context, running *sandbox.ServerProcess, config egress.ProxyConfig) error {
	log, err := squid.NewLog(running.Stdout, config)
	if err != nil {
		return errors.Join(err, running.Stop(squidGrace))
	}
	said := &lastWords{}
	var listening sync.WaitGroup
	listening.Go(func() { _, _ = io.Copy(said, running.Stderr) })
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	ready := make(chan struct{})
	listening.Go(func() { // from here on, all that Squid tells is reported, in its order
		<-ready
		fail(o.report(log))
	})
	starting, cancel := context.WithTimeoutCause(ctx, squidStart, fmt.Errorf("squid has not opened its listeners within %s", squidStart))
	defer cancel()
	if err := config.Opened(starting, running.Done()); err != nil {
		fail(err)
	} else if err := o.print(egress.Line{Ready: config.Listeners}); err != nil {
		fail(err)
	} else if o.Policy == "" {
		o.announce(config.Listeners[0].Address)
	}
	close(ready)
	select {
	case <-ctx.Done():
	case <-running.Done():
		fail(egress.ErrGone)
	}
	stopErr := running.Stop(squidGrace)
	listening.Wait()
	cause := context.Cause(ctx)
	if errors.Is(cause, egress.ErrGone) || errors.Is(cause, io.EOF) {
		cause = fmt.Errorf("squid ended (%s)%s", running.Exit(), said)
	}
	if stopErr != nil {
		return errors.Join(cause, stopErr)
	}
	return outcome(cause)
}

// report prints decisions until there are no more, or one cannot be printed or trusted.
func (o *Options) report(log *squid.Log) error {
	for {
		access, closed, err := log.Next()
		if err != nil {
			return err
		}
		err = o.print(egress.Line{Access: &access})
		if err == nil && closed != nil {
			err = o.print(egress.Line{Closed: closed})
		}
		if err != nil {
			return err
		}
	}
}

// servers are those that --dns names.
func (o *Options) servers() ([]netip.Addr, error) {
	var servers []netip.Addr
	for _, text := range o.DNS {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return nil, host.Usagef("--dns must be an address, like 192.0.2.53")
		}
		servers = append(servers, a)
	}
	return servers, nil
}

// lastWords keeps the end of what a program says, in lines that can be shown.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	w.text = w.text[max(0, len(w.text)-maxSaid):]
	return len(p), nil
}

func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := string(w.text)
	if at := strings.LastIndex(said, "FATAL"); at >= 0 { // how long it lived follows
		said, _, _ = strings.Cut(said[at:], "\n")
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	said = strings.Join(strings.Fields(strings.Join(lines[max(0, len(lines)-3):], " ")), " ")
	if said == "" {
		return ""
	}
	return ": " + terminal.CleanLine(said)
}
