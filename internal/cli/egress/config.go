package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/egress/server"
	"github.com/perstack-go/perstack/internal/userfile"
)

// proxyConfig returns what the flags, or the policy, say. With a policy from standard input the
// end of that input ends the context.
func (o *Options) proxyConfig(ctx context.Context, cancel context.CancelCauseFunc) (egress.ProxyConfig, error) {
	var config egress.ProxyConfig
	var err error
	switch o.Policy {
	case "":
		config, err = o.fromFlags()
	case "-":
		config, err = o.fromInput(ctx, cancel)
	default:
		config, err = o.fromFile()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return egress.ProxyConfig{}, context.Cause(ctx)
	case err != nil:
		return egress.ProxyConfig{}, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return config, nil
}

// fromFlags makes the one listener of the flags.
func (o *Options) fromFlags() (egress.ProxyConfig, error) {
	listener := egress.Listener{Name: "egress", Address: o.Listen, Allow: o.Allow}
	address, err := netip.ParseAddrPort(o.Listen)
	if err != nil {
		return egress.ProxyConfig{}, errors.New("--listen must be an address and a port, like " + defaultListen)
	}
	if _, err := egress.ParseAllowlist(o.Allow); err != nil {
		return egress.ProxyConfig{}, fmt.Errorf("--allow: %w", err)
	}
	if o.TokenFile != "" {
		if listener.Token, err = o.readToken(); err != nil {
			return egress.ProxyConfig{}, fmt.Errorf("--token-file: %w", err)
		}
	} else if !address.Addr().Unmap().IsLoopback() {
		// Other machines could otherwise use this one to reach those hosts.
		return egress.ProxyConfig{}, fmt.Errorf("others can reach %s; give a --token-file, or listen at %s", address.Addr(), defaultListen)
	}
	return egress.ProxyConfig{Listeners: []egress.Listener{listener}, MaxConnections: o.MaxConnections}, nil
}

// readToken returns the token of the file. There is no flag for the token itself: every
// program of the machine can read the arguments of the others.
func (o *Options) readToken() (string, error) {
	data, err := o.readFile(o.TokenFile, 1<<10, func([]byte) bool { return true })
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 16 || len(token) > 512 || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("/:@%?#", c) }) {
		return "", errors.New("it must hold one token of 16 to 512 letters, digits and -._~+= and nothing else; make one with: openssl rand -hex 32")
	}
	return token, nil
}

// fromFile reads a policy, which may hold tokens.
func (o *Options) fromFile() (config egress.ProxyConfig, err error) {
	var broken error
	_, err = o.readFile(o.Policy, egress.MaxPolicy, func(data []byte) bool {
		config, broken = egress.ParseProxyConfig(data)
		return config.Upstream != "" || slices.ContainsFunc(config.Listeners, func(l egress.Listener) bool { return l.Token != "" })
	})
	if err = cmp.Or(err, broken); err == nil && config.MaxSilence > 0 {
		err = errors.New("maxSilence has no effect in a file: it is for a policy from standard input")
	}
	if err != nil {
		return egress.ProxyConfig{}, fmt.Errorf("--policy: %w", err)
	}
	return config, nil
}

// readFile reads a file. If it holds a secret, no other user may have rights to it.
func (o *Options) readFile(name string, most int64, secret func(data []byte) bool) ([]byte, error) {
	path := o.Host.Path(name)
	file, err := userfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Size() > most:
		return nil, fmt.Errorf("%s has more than %d bytes", path, most)
	}
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err == nil && secret(data) && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users have rights to %s; take them away: chmod 600", path)
	}
	return data, err
}

// fromInput reads a policy from standard input, whose end ends the context.
func (o *Options) fromInput(ctx context.Context, cancel context.CancelCauseFunc) (egress.ProxyConfig, error) {
	named := func(err error) error {
		if wrong, ok := errors.AsType[*server.UsageError](err); ok {
			return host.Usagef("--policy -: %w", wrong.Err)
		}
		return err
	}
	config, err := server.ReadConfig(ctx, o.Host.Stdin, func(cause error) { cancel(named(cause)) })
	return config, named(err)
}
