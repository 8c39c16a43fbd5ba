// Package inside is the program in the containers of the Docker runtime. It is the same
// program as the one outside: [Init], which every main function that runs jobs calls first,
// recognises that the process was started in a container and does that container's work.
//
// The engine's container reads one document from standard input, checks that the container
// is isolated, and runs the job. It stores nothing: each event is sent to the host, and the
// job continues when the host has written it. When the host is gone, or the daemon between
// them, the program ends. It is the first process of its container, so all other processes end with it. The
// proxy's container serves the listeners that its input describes (package server).
//
// Start reading at [Init], then run.
package inside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// A RunFunc runs a job. It is perstack.Run, which this package cannot import.
type RunFunc func(context.Context, job.Spec, engine.Parts) iter.Seq2[event.Event, error]

// A DiscoverFunc lists the tools of the skills of a Spec. It tells what servers write, and what
// each skill offers: definitions of tools, or an error.
type DiscoverFunc func(ctx context.Context, spec job.Spec, parts engine.Parts, note func(key, skill, line string), found func(key, skill string, tools []rawjson.Value, err error)) error

// options are what the engine's container works with.
type options struct {
	stdin   io.Reader
	stdout  io.Writer
	path    string // PATH of the container
	secrets *secret.Set
	source  engine.Source
	runJob  RunFunc
	list    DiscoverFunc
	begun   func() // called when the job begins, and there is something to save
	// check tests the isolation; nil means [selftest.Run].
	check func(context.Context, selftest.Spec) []selftest.Result
	// tmp and home are where sandboxes have their directories; empty means those of the container.
	tmp, home string
}

// parting is how long commands are given to end when the host is gone. Nothing can be
// recorded then, and what does not end dies with this process.
const parting = time.Second

// spareThreads are those that the engine has before anything else runs: of an ordinary job
// it never needs more.
const spareThreads = 24

// errFailed says that a job did not end well. The host was told why, if it still listens.
var errFailed = errors.New("the job did not end well")

// run runs the job of the document that the host sends. The host is told how it ended;
// the error only says that it did not end well.
func run(ctx context.Context, opts *options) error {
	// Commands have our user, and may send us signals.
	defer process.WithoutDumps()()
	// They may also multiply until the container has no thread left.
	sandbox.ReserveThreads(spareThreads)
	conn, err := dial(ctx, opts)
	if err != nil {
		// The host may still read. If it does not, the exit code remains.
		_ = hostlink.NewWriter(opts.stdout).Write(hostlink.Up{End: &hostlink.End{Error: terminal.Clean(err.Error())}})
		return errFailed
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

	w := &work{opts: opts, conn: conn, document: conn.Document()}
	done := make(chan struct{})
	go w.beat(done)
	var end *hostlink.End
	go func() {
		defer close(done)
		end = w.do(ctx)
	}()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		awaitEnd(conn, cmp.Or(w.document.Spec.Isolation.Container.IdleTimeout, job.DefaultContainer().IdleTimeout))
	}()
	select {
	case <-done:
	case <-gone:
		cancel(hostlink.ErrGone)
		select {
		case <-done:
		case <-time.After(parting):
		}
		return errFailed
	}
	if err := w.conn.Send(hostlink.Up{End: end}); err != nil || end.Error != "" {
		return errFailed
	}
	return nil
}

// documentLimit is how long the host may take to send the document: it waits for the proxy.
const documentLimit = 10 * time.Minute

// dial waits for the document, unless we are told to end.
func dial(ctx context.Context, opts *options) (*hostlink.Conn, error) {
	var conn *hostlink.Conn
	came := make(chan error, 1)
	go func() {
		var err error
		conn, err = hostlink.Dial(opts.stdin, opts.stdout)
		came <- err
	}()
	select {
	case err := <-came:
		return conn, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(documentLimit):
		return nil, fmt.Errorf("the host sent no document within %s", documentLimit)
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
	opts     *options
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
		return result, errors.New("the proxy checks no token, so skills could use the hosts of one another; use separate sandboxes or proxy = \"builtin\"")
	}
	if err := w.checkIsolation(ctx); err != nil {
		return result, err
	}
	d.Spec.SetHeaders(d.Secrets.Headers)
	parts := engine.Parts{
		Store:     w.conn.Store(),
		Variables: func(name string) engine.Variable { return d.Secrets.Variables[name] },
		Secrets:   w.opts.secrets,
		// Where programs are, the image knows, unless the host says it: the last of two counts.
		Environ:   append([]string{"PATH=" + w.opts.path}, d.Addresses.Environ...),
		Log:       w.logger(),
		Source:    w.opts.source,
		Lean:      true,
		Container: w.container(),
		Approvals: w.conn,

		Attachments: d.Attachments,
		Approver:    w.conn,
		Inbox:       w.conn.Inbox(),
		Done:        func(r engine.Result) { result = r },
	}
	if d.Discover {
		return result, w.discover(ctx, parts)
	}
	if parts.Model, err = w.model(parts); err != nil {
		return result, &engine.Error{Kind: engine.KindInput, Err: err} // nothing was started
	}
	w.opts.begun()
	for e, err := range w.opts.runJob(ctx, d.Spec, parts) {
		if err == nil {
			err = w.show(e)
		}
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// discover tells the host which tools the skills of the Spec offer.
func (w *work) discover(ctx context.Context, parts engine.Parts) error {
	send := func(up hostlink.Up) {
		_ = w.conn.Send(up) // a host that is gone ends this process
	}
	return w.opts.list(ctx, w.document.Spec, parts, func(key, skill, line string) {
		send(hostlink.Up{Note: &hostlink.Note{Expert: key, Skill: skill, Text: w.clean(line)}})
	}, func(key, skill string, tools []rawjson.Value, err error) {
		found := &hostlink.Found{Expert: key, Skill: skill, Tools: tools}
		if err != nil {
			found.Error = cmp.Or(w.clean(err.Error()), "unknown error")
		}
		send(hostlink.Up{Found: found})
	})
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
		ReadOnlyWork:  at.ReadOnlyWorkspace,
		SharedSandbox: is.SharedSandbox,
		Tokenless:     at.Tokenless,
	}
	if at.Gateway != "" {
		var err error
		if spec.Gateway, err = netip.ParseAddr(at.Gateway); err != nil {
			return errors.New("the sandbox check failed: the address of the gateway cannot be read")
		}
	}
	look := w.opts.check
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
			r.Detail += "; use a newer kernel, or " + selftest.ShareSandbox
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
