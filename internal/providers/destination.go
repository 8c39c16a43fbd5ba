package providers

import (
	"cmp"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
)

// A Destination is where a file of the project sends the requests to a model, and with them
// everything that the Expert sees.
type Destination struct {
	To   string // an address or, of Google Cloud, a project
	Key  string // key of [provider.setting], or the name of a variable
	File string // env file that sets the variable; "" for perstack.toml
	Own  bool   // it is the address of the provider itself
}

// Destinations lists what the files of a project decide about where requests go: not what the
// provider or the environment of the user decides. It opens nothing, so an address can be one
// that [Open] refuses.
func Destinations(c Config) (all []Destination) {
	o := newOpening(c)
	add := func(setting, key string, v variable, write func(value string) string) bool {
		d := Destination{To: write(cmp.Or(setting, v.value)), Key: key}
		if setting == "" {
			d.Key, d.File = v.name, v.file
		}
		if setting != "" || v.file != "" {
			d.Own = o.isOwn(d.To)
			all = append(all, d)
		}
		return setting != "" || v.set()
	}
	asIs := func(address string) string { return address }
	directed := add(o.Setting.BaseURL, "baseUrl", o.addressVariable(), asIs)
	switch {
	case c.Provider == "azure-openai" && !directed:
		add(o.Setting.ResourceName, "resourceName", o.variable(resourceVariable), resourceURL)
	case c.Provider == "google-vertex":
		add(o.Setting.Project, "project", o.variable(projectVariables...), func(id string) string { return "the Google Cloud project " + id })
	}
	return all
}

// isOwn reports whether an address is the provider's own. Ollama has it under two names.
func (o *opening) isOwn(address string) bool {
	own := o.provider.own
	return own != "" && (origin(address) == own || origin(address) == strings.Replace(own, "127.0.0.1", "localhost", 1))
}

// tell warns that a file decides where requests go.
func (o *opening) tell(destination, file string, withKey bool) {
	what := "what the Expert sees goes"
	if withKey {
		what = "what the Expert sees and your key go"
	}
	o.warn("%s to %s, as %s says", what, destination, cmp.Or(file, manifest.FileName))
}
