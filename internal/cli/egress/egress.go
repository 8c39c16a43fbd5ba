// Package egress is the command that runs the proxy of package egress as a program, for any
// program that a user wants to restrict.
//
// It turns flags into listeners, and decides nothing itself. Start reading at [New], then
// [Run].
package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/egress/server"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Options are what the command can be told.
type Options struct {
	Host *host.Host

	Listen         string
	Allow          []string
	TokenFile      string
	MaxConnections int
	Policy         string // a file or - instead of the others

	Squid string   // program that carries it out instead of ours; empty for ours
	DNS   []string // servers that it asks
}

// defaultListen is where proxies are looked for.
const defaultListen = "127.0.0.1:3128"

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = Run
	}
	cmd := &cobra.Command{
		Use:   "egress",
		Short: "Run the proxy through which programs reach allowed hosts only",
		Long: `Run the egress proxy. Programs that use it reach the hosts that you allow, over
HTTPS, and nothing else. perstack run --runtime docker starts it with every Expert.
On its own, it restricts programs that honour HTTPS_PROXY.

A connection is allowed if the request is CONNECT to port 443, the host is allowed,
every address of the host is public, and the TLS hello names the same host. The proxy
connects to the address that it checked. Nothing is decrypted.

--allow api.example.com allows one host. --allow '*.example.com' allows all hosts below
example.com, but not example.com itself. Without --allow, everything is refused, and
the output shows what a program asks for.

Each decision is printed as one line of JSON before any data is passed on. A second
line says how much data the connection carried. The first line of the output names
the addresses that the proxy listens on. docs/egress.md describes the fields.

--policy reads a list of listeners, each with its own address, hosts and token, from
a file or from one line of standard input. In the second case the proxy runs until
the input ends.

--squid runs Squid as the proxy for the same listeners and reports its log in the
same form. Squid takes no tokens, does not check the TLS hello, and reports an allowed
connection when it ends. docs/egress.md compares the two.

The proxy cannot stop a program that ignores it. That needs a network without another
way out, which the Docker runtime has.

Exit codes: 0 the input ended, 1 cannot listen or cannot report, 2 wrong usage,
129, 130 and 143 stopped by a signal.`,
		Example: `  perstack egress --allow api.example.com --allow '*.example.org'
  HTTPS_PROXY=http://127.0.0.1:3128 curl https://api.example.com/
  perstack egress --listen 127.0.0.1:0 --token-file ~/.proxy-token --allow '*.example.org'
  perstack egress --policy listeners.json
  perstack egress --squid --allow '*.example.org'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if cmd.Flags().Changed("squid") {
					return host.Usagef("perstack egress takes no arguments, but got %q; a Squid that is not in PATH is named like %s, a host by --allow", args[0], terminal.ShellJoin("--squid="+args[0]))
				}
				return host.Usagef("perstack egress takes no arguments, but got %q; --allow names a host", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			if err := opts.check(cmd.Flags()); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Listen, "listen", defaultListen, "address and port to listen on; port 0 means a free one, but not with --squid")
	flags.StringArrayVar(&opts.Allow, "allow", nil, "host to allow, or *.host for all hosts below it; can be repeated")
	flags.StringVar(&opts.TokenFile, "token-file", "", "file with the password that clients must send, with user name perstack")
	flags.IntVar(&opts.MaxConnections, "max-connections", egress.DefaultMaxConnections, "most connections that can be open at once")
	flags.StringVar(&opts.Policy, "policy", "", "file with listeners in JSON, or - for one line of standard input")
	flags.StringVar(&opts.Squid, "squid", "", "use Squid: the program in PATH, or --squid=PROGRAM")
	flags.Lookup("squid").NoOptDefVal = server.DefaultSquid
	flags.StringArrayVar(&opts.DNS, "dns", nil, "address of a name server for Squid; can be repeated")
	for _, name := range []string{"listen", "allow", "max-connections", "dns"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

// check refuses flags that would be left without effect.
func (o *Options) check(flags *pflag.FlagSet) error {
	for _, name := range []string{"listen", "allow", "token-file", "max-connections"} {
		if flags.Changed("policy") && flags.Changed(name) {
			return host.Usagef("--%s has no effect with --policy, which sets it", name)
		}
	}
	if flags.Changed("dns") && o.Squid == "" {
		return host.Usagef("--dns works with --squid only; the builtin proxy asks the name servers of the machine")
	}
	if flags.Changed("token-file") && o.Squid != "" {
		return host.Usagef("--token-file has no effect with --squid, which checks no token; leave --squid out")
	}
	if o.MaxConnections < 1 || o.MaxConnections > egress.MaxConnections {
		return host.Usagef("--max-connections must be from 1 to %d", egress.MaxConnections)
	}
	return nil
}

// Run serves until the input ends, a signal comes or a decision cannot be reported. The
// error carries the exit code.
func Run(ctx context.Context, opts *Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	config, err := opts.proxyConfig(ctx, cancel)
	if err != nil {
		return outcome(err)
	}
	proxy := &server.Server{Stdout: opts.Host.Stdout, Secrets: &opts.Host.Secrets}
	if proxy.Squid, err = opts.squid(); err != nil {
		return err
	}
	if opts.Policy == "" {
		proxy.Ready = opts.announce
	}
	return outcome(proxy.Serve(ctx, config))
}

// squid is the Squid that the flags name; nil for the builtin proxy.
func (o *Options) squid() (*server.Squid, error) {
	if o.Squid == "" {
		return nil, nil
	}
	s := &server.Squid{Program: o.Squid, Environ: o.Host.Environ}
	for _, text := range o.DNS {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return nil, host.Usagef("--dns must be an address, like 192.0.2.53")
		}
		s.DNS = append(s.DNS, a)
	}
	return s, nil
}

// announce tells a person how the proxy is used.
func (o *Options) announce(address string) {
	fmt.Fprintf(o.Host.Stderr, "Listening on %s; programs use it with HTTPS_PROXY=%s\n", address, o.variable(address))
}

// variable is what a user puts into HTTPS_PROXY. The token is not shown. Who listens at all
// addresses is named by one that programs of this machine can dial.
func (o *Options) variable(address string) string {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().IsUnspecified() {
		near := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		// Listening at 0.0.0.0 is told as ::, so what was asked for decides.
		if asked, err := netip.ParseAddrPort(o.Listen); err == nil && asked.Addr().Is6() && !asked.Addr().Is4In6() {
			near = netip.IPv6Loopback()
		}
		address = netip.AddrPortFrom(near, at.Port()).String()
	}
	if o.TokenFile != "" {
		return "http://" + egress.TokenUser + ":TOKEN@" + address
	}
	return "http://" + address
}

// outcome gives an error its exit code, and hints their flags.
func outcome(err error) error {
	var s process.Signal
	var usage *server.UsageError
	switch {
	case errors.As(err, &s):
		return host.Exit(s.ExitCode())
	case errors.Is(err, server.ErrRoot):
		return host.Usagef("%w; run perstack egress --squid as another user", err)
	case errors.As(err, &usage):
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	case errors.Is(err, sandbox.ErrNotFound):
		return fmt.Errorf("%w; install Squid, or name it: --squid=/path/to/squid", err)
	}
	return err
}
