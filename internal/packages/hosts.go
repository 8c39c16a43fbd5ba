package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/rawjson"
)

// A package can name any address for a dependency, including one inside the network of the
// user, and a registry can name any address for the archive of a package. So npm and uv run
// behind a proxy of ours. It connects to the registries that the user configured, and to the
// hosts that the user added, and refuses everything else before it is looked up.

// runBehind runs a package manager behind a proxy. While it starts, reach finds out which servers
// it can reach; requests wait for that. Variables are the names of those that tell it the proxy.
func (s *Store) runBehind(ctx context.Context, name string, c sandbox.Command, variables []string, reach func(context.Context) (egress.Reach, error)) (out sandbox.Outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found egress.Reach
	var unknown error
	known := make(chan struct{})
	go func() {
		defer close(known)
		found, unknown = reach(ctx)
	}()
	defer func() { cancel(); <-known }()
	proxy, err := egress.Forward(ctx, func() (egress.Reach, error) { <-known; return found, unknown })
	if err != nil {
		return out, err
	}
	c.Environ = slices.DeleteFunc(slices.Clone(s.Environ), isProxyVariable)
	c.Set = maps.Clone(c.Set)
	for _, variable := range append(variables, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") {
		c.Set[variable] = proxy.URL()
	}
	if c.Policy.Restricts() {
		c.Policy.Ports = []uint16{proxy.Port()}
	}
	out, err = s.run(ctx, name, c)
	refused, unreached := proxy.Close()
	switch {
	case err != nil:
		return out, err
	case len(refused) > 0:
		return out, &refusedError{name, refused}
	case out.ExitCode != 0 && unreached != nil:
		return out, fmt.Errorf("the registry cannot be reached: %s; is the network there?", safeText(hide(c.Set, unreached.Error())))
	}
	return out, nil
}

// A refusedError names the servers that a package manager tried to reach and that the user did
// not configure.
type refusedError struct {
	manager string
	servers []string
}

func (e *refusedError) Error() string {
	hint := "if you trust it"
	if e.manager == "npm" {
		// npm does not say why it wants to go there. It can be where a registry keeps its packages, or
		// the address of a dependency, which is refused later.
		hint = "a dependency that is an address is always refused, but if a registry keeps its packages there"
	}
	return fmt.Sprintf("it needs something from %s, which is not a registry of your %s configuration and was not contacted; %s, add %q to packageHosts in config.toml",
		strings.Join(e.servers, " and "), e.manager, hint, e.servers[0])
}

func isProxyVariable(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "PROXY"}, strings.ToUpper(name))
}

// npmReach asks npm which registries and proxies the user has set up. It asks once: npm takes a
// quarter of a second.
func (s *Store) npmReach(ctx context.Context, dir string) (egress.Reach, error) {
	release, err := s.exclusively(ctx, "ask npm for its configuration")
	if err != nil {
		return egress.Reach{}, err
	}
	defer release()
	if s.reach != nil {
		return *s.reach, nil
	}
	c := s.npmCommand(dir, "config", "list", "--json")
	c.Set = setup(s.Environ)
	c.Environ = s.Environ
	out, err := s.run(ctx, "npm", c)
	var settings map[string]rawjson.Value
	if err == nil && (out.ExitCode != 0 || json.Unmarshal([]byte(out.Stdout.String()), &settings) != nil) {
		err = errors.New("npm config list failed: " + lastLines(hide(c.Set, out.Stderr.String())))
	}
	if err != nil {
		return egress.Reach{}, fmt.Errorf("the configuration of npm is not known: %w", err)
	}
	reach, err := s.npmReachOf(settings)
	if err != nil {
		return egress.Reach{}, err
	}
	s.reach = &reach
	return reach, nil
}

