package manifest

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// UserFileName is the name of the user's own configuration.
const UserFileName = "config.toml"

// UserConfig is what the configuration of the user says, which holds for all projects. Unlike
// a perstack.toml, it never comes from elsewhere.
type UserConfig struct {
	Consent []Consent
	// PackageHosts are hosts that npm and uv can reach besides their registries, as host or
	// host:port.
	PackageHosts []string
	// Sandbox is the isolation of programs, as written. Projects can only tighten it.
	Sandbox job.Isolation
	// Approvals are the rules of the user, with TrustHints and Timeout.
	Approvals job.Approvals
	AllowAll  *bool // false refuses to answer all questions with yes
	Snapshots job.Snapshots
	// Registries and Scopes say where Experts come from, and what they have to prove.
	Registries    []Registry
	Scopes        []Scope
	MinReleaseAge time.Duration // 0 for none

	Warnings  toml.Problems
	file      string
	positions map[string]toml.Position
}

// Problem is [Config.Problem] for the user's configuration.
func (u *UserConfig) Problem(path, message, hint string) toml.Problem {
	return problemAt(u.positions, toml.Problem{File: u.file, Path: path, Message: message, Hint: hint})
}

// A Consent says what projects in a directory get without a question.
type Consent struct {
	Project string // as written: absolute, or with a leading ~
	Allow   []RequestKind
}

// A RequestKind is a kind of what the files of a project ask for beyond the defaults. Package
// consent lists the requests.
type RequestKind string

// The kinds.
const (
	RequestEnvFiles  RequestKind = "envFiles"  // env files outside of the project
	RequestVariables RequestKind = "variables" // variables handed to skills
	RequestBaseURL   RequestKind = "baseUrl"   // where the requests to a model go
	RequestProvider  RequestKind = "provider"  // what is added to the requests to a model, and tools that run at the provider
	RequestLimits    RequestKind = "limits"    // limits above the defaults
	RequestImages    RequestKind = "images"    // images, and where they are fetched
	RequestProxy     RequestKind = "proxy"     // the proxy of a container
	RequestNetwork   RequestKind = "network"   // networks, name servers and private addresses
	RequestSandbox   RequestKind = "sandbox"   // sandboxes that are off, or open more than the workspace
	RequestApprovals RequestKind = "approvals" // rules that allow tool calls
	RequestSnapshots RequestKind = "snapshots" // files of the workspace that are not stored

	RequestRegistries RequestKind = "registries" // where Experts come from that are not in the file
	RequestPublished  RequestKind = "published"  // these Experts
)

// requestKinds lists the kinds, in the order in which requests are shown.
var requestKinds = []RequestKind{RequestEnvFiles, RequestVariables, RequestBaseURL, RequestProvider, RequestLimits, RequestImages, RequestProxy, RequestNetwork, RequestSandbox, RequestApprovals, RequestSnapshots, RequestRegistries, RequestPublished}

// RequestKinds returns the words of the key allow, in the order in which requests are shown.
func RequestKinds() (words []string) {
	for _, k := range requestKinds {
		words = append(words, string(k))
	}
	return words
}

// maxConsent and maxPackageHosts bound the entries of lists.
const (
	maxConsent      = 1000
	maxPackageHosts = 1000
)

