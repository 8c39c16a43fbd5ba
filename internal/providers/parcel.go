package providers

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
)

// A Parcel is what it takes to open a model in another place: the variables and the files
// that opening it here has looked at, and where it will be reached. It holds secrets, and
// none that the model does not need.
type Parcel struct {
	Variables map[string]Variable // those that are set; one that names a file has its path in Files
	Files     map[string][]byte   // by path, as [Choice] resolves it
	URLs      []string            // origins that are spoken to, like https://api.example; sorted

	// Upstream is the proxy that the user's environment names; empty if it names none. It
	// may hold a password, and is not for the place where the model is opened again: who
	// reaches out from there goes through a proxy of ours, which goes through this one.
	Upstream string
}

// A Variable is the value of one, and the env file that it comes from; "" for the
// environment.
type Variable struct{ Value, File string }

// Pack opens a model as [OpenTeam] does, and returns what that took. What is worth a line
// to the user is said here.
func Pack(c Choice, experts []*expert.Expert) (*Parcel, error) {
	p := &Parcel{Variables: map[string]Variable{}, Files: map[string][]byte{}}
	if _, err := OpenTeam(p.watch(c), experts); err != nil {
		return nil, err
	}
	// Elsewhere paths start from another directory, and may be written by other rules.
	for _, name := range []string{credentialsVariable, rootsVariable} {
		if v, ok := p.Variables[name]; ok {
			v.Value = (&opening{Choice: c}).path(v.Value)
			p.Variables[name] = v
		}
	}
	slices.Sort(p.URLs)
	p.URLs = slices.Compact(p.URLs)
	return p, nil
}

// watch returns a choice that fills the parcel with what is looked at.
func (p *Parcel) watch(c Choice) Choice {
	read := &opening{Choice: c}
	watched := c
	watched.Env = func(name string) string {
		if c.Env == nil {
			return ""
		}
		v := Variable{Value: c.Env(name)}
		if c.EnvFile != nil {
			v.File = c.EnvFile(name)
		}
		switch {
		case v.Value == "":
		case name == proxyVariable:
			p.Upstream = v.Value
		default:
			p.Variables[name] = v
		}
		return v.Value
	}
	watched.ReadFile = func(path string, limit int64) ([]byte, error) {
		data, err := read.readFile(path, limit)
		if err == nil {
			p.Files[path] = data
		}
		return data, err
	}
	watched.spoken = func(address string) { p.URLs = append(p.URLs, origin(address)) }
	return watched
}

// Unpack returns the choice with variables and files from the parcel, and from nowhere
// else. Nothing is said again that was said when it was packed.
func (p *Parcel) Unpack(c Choice) Choice {
	c.Env = func(name string) string { return p.Variables[name].Value }
	c.EnvFile = func(name string) string { return p.Variables[name].File }
	c.ReadFile = p.readFile
	c.Dir = "" // paths are those of the parcel
	c.Warn = nil
	c.sealed = true
	for path := range p.Files {
		// Where it was packed, home may be found by another variable, and paths joined by
		// another sign.
		if strings.HasSuffix(strings.ReplaceAll(path, `\`, "/"), "/gcloud/"+gcloudName) {
			c.gcloud = path
		}
	}
	return c
}

func (p *Parcel) readFile(path string, limit int64) ([]byte, error) {
	data, ok := p.Files[path]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return data, nil
}
