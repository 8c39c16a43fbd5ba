// Package api has what a registry and its clients say to each other: the paths, and the JSON of version 2,
// which is ours. Version 1 is that of the original clients.
//
// It holds values and nothing else. A client believes only what it can prove from [Entry] and the
// checkpoint; the rest is for display. Start reading at [Resolved].
package api

import (
	"time"

	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// The paths. Discovery is absent on servers that only know version 1.
const (
	DiscoveryPath = "/.well-known/perstack-registry.json"
	V1            = "/api/registry/v1"
	V2            = "/api/registry/v2"
	LogPath       = V1 + "/log"
)

// ContentType is that of a definition's canonical text.
const ContentType = "application/vnd.perstack.expert.v1+json"

// Headers.
const (
	DigestHeader      = "X-Expert-Digest" // what the client computed; another one refuses the publication
	IdempotencyHeader = "Idempotency-Key" // a repeated publication with it succeeds
	RequestIDHeader   = "X-Request-Id"
)

// Limits of the API.
const (
	MaxBody    = 1 << 20
	MaxClosure = 255 // Experts
	MaxDepth   = 16  // of delegation
	MaxTake    = 100
	MaxTags    = 8 // of a version
)

// A Discovery says what a registry is.
type Discovery struct {
	API     string   `json:"api"` // path of version 2
	Log     Log      `json:"log"`
	Issuers []string `json:"issuers,omitempty"` // whose tokens can publish
	Policy  string   `json:"policy,omitzero"`   // address of a page
	Contact string   `json:"contact,omitzero"`
}

// A Log is a transparency log.
type Log struct {
	Origin string   `json:"origin"`
	Path   string   `json:"path"`
	Keys   []string `json:"keys"` // verifier keys, the one in use first
	// Witnesses are the keys of those that the registry asks to cosign its checkpoints.
	Witnesses []string `json:"witnesses,omitempty"`
}

// LogKeys says how a log got the key that it has.
type LogKeys struct {
	Rotations []tlog.Rotation `json:"rotations"` // the oldest first
}

// An Entry is a leaf with the proof that it is in the log.
type Entry struct {
	Index int64       `json:"index"`
	Leaf  string      `json:"leaf"`
	Proof []tlog.Hash `json:"proof"`
	// Sealed is the text behind a sealed leaf, which is that of a private Expert.
	Sealed string `json:"sealed,omitzero"`
}

// A Lookup is the leaf about the publication of a version, proved against a checkpoint.
type Lookup struct {
	Checkpoint string `json:"checkpoint"`
	Entry
}

// A Resolve asks what keys mean.
type Resolve struct {
	Keys    []string `json:"keys"`
	Closure bool     `json:"closure"` // with all that they delegate to
	// From is the size of the log that the client knows; the answer proves that the log grew from it.
	From int64 `json:"from"`
	// Witnesses are those of the client, each with its name and the number of its key, and Cosignatures how many
	// of them it asks for. If it can be, the answer is proved against a checkpoint that has so many.
	Witnesses    []string `json:"witnesses,omitempty"`
	Cosignatures int      `json:"cosignatures,omitzero"`
}

// Resolved answers a [Resolve]. Everything is proved against one checkpoint.
type Resolved struct {
	Checkpoint string            `json:"checkpoint"` // a signed note
	Growth     []tlog.Hash       `json:"growth"`     // from the size that the client knows
	Keys       map[string]string `json:"keys"`       // what each key that was asked for means: an exact one
	Tags       map[string]Entry  `json:"tags"`       // for keys with a tag other than latest: when it was set
	Experts    []Expert          `json:"experts"`
}

// An Expert is one version of one.
type Expert struct {
	Version
	Content []byte `json:"content"` // canonical text of the definition
	Entry   Entry  `json:"entry"`   // of its publication
	// Signature is that of the publisher over the digest, as ssh-keygen writes it; empty if there is none.
	Signature string `json:"signature,omitzero"`
}

// The statuses of a version.
const (
	Available  = "available"
	Deprecated = "deprecated"
	Disabled   = "disabled"
	// Quarantined is set by an administrator: the content is withheld.
	Quarantined = "quarantined"
	// Unpublished says that the content is erased.
	Unpublished = "unpublished"
)

// A Version is what is known about a version without its content.
type Version struct {
	Name          string    `json:"name"`
	Version       string    `json:"version"`
	Digest        string    `json:"digest"`
	Status        string    `json:"status"`
	StatusMessage string    `json:"statusMessage,omitzero"`
	ReplacedBy    string    `json:"replacedBy,omitzero"`
	Tags          []string  `json:"tags"` // with latest
	Index         int64     `json:"index"`
	PublishedAt   time.Time `json:"publishedAt"`
	PublishedBy   string    `json:"publishedBy,omitzero"` // organization
	Signer        string    `json:"signer,omitzero"`      // fingerprint of the key that signed it
	Advisories    []string  `json:"advisories,omitempty"`
}

// Key is the name and the exact version.
func (v *Version) Key() string { return v.Name + "@" + v.Version }

// A Package is an Expert with all its versions.
type Package struct {
	Name        string            `json:"name"`
	Description string            `json:"description"` // of the latest version
	Owner       Organization      `json:"owner"`
	Visibility  string            `json:"visibility"`
	Latest      string            `json:"latest,omitzero"`
	Tags        map[string]string `json:"tags"`
	Versions    []Version         `json:"versions"` // the highest first
	Dependents  []string          `json:"dependents,omitempty"`
	MovedTo     string            `json:"movedTo,omitzero"`
}

// The values of Visibility.
const (
	Public  = "public"
	Private = "private"
)

// An Organization owns Experts.
type Organization struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type,omitzero"`
}