// userKeys are the keys of the user's configuration.
var userKeys = sync.OnceValue(func() []key[UserConfig] {
	keys := []key[UserConfig]{
		custom("consent", "What projects can ask for without a question.", "list of tables", func() *jsonSchema {
			return &jsonSchema{Type: "array", MaxItems: maxConsent, Items: schemaOf("What the projects in one directory can ask for.", consentKeys())}
		}, (*reader).consent).without("nothing").more("see [consent](#consent)"),
		row("packageHosts", "Hosts that npm and uv can reach besides the registries of their configuration.", list(maxPackageHosts, "A host, or host:port; the port is 443 by default.", text(1, 255, hostAndPort)), func(u *UserConfig, all []string) { u.PackageHosts = all }).
			without("none").more("see [package hosts](#package-hosts)"),
		custom("sandbox", "Sandboxes of programs with the runtime local.", "table", func() *jsonSchema { return schemaOf("", userSandboxKeys()) }, (*reader).userSandbox).
			without("its defaults").more("see [sandbox](#sandbox)"),
		snapshotsKey(func(u *UserConfig) *job.Snapshots { return &u.Snapshots }),
		registriesKey(true, func(u *UserConfig) *[]Registry { return &u.Registries }),
		scopesKey(),
		minAgeKey(func(u *UserConfig) *time.Duration { return &u.MinReleaseAge }).without("no age").more("see [scopes](#scopes)"),
	}
	keys = append(keys, approvalKeys(job.Verdicts(), func(u *UserConfig) *job.Rules { return rulesOf(&u.Approvals, job.FromUser) })...)
	return append(keys,
		timeoutKey(func(u *UserConfig) *job.Approvals { return &u.Approvals }),
		allowAllKey(func(u *UserConfig) **bool { return &u.AllowAll }),
		row("trustHints", "Skills that are believed when they say that a tool only reads.", list(maxTrustedHints, "Name of a skill.", text(1, 255, toml.Printable)), func(u *UserConfig, all []string) { u.Approvals.TrustHints = all }).
			without("none").more("see [tools of skills](approvals.md#tools-of-skills)"),
	)
})

var consentKeys = sync.OnceValue(func() []key[Consent] {
	return []key[Consent]{
		row("project", "Directory of the project; projects below it are included.", text(1, 4096, toml.NoNUL, wholePath), func(c *Consent, s string) { c.Project = s }).
			required(`name a directory, like {path} = "~/work/site"`),
		row("allow", "Kinds of requests to allow.", list(0, "A kind of request.", word(RequestKinds()...)), func(c *Consent, words []string) {
			for _, w := range words {
				c.Allow = append(c.Allow, RequestKind(w))
			}
		}).required(`list kinds of requests, like {path} = ["variables"]`),
	}
})

// wholePath refuses a path that would depend on the working directory.
func wholePath(s string) (string, string) {
	if filepath.IsAbs(s) || s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, "~"+string(filepath.Separator)) {
		return "", ""
	}
	return "is not a whole path", "begin it with / or ~/"
}

// hostAndPort accepts a host, which can be an address, with an optional port.
func hostAndPort(s string) (string, string) {
	u, err := url.Parse("https://" + s)
	if err == nil && u.Host == s && netaddr.HostReach(u.Hostname()) != netaddr.NoHost {
		if n, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16); err == nil && n > 0 && !strings.HasSuffix(s, ":") {
			return "", ""
		}
	}
	return "is not a host", "write files.example.com or files.example.com:8443"
}

func (r *reader) consent(t *toml.Table, u *UserConfig) {
	t.EachItem("consent", maxConsent, func(entry *toml.Table) {
		var one Consent
		readKeys(r, entry, consentKeys(), &one)
		entry.Finish()
		u.Consent = append(u.Consent, one)
	})
}

func (r *reader) userSandbox(top *toml.Table, u *UserConfig) {
	if t := top.Sub("sandbox"); t != nil {
		readKeys(r, t, userSandboxKeys(), &u.Sandbox)
		t.Finish()
	}
}

// ParseUser reads the text of the user's configuration. The result is nil if a problem is an
// error.
func ParseUser(path string, data []byte) (*UserConfig, toml.Problems) {
	u := &UserConfig{file: path}
	problems := parseOwn(path, data, userKeys(), u, func(all map[string]toml.Position) { u.positions = all })
	if problems.Err() != nil {
		return nil, problems
	}
	u.Warnings = problems.Warnings()
	return u, problems
}

// UserSchema is [JSONSchema] for the user's configuration.
func UserSchema() []byte {
	root := schemaOf("The user's own settings of perstack, for all projects.", userKeys())
	return encodeSchema(root, UserFileName)
}
