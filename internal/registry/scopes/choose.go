package scopes

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/wording"
)

// An UnknownError says that no registry has a name.
type UnknownError struct {
	Name  string
	Known []string // names of those that there are
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no registry %s; your configuration has %s; for another one, give its address", wording.Quote(e.Name), wording.And(e.Known))
}

// Choose decides about a registry that the user names: by its name in the user's own configuration, or
// by its address. "" is for the default one. What the project says is not a name: the user could take its
// registry for another one.
func (r *Rules) Choose(text string) (Decision, error) {
	usual, from, conflict := r.usual()
	d := Decision{From: User}
	switch {
	case text == "":
		if conflict != nil {
			return Decision{}, conflict
		}
		d.Registry, d.From, d.Asks = usual, from, from == Project
	case strings.Contains(text, "://"):
		// Plain http is for this machine only; a registry can be in a private network.
		if message, hint := netaddr.BaseURL(text, false, true); message != "" {
			return Decision{}, fmt.Errorf("the address of the registry %s; %s", message, hint)
		}
		d.Registry = Registry{URL: netaddr.NormalURL(text)}
		for _, one := range r.user.Registries {
			if one.URL == d.Registry.URL {
				d.Registry.Name = one.Name
			}
		}
		if d.Registry.Name == "" && d.Registry.URL == usual.URL && from != Project {
			d.Registry.Name = usual.Name
		}
	default:
		var ok bool
		if d.Registry, ok = r.ofName(text); !ok {
			return Decision{}, &UnknownError{text, r.Names()}
		}
	}
	d.Default = d.Registry.URL == usual.URL && from != Project
	d.Subject = d.Registry.URL
	if err := r.logKey(&d); err != nil {
		return Decision{}, err
	}
	if d.KeyFrom == Project { // the user names a registry, and has not allowed this key
		d.Registry.LogKey, d.KeyFrom = "", ""
	}
	return d, nil
}

// ofName is the registry of a name that the user can give.
func (r *Rules) ofName(name string) (Registry, bool) {
	if one, ok := r.named(name); ok || name != manifest.DefaultRegistry {
		return one, ok
	}
	return Registry{Name: manifest.DefaultRegistry, URL: netaddr.NormalURL(manifest.DefaultAPIBaseURL)}, true
}

// Names are the names that [Rules.Choose] knows, that of the default registry first.
func (r *Rules) Names() []string {
	names := []string{manifest.DefaultRegistry}
	for _, one := range r.user.Registries {
		if one.Name != manifest.DefaultRegistry {
			names = append(names, one.Name)
		}
	}
	return names
}
