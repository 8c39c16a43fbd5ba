// Package registry is the command perstackd registry: it serves a registry, and manages one with its files
// at hand.
//
// It turns flags into the parts of a registry and puts them together; the rules are in
// internal/registry/server, and HTTP is in internal/registry/httpapi. Start reading at [New].
package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/registry/builds"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/web"
)

// options are what the command can be told.
type options struct {
	place

	listen, metricsListen string
	tlsCert, tlsKey       string
	publicURL             string
	proxies               []string
	limits                []string
	readOnly, strict      bool
	verboseErrors         bool
	policy, contact       string
	issuers               []string
	latest, naming        string
	witnesses             []string
	autoMigrate           bool
}

const defaultListen = "127.0.0.1:7421"

// New returns the command with those below it.
func New(h *host.Host) *cobra.Command {
	opts := &options{place: place{host: h}}
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "Serve a registry of Experts, or manage one",
		Long: `Serve a registry. Without flags it listens on ` + defaultListen + `, keeps everything in
an SQLite database in your state directory, and prints the first API key once.

Everything that is published gets a line in a transparency log, in the same
transaction. Clients verify that the log only grows. The key of the log is in
the data directory: without it the registry cannot continue its log, so back
it up (perstackd registry backup does).

Clients reach other addresses than those of this machine over TLS only. Give
the program a certificate, or put a proxy in front of it that has one, and name
the proxy's network with --behind-proxy.

Exit codes: 0 completed, 1 stopped by an error, 2 wrong usage, 129, 130 and 143
stopped by a signal.`,
		Example: `  perstackd registry
  perstackd registry --listen :443 --public-url https://registry.example.com \
    --tls-cert cert.pem --tls-key key.pem
  perstackd registry --database postgres://registry@db.example.com/registry
  perstackd registry --limit publishes-per-hour=600 --limit reads-per-minute=0`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return host.Usagef("unknown command %q; perstackd registry --help lists the commands", args[0])
			}
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			return opts.run(cmd.Context())
		},
	}
	opts.addFlags(cmd.PersistentFlags())
	flags := cmd.Flags()
	flags.StringVar(&opts.listen, "listen", defaultListen, "address and port to listen on; port 0 means a free one")
	flags.StringVar(&opts.tlsCert, "tls-cert", "", "file with the certificate and those of its issuers")
	flags.StringVar(&opts.tlsKey, "tls-key", "", "file with the key of the certificate")
	flags.StringVar(&opts.publicURL, "public-url", "", "address that clients use; it names the log when the registry is started for the first time")
	flags.StringArrayVar(&opts.proxies, "behind-proxy", nil, "network of a proxy that has TLS, such as 10.0.0.0/8; it says what addresses clients have; can be repeated")
	flags.StringVar(&opts.metricsListen, "metrics-listen", "", "address and port for /metrics; keep clients away from it")
	flags.StringArrayVar(&opts.limits, "limit", nil, "limit of requests, as name=number, where 0 is no limit: "+strings.Join(limitNames(), ", ")+"; can be repeated")
	flags.StringArrayVar(&opts.issuers, "issuer", nil, "address of an issuer whose tokens let builds publish, with --public-url as their audience; can be repeated")
	flags.StringArrayVar(&opts.witnesses, "witness", nil, "key and address of a witness that cosigns the log, in one argument: 'name+hash+key https://…'; can be repeated")
	flags.BoolVar(&opts.autoMigrate, "auto-migrate", false, "bring the tables of an older version up to date, instead of refusing to start")
	flags.BoolVar(&opts.readOnly, "read-only", false, "refuse every change")
	flags.BoolVar(&opts.strict, "strict", false, "refuse skills whose packages have no exact version")
	flags.StringVar(&opts.latest, "latest", "semver", "what the tag latest means: semver, the highest version, or last-published, as in the original")
	flags.StringVar(&opts.naming, "naming", "compat", "compat: only teams publish under a scope, or scoped: all organizations do")
	flags.BoolVar(&opts.verboseErrors, "verbose-errors", false, "tell users of the original program why something was refused")
	flags.StringVar(&opts.policy, "policy-url", "", "page with the rules of the registry, for clients")
	flags.StringVar(&opts.contact, "contact", "", "how to reach the operator, for clients")
	cmd.AddCommand(newBackup(&opts.place), newRestore(&opts.place), newVerify(&opts.place), newMigrate(&opts.place), newAdmin(&opts.place))
	return cmd
}