// npmReachOf reads what npm says. It leaves out settings that contain a password. These are
// read from where npm has them.
func (s *Store) npmReachOf(settings map[string]rawjson.Value) (reach egress.Reach, err error) {
	text := func(key string) (value string) {
		_ = json.Unmarshal(settings[key], &value) // null, false and lists are none
		return value
	}
	hidden := s.npmrc(text("globalconfig"))
	maps.Copy(hidden, s.npmrc(text("userconfig")))
	maps.Copy(hidden, npmVariables(s.Environ))
	for key, value := range hidden {
		if isRegistry(key) {
			reach.Servers = append(reach.Servers, serversIn(value)...)
		}
	}
	for key := range settings {
		if isRegistry(key) {
			reach.Servers = append(reach.Servers, serversIn(text(key))...)
		}
	}
	proxy := func(key string) string {
		if _, shown := settings[key]; shown {
			return text(key)
		}
		return hidden[key]
	}
	// As npm does: one setting is for both protocols, and comes before the variables.
	reach.HTTPSProxy = cmp.Or(proxy("https-proxy"), proxy("proxy"), lookup(s.Environ, "HTTPS_PROXY"))
	reach.HTTPProxy = cmp.Or(reach.HTTPSProxy, lookup(s.Environ, "HTTP_PROXY"), lookup(s.Environ, "PROXY"))
	reach.NoProxy = cmp.Or(text("noproxy"), lookup(s.Environ, "NO_PROXY"))
	return s.withHosts(reach)
}

func isRegistry(key string) bool { return key == "registry" || strings.HasSuffix(key, ":registry") }

// withHosts adds the hosts that the user allows for all package managers.
func (s *Store) withHosts(reach egress.Reach) (egress.Reach, error) {
	for _, host := range s.Hosts {
		server, err := egress.ParseServer(host)
		if err != nil {
			return reach, fmt.Errorf("packageHosts: %w", err)
		}
		reach.Servers = append(reach.Servers, server)
	}
	return reach, nil
}

// npmVariables are the variables that configure npm, by the names of its settings.
func npmVariables(environ []string) map[string]string {
	settings := make(map[string]string)
	for name, value := range setup(environ) {
		if key, ok := npmKey(name); ok {
			settings[key] = value
		}
	}
	return settings
}

// npmKey is the setting that a variable sets.
func npmKey(variable string) (key string, ok bool) {
	key, ok = strings.CutPrefix(strings.ToLower(variable), "npm_config_")
	return strings.ReplaceAll(key, "_", "-"), ok
}

// maxNpmrc bounds a file of npm's configuration.
const maxNpmrc = 1 << 20

var (
	npmrcLine     = pattern(`(?m)^[ \t]*([^;#\s\[][^=\r\n]*?)[ \t]*=[ \t]*(.*?)\s*$`)
	npmrcVariable = pattern(`\$\{([^${}?]+)\??\}`)
)

// npmrc reads a file of npm's configuration; nothing if it cannot be read.
func (s *Store) npmrc(path string) map[string]string {
	settings := make(map[string]string)
	data, err := userfile.Read(path, maxNpmrc)
	if err != nil {
		return settings
	}
	for _, m := range npmrcLine().FindAllStringSubmatch(string(data), -1) {
		settings[m[1]] = npmrcVariable().ReplaceAllStringFunc(strings.Trim(m[2], `"'`), func(v string) string {
			return sandbox.Variable(s.Environ, npmrcVariable().FindStringSubmatch(v)[1])
		})
	}
	return settings
}

// uvReach reads which indexes and proxies the user has set up for uv.
func (s *Store) uvReach(context.Context) (reach egress.Reach, err error) {
	for name, value := range uvSetup(s.Environ) {
		if slices.Contains([]string{"UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"}, name) {
			reach.Servers = append(reach.Servers, serversIn(value)...)
		}
	}
	all := lookup(s.Environ, "ALL_PROXY")
	reach.HTTPSProxy = cmp.Or(lookup(s.Environ, "HTTPS_PROXY"), all)
	reach.HTTPProxy = cmp.Or(lookup(s.Environ, "HTTP_PROXY"), all)
	reach.NoProxy = lookup(s.Environ, "NO_PROXY")
	return s.withHosts(reach)
}

// serversIn returns the servers of a list of addresses. One can have a name in front of it, as in
// name=https://host/path. What is not an address of http or https needs no server.
func serversIn(list string) (servers []string) {
	for _, address := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c <= ' ' }) {
		if name, rest, ok := strings.Cut(address, "="); ok && !strings.Contains(name, ":") {
			address = rest
		}
		u, err := url.Parse(address)
		if err != nil {
			continue
		}
		if server, err := egress.ServerOf(u); err == nil {
			servers = append(servers, server)
		}
	}
	return servers
}

// lookup returns a variable whose name can be in lower case too.
func lookup(environ []string, name string) string {
	return cmp.Or(sandbox.Variable(environ, strings.ToLower(name)), sandbox.Variable(environ, name))
}
