package packages

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/rawjson"
)

// A package can name any address for a dependency, including one inside the network of the
// user, and npm connects to it before we see the tree. The result must not be revealed: an
// answer, an error and a closed port must look the same.

var errElsewhere = errors.New("it needs something from an address that is not the registry's, which is refused")

// An npmFailure is npm ending with an error.
type npmFailure struct {
	error
	stderr string // as npm wrote it
}

var address = pattern(`(?i)^\s*https?:`)

// contacted finds the addresses that npm used in its messages about requests.
var contacted = pattern(`(?m)^npm (?:http (?:fetch|cache)|(?:error|ERR!) .*?(?:GET|request to))\b.*?(https?://[^\s"']+)`)

// discreet replaces an error of npm if npm connected to an address that is not a registry.
func (s *Store) discreet(ctx context.Context, dir string, err error) error {
	failure, ok := errors.AsType[*npmFailure](err)
	if !ok {
		return err
	}
	var met []string
	for _, m := range contacted().FindAllStringSubmatch(failure.stderr, -1) {
		met = append(met, origin(m[1]))
	}
	if len(met) == 0 {
		return err
	}
	registries := s.registries(ctx, dir)
	if slices.ContainsFunc(met, func(o string) bool { return o == "" || !slices.Contains(registries, o) }) {
		return errElsewhere
	}
	return err
}

// registries asks npm which ones the user has set up.
func (s *Store) registries(ctx context.Context, dir string) []string {
	out, err := s.npm(ctx, dir, "config", "list", "--json")
	if err != nil {
		return nil // then no address counts as a registry
	}
	var settings map[string]rawjson.Value
	if json.Unmarshal([]byte(out), &settings) != nil {
		return nil
	}
	var all []string
	for name, value := range setup(s.Environ) { // npm does not list one with a password
		if strings.EqualFold(name, "npm_config_registry") {
			all = append(all, origin(value))
		}
	}
	for name, value := range settings {
		var registry string
		if (name == "registry" || strings.HasSuffix(name, ":registry")) && json.Unmarshal(value, &registry) == nil {
			all = append(all, origin(registry))
		}
	}
	return all
}

// needsElsewhere reports whether a package names an address for a dependency.
func (t *tree) needsElsewhere() bool {
	for _, e := range t.Packages {
		for _, all := range []map[string]string{e.Dependencies, e.OptionalDependencies, e.PeerDependencies} {
			for _, version := range all {
				if address().MatchString(version) {
					return true
				}
			}
		}
	}
	return false
}

// origin is the scheme and host of an address.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}