// run serves until a signal comes.
func (o *options) run(ctx context.Context) (err error) {
	origin, err := o.check()
	if err != nil {
		return err
	}
	limits, err := parseLimits(o.limits)
	if err != nil {
		return err
	}
	checked, err := o.rules(limits.newNamesPerDay)
	if err != nil {
		return err
	}
	proxies, err := parseProxies(o.proxies)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(o.host.Secrets.Writer(o.host.Stderr), nil))
	certificate, err := o.readCertificate(logger)
	if err != nil {
		return err
	}
	trusted, err := o.builds()
	if err != nil {
		return err
	}
	peers, err := parseWitnesses(o.witnesses)
	if err != nil {
		return err
	}
	grew := newGrowth()
	s, err := o.open(ctx, siteOptions{origin: origin, rules: checked, readOnly: o.readOnly, migrate: o.autoMigrate, grew: signal(grew)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }() // after what was counted is stored
	defer func() { err = errors.Join(err, s.StoreReads(context.WithoutCancel(ctx))) }()
	pages, err := web.New(web.Options{Registry: s.Registry, Logger: logger, URL: o.publicURL})
	if err != nil {
		return err
	}
	witnesses := o.newCosigning(s.Registry, peers, grew, logger)
	handler, err := httpapi.New(httpapi.Options{
		Registry: s.Registry, LogKeys: []string{s.key.public}, Origin: s.key.signer.Name(), Policy: o.policy, Contact: o.contact,
		Logger: logger, Now: o.host.Source.Now, NewID: o.host.Source.NewID,
		ReadOnly: o.readOnly, VerboseErrors: o.verboseErrors, Proxies: proxies, Limits: limits.Limits, Pages: pages, Builds: trusted, Witnesses: witnesses.states,
	})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", o.listen, err)
	}
	var metrics net.Listener
	if o.metricsListen != "" {
		if metrics, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.metricsListen); err != nil {
			return errors.Join(fmt.Errorf("cannot listen on %s: %w", o.metricsListen, err), listener.Close())
		}
	}
	if err := o.announce(ctx, s, listener, metrics); err != nil {
		return errors.Join(err, listener.Close())
	}
	defer witnesses.start(ctx)()
	return o.serve(ctx, logger, s.Registry, handler, listener, metrics, certificate)
}

// check refuses flags that do not go together, and returns the origin of a log that does not exist yet.
func (o *options) check() (origin string, err error) {
	if (o.tlsCert == "") != (o.tlsKey == "") {
		return "", host.Usagef("--tls-cert and --tls-key go together")
	}
	hostname, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return "", host.Usagef("--listen must be an address and a port, like %s", defaultListen)
	}
	address, err := netip.ParseAddr(hostname)
	isLocal := hostname == "localhost" || err == nil && address.IsLoopback()
	if !isLocal && o.tlsCert == "" && len(o.proxies) == 0 {
		return "", host.Usagef("%s is reached by other machines: give a certificate with --tls-cert and --tls-key, or name the network of the proxy that has one with --behind-proxy", o.listen)
	}
	origin = "localhost"
	if o.publicURL != "" {
		u, err := url.Parse(o.publicURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" {
			return "", host.Usagef("--public-url must be like https://registry.example.com")
		}
		origin = strings.TrimSuffix(u.Host+u.Path, "/")
	}
	return origin + "/log", nil
}