// A Summary is an Expert in a list.
type Summary struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Latest      string    `json:"latest"`
	Status      string    `json:"status"`
	Owner       string    `json:"owner"`
	Keywords    []string  `json:"keywords,omitempty"`
	UpdatedAt   time.Time `json:"updatedAt"`
	Reads       int64     `json:"reads"` // in the last 30 days
}

// A Page is a part of a list. After Next comes the next one; it is empty at the end.
type Page struct {
	Experts []Summary `json:"experts"`
	Next    string    `json:"next,omitzero"`
}

// Changes are leaves in their order. Next is the number of the leaf that comes next.
type Changes struct {
	Leaves []string `json:"leaves"`
	First  int64    `json:"first"`
	Next   int64    `json:"next"`
}

// A Publish asks to publish a version.
type Publish struct {
	Content    []byte   `json:"content"` // canonical text of the definition
	Signature  string   `json:"signature,omitzero"`
	Tags       []string `json:"tags,omitempty"`
	Visibility string   `json:"visibility,omitzero"` // of a new Expert; that of the organization if empty
}

// Published answers a [Publish].
type Published struct {
	Checkpoint string      `json:"checkpoint"`
	Growth     []tlog.Hash `json:"growth"`
	Expert     Expert      `json:"expert"`
}

// A SetStatus changes the status of a version.
type SetStatus struct {
	Status     string `json:"status"`
	Message    string `json:"message,omitzero"`
	ReplacedBy string `json:"replacedBy,omitzero"`
}

// A Whoami says whose key it is.
type Whoami struct {
	Organization Organization `json:"organization"`
	Key          KeyInfo      `json:"key"`
}

// A KeyInfo is an API key without its secret.
type KeyInfo struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitzero"`
	Scopes    []string  `json:"scopes"`
	Patterns  []string  `json:"patterns,omitempty"` // of names; empty is all of the organization
	Networks  []string  `json:"networks,omitempty"` // where it can be used from; empty is everywhere
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	UsedAt    time.Time `json:"usedAt,omitzero"`
}

// A CreateKey asks for an API key.
type CreateKey struct {
	Organization string   `json:"organization,omitzero"` // that of the asking key if empty
	Name         string   `json:"name,omitzero"`         // for people
	Scopes       []string `json:"scopes"`
	Patterns     []string `json:"patterns,omitempty"`
	Networks     []string `json:"networks,omitempty"`
	Days         int      `json:"days,omitzero"` // that it is valid; 7 if 0
}

// A CreatedKey answers a [CreateKey]. The token is shown once.
type CreatedKey struct {
	Token string  `json:"token"`
	Key   KeyInfo `json:"key"`
}

// A Binding lets the builds of a repository publish.
type Binding struct {
	ID           string    `json:"id,omitzero"`
	Organization string    `json:"organization,omitzero"` // that of the asking key if empty
	Issuer       string    `json:"issuer"`                // address of what signs the tokens of builds
	Repository   string    `json:"repository"`            // id
	Workflow     string    `json:"workflow,omitzero"`     // any if empty
	Environment  string    `json:"environment,omitzero"`  // any if empty
	Pattern      string    `json:"pattern"`               // of names
	CreatedAt    time.Time `json:"createdAt,omitzero"`
}

// A Transfer is an Expert that an organization has offered to another one.
type Transfer struct {
	Name string    `json:"name"`
	From string    `json:"from"` // organization
	To   string    `json:"to"`   // organization
	At   time.Time `json:"at"`
}

// A Report is a complaint about an Expert.
type Report struct {
	ID      string    `json:"id,omitzero"`
	Key     string    `json:"key"`
	Reason  string    `json:"reason"`
	Contact string    `json:"contact,omitzero"`
	At      time.Time `json:"at,omitzero"`
}

// An AuditEntry is something that somebody did.
type AuditEntry struct {
	At           time.Time `json:"at"`
	Organization string    `json:"organization"` // id
	Key          string    `json:"key,omitzero"` // id
	Address      string    `json:"address,omitzero"`
	Action       string    `json:"action"`
	Object       string    `json:"object"`
	Detail       string    `json:"detail,omitzero"`
	Outcome      string    `json:"outcome"`
	RequestID    string    `json:"requestId,omitzero"`
	Leaf         *int64    `json:"leaf,omitzero"` // that the log has about it
}

// DayReads is how often an Expert was read on a day.
type DayReads struct {
	Day   string `json:"day"` // such as 2026-01-31
	Reads int64  `json:"reads"`
}

// An Error is the body of every answer that is no success.
type Error struct {
	Code      int    `json:"code"`   // the status
	Message   string `json:"error"`  // a word for the status
	Reason    string `json:"reason"` // what is wrong
	Field     string `json:"field,omitzero"`
	Hint      string `json:"hint,omitzero"`
	RequestID string `json:"requestId,omitzero"`
}
