package providers

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
)

// A Bundle is what is needed to open a model inside a container: the variables and files
// that opening it here used, and the addresses that it will reach. It holds secrets, but
// only those that the model needs.
type Bundle struct {
	Variables map[string]Variable // those that are set; one that names a file has its path in Files
	Files     map[string][]byte   // by path, as [Config] resolves it
	URLs      []string            // origins that the model reaches, like https://api.example; sorted

	// Upstream is the proxy that the user's environment names; "" if it names none. It may
	// hold a password, and does not go into the container: from there, requests go through
	// perstack's egress proxy, which uses this one.
	Upstream string

	// Team is the model as it was opened here. In the container it is opened again.
	Team Team
}

// Pack opens a model as [OpenTeam] does, and returns what that used. Warnings are given here.
func Pack(c Config, experts []*expert.Expert) (*Bundle, error) {
	p := &Bundle{Variables: map[string]Variable{}, Files: map[string][]byte{}}
	team, err := OpenTeam(p.watch(c), experts)
	if err != nil {
		return nil, err
	}
	p.Team = team
	// In the container, paths start from another directory, and may have another syntax.
	for _, name := range []string{credentialsVariable, rootsVariable} {
		if v, ok := p.Variables[name]; ok {
			v.Value = newOpening(c).path(v.Value)
			p.Variables[name] = v
		}
	}
	slices.Sort(p.URLs)
	p.URLs = slices.Compact(p.URLs)
	return p, nil
}

// Add adds what another model needs.
func (p *Bundle) Add(other *Bundle) {
	if p.Variables == nil {
		p.Variables, p.Files, p.Team = map[string]Variable{}, map[string][]byte{}, Team{}
	}
	maps.Copy(p.Variables, other.Variables)
	maps.Copy(p.Files, other.Files)
	p.URLs = slices.Compact(slices.Sorted(slices.Values(append(p.URLs, other.URLs...))))
	p.Upstream = cmp.Or(p.Upstream, other.Upstream)
	maps.Copy(p.Team, other.Team)
}

// watch returns a Config that adds everything that is used to the bundle.
func (p *Bundle) watch(c Config) Config {
	read := newOpening(c)
	watched := c
	watched.Variables = func(name string) Variable {
		v := read.Variables(name)
		switch {
		case v.Value == "":
		case name == proxyVariable:
			p.Upstream = v.Value
		default:
			p.Variables[name] = v
		}
		return v
	}
	watched.ReadFile = func(path string, limit int64) ([]byte, error) {
		data, err := read.readFile(path, limit)
		if err == nil {
			p.Files[path] = data
		}
		return data, err
	}
	watched.reached = func(address string) { p.URLs = append(p.URLs, origin(address)) }
	return watched
}

// Unpack returns the Config with variables and files from the bundle only. Warnings were
// given by [Pack].
func (p *Bundle) Unpack(c Config) Config {
	c.Variables = func(name string) Variable { return p.Variables[name] }
	c.ReadFile = p.readFile
	c.Dir = "" // paths are those of the bundle
	c.Warn = nil
	c.bundled = true
	for path := range p.Files {
		// The host may find the home directory by another variable, and separate paths by
		// another character.
		if strings.HasSuffix(strings.ReplaceAll(path, `\`, "/"), "/gcloud/"+gcloudName) {
			c.gcloud = path
		}
	}
	return c
}

func (p *Bundle) readFile(path string, limit int64) ([]byte, error) {
	data, ok := p.Files[path]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return data, nil
}
