package server

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

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/egress/squid"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/terminal"
)

// DefaultSquid is how Squid is called in PATH.
const DefaultSquid = "squid"

const (
	// sbin is where systems keep Squid, which is not in every PATH.
	sbin = "/usr/local/sbin:/usr/sbin"

	squidStart = 30 * time.Second // until its listeners are open, which takes milliseconds
	// squidGrace is for writing down what its connections carried. It never takes less
	// than a second to end.
	squidGrace = 1500 * time.Millisecond
	maxSaid    = 4 << 10 // of its last words
)

// A Squid is the program that carries connections instead of ours.
type Squid struct {
	Program string       // looked up in PATH of Environ and in the directories for servers
	DNS     []netip.Addr // name servers that it asks; empty for those of the machine
	Environ []string     // of this process
}

// ErrRoot says that Squid cannot be started by root: it would change its user.
var ErrRoot = errors.New("squid does not work as root")

// serveSquid has Squid carry out the listeners, and reports what it tells. It returns when
// Squid ends, or the context: then Squid is ended.
func (s *Server) serveSquid(ctx context.Context, config egress.ProxyConfig) error {
	text, err := squid.Config(config, s.Squid.DNS)
	if err != nil {
		return &UsageError{err}
	}
	if os.Geteuid() == 0 {
		return &UsageError{ErrRoot}
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
		Program: s.Squid.Program, Args: []string{"-N", "-d", "0", "-f", file}, Dir: dir, Environ: s.Squid.Environ,
		Set:    map[string]string{"PATH": strings.TrimPrefix(sandbox.Variable(s.Squid.Environ, "PATH")+":"+sbin, ":")},
		Policy: policy.Off(policy.Squid),
	})
	if err != nil {
		return err
	}
	return s.follow(ctx, running, config)
}

// follow reports what a started Squid does until it ends.
func (s *Server) follow(ctx context.Context, running *sandbox.ServerProcess, config egress.ProxyConfig) error {
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
		fail(s.report(log))
	})
	starting, cancel := context.WithTimeoutCause(ctx, squidStart, fmt.Errorf("squid has not opened its listeners within %s", squidStart))
	defer cancel()
	if err := config.Opened(starting, running.Done()); err != nil {
		fail(err)
	} else if err := s.print(egress.Line{Ready: config.Listeners}); err != nil {
		fail(err)
	} else if s.Ready != nil {
		s.Ready(config.Listeners[0].Address)
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
func (s *Server) report(log *squid.Log) error {
	for {
		access, closed, err := log.Next()
		if err != nil {
			return err
		}
		err = s.print(egress.Line{Access: &access})
		if err == nil && closed != nil {
			err = s.print(egress.Line{Closed: closed})
		}
		if err != nil {
			return err
		}
	}
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
