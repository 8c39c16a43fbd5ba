// Package inside is the command that runs in the container of the Docker runtime: the
// engine of a job. Users do not call it.
//
// It reads one document from standard input, checks that the container is isolated, and
// runs the job. It stores nothing: each event is sent to the host, and the job continues
// when the host has written it. When the host is gone, the command ends at once. It is the
// first process of its container, so all other processes end with it.
//
// Start reading at [Run].
package inside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model"
)

// Options are what the command works with. It has no flags: every user of the daemon can
// read the arguments of a container.
type Options struct {
	Host *host.Host
	// Check tests the isolation; nil means [selftest.Run].
	Check func(context.Context, selftest.Spec) []selftest.Result
	// Tmp and Home are where sandboxes have their directories; empty means those of the container.
	Tmp, Home string
}

// New returns the command.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = Run
	}
	return &cobra.Command{
		Use:    "inside",
		Short:  "Run a job in a container",
		Hidden: true, // only the Docker runtime calls it
		Long: `Run the job that a document on standard input describes. The Docker runtime
starts this command in its containers; it is of no use elsewhere.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), opts) },
	}
}

// parting is how long commands are given to end when the host is gone. Nothing can be
// recorded then, and what does not end dies with this process.
const parting = time.Second

// spareThreads are those that the engine has before anything else runs: of an ordinary job
// it never needs more.
const spareThreads = 24

// Run runs the job of the document that the host sends. The host is told how it ended;
// the error only says that it did not end well.
func Run(ctx context.Context, opts *Options) error {
	if opts.Host.StdinIsTerminal {
		return host.Usagef("perstack inside is for containers; run an Expert in one with: perstack run <expert> <query> --runtime docker")
	}
	// Commands have our user, and may send us signals.
	defer process.WithoutDumps()()
	// They may also multiply until the container has no thread left.
	sandbox.ReserveThreads(spareThreads)
	conn, err := dial(ctx, opts.Host)
	if err != nil {
		// The host may still read. If it does not, the exit code remains.
		_ = hostlink.NewWriter(opts.Host.Stdout).Write(hostlink.Up{End: &hostlink.End{Error: terminal.Clean(err.Error())}})
		return host.Exit(host.ExitFailure)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := conn.Serve(); err != nil {
			cancel(fmt.Errorf("the host cannot be understood: %w", err))
		}
	}()
	go func() { // the engine saves when it is told to stop, and ends by itself
		select {
		case stop := <-conn.Stopped():
			cancel(cause(stop))
		case <-ctx.Done():
		}
	}()

	w := &work{opts: opts, host: opts.Host, conn: conn, document: conn.Document()}
	done := make(chan struct{})
	go w.beat(done)
	var end *hostlink.End
	go func() {
		defer close(done)
		end = w.do(ctx)
	}()
	select {
	case <-done:
	case <-conn.Gone():
		cancel(hostlink.ErrGone)
		select {
		case <-done:
		case <-time.After(parting):
		}
		return host.Exit(host.ExitFailure)
	}
	if err := w.conn.Send(hostlink.Up{End: end}); err != nil || end.Error != "" {
		return host.Exit(host.ExitFailure)
	}
	return nil
}

// dial waits for the document, unless we are told to end.
func dial(ctx context.Context, h *host.Host) (*hostlink.Conn, error) {
	var conn *hostlink.Conn
	came := make(chan error, 1)
	go func() {
		var err error
		conn, err = hostlink.Dial(h.Stdin, h.Stdout)
		came <- err
	}()
	select {
	case err := <-came:
		return conn, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// cause is what the engine records as the reason.
func cause(s hostlink.Stop) error {
	switch {
	case s.Limit != nil:
		return (*engine.LimitError)(s.Limit)
	case s.Reason == "":
		return context.Canceled
	}
	return errors.New(s.Reason)
}

// A work is one job in the container.
type work struct {
	opts     *Options
	host     *host.Host
	conn     *hostlink.Conn
	document *hostlink.Document
	proxy    *url.URL // by which the program itself reaches out
}

// do does the work, and returns how it ended. A bug must not end it without a word.
func (w *work) do(ctx context.Context) (end *hostlink.End) {
	w.hideKnown()
	defer func() {
		if p := recover(); p != nil {
			end = w.failure(fmt.Errorf("internal error: %v", p))
			w.logger().Error("internal error", "stack", string(debug.Stack()))
		}
	}()
	result, err := w.run(ctx)
	if err != nil {
		return w.failure(err)
	}
	return &hostlink.End{Limit: (*hostlink.Limit)(result.Limit)}
}

// run checks the isolation of the container and runs the job.
func (w *work) run(ctx context.Context) (result engine.Result, err error) {
	d := w.document
	if w.proxy, err = proxyURL(d.Secrets.Proxy, d.Addresses.Tokenless); err != nil {
		return result, err
	}
	if d.Addresses.Tokenless && d.Spec.Isolation.SharedSandbox {
		return result, errors.New("the proxy checks no token, so skills could use the hosts of one another; leave out --shared-sandbox, or proxy = \"squid\"")
	}
	if err := w.checkIsolation(ctx); err != nil {
		return result, err
	}
	d.Spec.SetHeaders(d.Secrets.Headers)
	parts := engine.Parts{
		Store:     w.conn.Store(),
		Variables: func(name string) engine.Variable { return d.Secrets.Variables[name] },
		Secrets:   &w.host.Secrets,
		// Where programs are, the image knows, unless the host says it: the last of two counts.
		Environ:   append([]string{"PATH=" + w.host.Getenv("PATH")}, d.Addresses.Environ...),
		Log:       w.logger(),
		Source:    w.host.Source,
		Lean:      true,
		Container: w.container(),
		Done:      func(r engine.Result) { result = r },
	}
	if parts.Model, err = w.model(parts); err != nil {
		return result, &engine.Error{Kind: engine.KindInput, Err: err} // nothing was started
	}
	w.host.Saves()
	for e, err := range perstack.Run(ctx, d.Spec, parts) {
		if err == nil {
			err = w.show(e)
		}
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// model opens the model with what came along and nothing else.
func (w *work) model(parts engine.Parts) (model.Model, error) {
	bundle := &providers.Bundle{Variables: make(map[string]providers.Variable), Files: make(map[string][]byte)}
	for name, v := range w.document.Secrets.Variables {
		bundle.Variables[name] = providers.Variable(v)
	}
	for _, f := range w.document.Secrets.Files {
		bundle.Files[f.Path] = f.Data
	}
	return runtimes.OpenModel(w.document.Spec, parts, func(config providers.Config) providers.Config {
		config = bundle.Unpack(config)
		config.Proxy = w.proxy
		return config
	})
}

// show tells the host what is not recorded. What is, the host has written itself.
func (w *work) show(e event.Event) error {
	if e.IsKept() {
		return nil
	}
	shown, err := event.Marshal(e)
	if err != nil {
		return err
	}
	return w.conn.Send(hostlink.Up{Show: shown})
}

// failure is the end of a job that could not be run, or whose end could not be recorded.
func (w *work) failure(err error) *hostlink.End {
	end := &hostlink.End{Error: cmp.Or(w.clean(err.Error()), "unknown error")}
	if known, ok := errors.AsType[*engine.Error](err); ok {
		end.Kind = string(known.Kind)
	}
	return end
}

// checkIsolation makes the self-test and tells the host what was found. Where a check
// fails, nothing runs.
func (w *work) checkIsolation(ctx context.Context) error {
	at, is := w.document.Addresses, w.document.Spec.Isolation
	spec := selftest.Spec{
		Proxy:         w.proxy,
		Masked:        at.Hidden,
		Work:          at.Workspace,
		ReadOnlyWork:  is.Container.ReadOnlyWorkspace,
		SharedSandbox: is.SharedSandbox,
		Tokenless:     at.Tokenless,
	}
	if at.Gateway != "" {
		var err error
		if spec.Gateway, err = netip.ParseAddr(at.Gateway); err != nil {
			return errors.New("the sandbox check failed: the address of the gateway cannot be read")
		}
	}
	look := w.opts.Check
	if look == nil {
		look = selftest.Run
	}
	results := look(ctx, spec)
	if ctx.Err() != nil {
		// Checks that a stop cut off did not find a hole, and must not be shown as if.
		return context.Cause(ctx)
	}
	for i, r := range results {
		if r.Name == selftest.Sandboxes && !r.OK {
			r.Detail += "; use a newer kernel, or let all skills share one sandbox with --shared-sandbox"
			results[i] = r
		}
		check := &hostlink.Check{Name: r.Name, OK: r.OK, Detail: w.clean(r.Detail)}
		if err := w.conn.Send(hostlink.Up{Check: check}); err != nil {
			return err
		}
	}
	if err := selftest.Err(results); err != nil {
		return fmt.Errorf("the sandbox check failed: %w", err)
	}
	return nil
}

// proxyURL reads the address of the proxy. The text of its errors does not repeat it: it
// holds a token.
func proxyURL(address string, tokenless bool) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Host == "" || (u.User == nil) != tokenless {
		return nil, errors.New("the address of the proxy cannot be read")
	}
	return u, nil
}