// rules reads the flags about publications.
func (o *options) rules(newNames int) (rules, error) {
	if o.latest != "semver" && o.latest != "last-published" {
		return rules{}, host.Usagef("--latest must be semver or last-published, not %q", o.latest)
	}
	if o.naming != "compat" && o.naming != "scoped" {
		return rules{}, host.Usagef("--naming must be compat or scoped, not %q", o.naming)
	}
	return rules{strict: o.strict, latestByTime: o.latest == "last-published", allScoped: o.naming == "scoped", newNamesPerDay: newNames}, nil
}

// builds verifies the tokens of builds; nil if no issuer is trusted.
func (o *options) builds() (httpapi.Builds, error) {
	if len(o.issuers) == 0 {
		return nil, nil
	}
	if o.publicURL == "" {
		return nil, host.Usagef("--issuer needs --public-url: tokens of builds name the registry that they are for")
	}
	v, err := builds.New(builds.Options{
		Issuers: o.issuers, Audience: strings.TrimSuffix(o.publicURL, "/"), Now: o.host.Source.Now,
		Client: func(issuer *url.URL) *http.Client {
			return egress.Client(egress.Policy{Origin: issuer, AllowPrivate: true, MaxBody: maxIssuerAnswer})
		},
	})
	if err != nil {
		return nil, host.Usagef("--issuer: %w", err)
	}
	return v, nil
}

// maxIssuerAnswer bounds the keys of an issuer.
const maxIssuerAnswer = 1 << 20

func parseProxies(texts []string) (all []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, host.Usagef("--behind-proxy must be a network, like 10.0.0.0/8 or 127.0.0.1/32, not %q", text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// announce says where the registry is. The first key is shown here, and nowhere else.
func (o *options) announce(ctx context.Context, s *site, listener, metrics net.Listener) error {
	address := listener.Addr().String()
	scheme := "http"
	if o.tlsCert != "" {
		scheme = "https"
	}
	at := scheme + "://" + address
	if o.publicURL != "" {
		at = strings.TrimSuffix(o.publicURL, "/") + " (listening on " + address + ")"
	}
	lines := "Registry: " + at + "\nLog key:  " + s.key.public + "\n"
	if metrics != nil {
		lines = "Metrics:  http://" + metrics.Addr().String() + "/metrics\n" + lines
	}
	if !o.readOnly {
		key, err := s.Bootstrap(ctx)
		if err != nil {
			return err
		}
		if key != "" {
			lines += "First key, which is shown only now. It manages the registry:\n" + key + "\n"
		}
	}
	_, err := fmt.Fprint(o.host.Stdout, lines)
	return err
}

// How long connections can take. A whole answer of a closure can be tens of megabytes.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	writeTimeout  = 2 * time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	// drainTimeout is how long requests can take after a signal.
	drainTimeout = 15 * time.Second
)

// serve answers requests until a signal comes, and lets those that have begun end.
func (o *options) serve(ctx context.Context, logger *slog.Logger, core *server.Registry, handler *httpapi.Handler, listener, metrics net.Listener, certificate *tls.Config) error {
	newServer := func(handler http.Handler) *http.Server {
		return &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
			MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		}
	}
	main := newServer(handler)
	if certificate != nil {
		listener = tls.NewListener(listener, certificate)
	}
	servers := map[*http.Server]net.Listener{main: listener}
	if metrics != nil {
		servers[newServer(handler.Metrics())] = metrics
	}
	stop := o.everyMinute(ctx, logger, core)
	defer stop()
	ended := make(chan error, len(servers))
	for s, l := range servers {
		go func() { ended <- s.Serve(l) }()
	}
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		logger.InfoContext(ctx, "stopping: requests that have begun are answered")
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	for s := range servers {
		err = errors.Join(err, s.Shutdown(within))
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// everyMinute stores what was counted, until stop is called.
func (o *options) everyMinute(ctx context.Context, logger *slog.Logger, core *server.Registry) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for o.host.Source.Sleep(ctx, time.Minute) == nil {
			if err := core.StoreReads(ctx); err != nil && ctx.Err() == nil {
				logger.WarnContext(ctx, "reads could not be stored", "error", err.Error())
			}
		}
	}()
	return func() { cancel(); <-ended }
}
