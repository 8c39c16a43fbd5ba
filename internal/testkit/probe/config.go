package probe

import (
	"slices"
	"strings"
)

// A Config says what to attack.
type Config struct {
	Tag       string `json:"tag"`       // part of every name, by which the outside tells tests apart
	Phase     string `json:"phase"`     // part of names that must be looked up again: fresh, resumed, forked
	Group     string `json:"group"`     // of the rows to run: one of Group…
	Sandboxes bool   `json:"sandboxes"` // each program is in a sandbox of its own; else only the container isolates them
	Squid     bool   `json:"squid"`     // the proxy is Squid

	Web  string `json:"web"`  // addresses of servers outside
	LLM  string `json:"llm"`  //
	Trap string `json:"trap"` // no connection may ever arrive here
	DNS  string `json:"dns"`

	Provider string   `json:"provider"` // host of the model's service
	Other    string   `json:"other"`    // a host that only another skill may reach
	Machine  []string `json:"machine"`  // addresses of the host
	Port     int      `json:"port"`     // where somebody listens at all of them, TCP and UDP

	// Marker is a part of every secret of the test, with all bits flipped: a search that finds
	// it finds a secret, and not this file.
	Marker []byte `json:"marker"`
	Limits Limits `json:"limits"`
	Out    string `json:"out"` // file for the results
}

// Limits are what the container was given.
type Limits struct {
	Memory int64 `json:"memory"`
	PIDs   int   `json:"pids"`
	Tmp    int64 `json:"tmp"`
	Cache  int64 `json:"cache"`
}

// Groups of rows.
const (
	GroupContainer = "container" // a command tries everything
	GroupSkill     = "skill"     // a skill tries what is not its own
	GroupEach      = "each"      // a skill tries every way out
	GroupProxy     = "proxy"     // what goes through a proxy, without isolation
	GroupDried     = "dried"     // an Expert without any domain
)

// Flip hides a marker, and shows it again.
func Flip(b []byte) []byte {
	out := slices.Clone(b)
	for i := range out {
		out[i] ^= 0xff
	}
	return out
}

// The names in allowedDomains of the Expert whose command the probe is.

// Open is the host that it may reach.
func (c Config) Open() string { return "a-" + c.Tag + ".open.test" }

// Wild is the name below which it may reach every host.
func (c Config) Wild() string { return "wild-" + c.Tag + ".open.test" }

// Allowed is the whole list. The names below the second line lead to forbidden addresses.
func (c Config) Allowed() []string {
	list := []string{c.Open(), "*." + c.Wild()}
	for _, zone := range liars {
		list = append(list, "*."+zone)
	}
	return list
}

// liars are the zones about which the name server lies; see package outside.
var liars = strings.Fields("rebind.test private.test metadata.test mixed.test many.test alias.test six-loop.test six-local.test mapped.test shared.test nowhere.test")

// name is one below a zone that only this phase of this test asks for.
func (c Config) name(zone string) string { return c.Phase + "-" + c.Tag + "." + zone }
