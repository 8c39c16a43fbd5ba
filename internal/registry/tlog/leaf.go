// Package tlog is the transparency log of a registry: what its leaves and checkpoints say, how they are
// written, and how a client proves that a registry has not changed its past.
//
// A [Leaf] is one thing that happened to a registry, such as the publication of a version. A [Checkpoint]
// is the state of the whole log, which the registry signs. A client keeps the newest one that it saw: with
// [CheckLeaf] it proves that a leaf is in the log, and with [CheckGrowth] that the log only grew. The
// hashes are those of RFC 6962, the checkpoints and tiles those of C2SP.
package tlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Kind is what happened.
type Kind string

// The kinds of leaves.
const (
	Published     Kind = "publish"
	Tagged        Kind = "tag"
	StatusChanged Kind = "status"
	Removed       Kind = "tombstone"
	Transferred   Kind = "transfer"
	OrgChanged    Kind = "org"
	PolicyChanged Kind = "signing-policy"
	LogKey        Kind = "log-key"
	// Sealed is something that happened to a private Expert; see [Seal].
	Sealed Kind = "sealed"
)

// A Leaf is one thing that happened. The fields that count depend on the kind; see layouts.
type Leaf struct {
	Kind    Kind
	Name    string // of the Expert
	Version string
	Digest  string // of the definition; of what is sealed
	// Delegates are what each delegate of the definition means, in its order: the key, the exact key, and
	// the digest.
	Delegates []Delegate
	Tag       string
	Old, New  string // versions of a tag; statuses; organizations; keys
	Message   string // digest of what the owner said about a status
	Reason    string // why a version was removed
	Org       string
	Actor     string // organization and credential
	Signature string // SHA-256 of the publisher's signature
	Time      time.Time
}

// A Delegate is what a delegate meant when its Expert was published.
type Delegate struct {
	Key    string // as the definition has it
	Exact  string // name and version
	Digest string
}

// header begins every leaf.
const header = "perstack-registry/1 "

// layouts has the fields of each kind in their order.
var layouts = map[Kind][]string{
	Published:     {"name", "version", "digest", "delegate", "actor", "sig", "time"},
	Tagged:        {"name", "tag", "old", "new", "actor", "time"},
	StatusChanged: {"name", "version", "old", "new", "message", "actor", "time"},
	Removed:       {"name", "version", "reason", "actor", "time"},
	Transferred:   {"name", "old", "new", "actor", "time"},
	OrgChanged:    {"org", "old", "new", "actor", "time"},
	PolicyChanged: {"org", "old", "new", "actor", "time"},
	LogKey:        {"old", "new", "actor", "time"},
	Sealed:        {"digest", "time"},
}

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{Published, Tagged, StatusChanged, Removed, Transferred, OrgChanged, PolicyChanged, LogKey, Sealed}
}

// nothing stands for an empty field.
const nothing = "-"

// MaxLeaf is how long the text of a leaf can be.
const MaxLeaf = maxEntry

// field returns where a field is that is a text.
func (l *Leaf) field(name string) *string {
	return map[string]*string{
		"name": &l.Name, "version": &l.Version, "digest": &l.Digest, "tag": &l.Tag, "old": &l.Old, "new": &l.New,
		"message": &l.Message, "reason": &l.Reason, "org": &l.Org, "actor": &l.Actor, "sig": &l.Signature,
	}[name]
}

// Text writes the leaf, one field a line. It is an error if a field cannot be written so that [ParseLeaf]
// reads the same.
func (l *Leaf) Text() ([]byte, error) {
	layout, ok := layouts[l.Kind]
	if !ok {
		return nil, fmt.Errorf("a leaf cannot be of the kind %q", l.Kind)
	}
	lines := []string{header + string(l.Kind)}
	for _, name := range layout {
		switch name {
		case "delegate":
			for _, d := range l.Delegates {
				lines = append(lines, strings.Join([]string{name, d.Key, d.Exact, d.Digest}, " "))
			}
		case "time":
			lines = append(lines, name+" "+l.Time.UTC().Format(time.RFC3339Nano))
		default:
			value := *l.field(name)
			if value == "" {
				value = nothing
			}
			lines = append(lines, name+" "+value)
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	again, err := ParseLeaf([]byte(text))
	if err != nil {
		return nil, err
	}
	if !again.equal(l) {
		return nil, errors.New("a leaf has a field that does not belong to its kind, or cannot be written")
	}
	return []byte(text), nil
}

// equal reports whether two leaves say the same.
func (l *Leaf) equal(other *Leaf) bool {
	a, b := *l, *other
	if !slices.Equal(a.Delegates, b.Delegates) || !a.Time.Equal(b.Time) {
		return false
	}
	for _, name := range []string{"name", "version", "digest", "tag", "old", "new", "message", "reason", "org", "actor", "sig"} {
		if *a.field(name) != *b.field(name) {
			return false
		}
	}
	return a.Kind == b.Kind
}

// ParseLeaf reads the text of a leaf. There is one text for each leaf.
func ParseLeaf(text []byte) (*Leaf, error) {
	fail := func(format string, args ...any) (*Leaf, error) {
		return nil, fmt.Errorf("the leaf cannot be read: "+format, args...)
	}
	body, ended := strings.CutSuffix(string(text), "\n")
	switch {
	case len(text) > MaxLeaf:
		return fail("it has more than %d bytes", MaxLeaf)
	case !ended || !utf8.ValidString(body):
		return fail("it is not lines of text")
	case strings.ContainsFunc(body, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') }):
		return fail("it has a control character")
	}
	lines := strings.Split(body, "\n")
	kind, ok := strings.CutPrefix(lines[0], header)
	l := &Leaf{Kind: Kind(kind)}
	layout := layouts[l.Kind]
	if !ok || layout == nil {
		return fail("it begins with %q", lines[0])
	}
	lines = lines[1:]
	take := func(name string) (value string, ok bool) {
		if len(lines) == 0 {
			return "", false
		}
		if value, ok = strings.CutPrefix(lines[0], name+" "); ok && value != "" {
			lines = lines[1:]
			return value, true
		}
		return "", false
	}
	for _, name := range layout {
		if name == "delegate" {
			for value, ok := take(name); ok; value, ok = take(name) {
				words := strings.Split(value, " ")
				if len(words) != 3 || slices.Contains(words, "") {
					return fail("a delegate has no key and digest")
				}
				l.Delegates = append(l.Delegates, Delegate{words[0], words[1], words[2]})
			}
			continue
		}
		value, ok := take(name)
		if !ok {
			return fail("it has no %s where one belongs", name)
		}
		if name == "time" {
			t, err := time.Parse(time.RFC3339Nano, value)
			if err != nil || t.UTC().Format(time.RFC3339Nano) != value {
				return fail("its time is not one")
			}
			l.Time = t.UTC()
			continue
		}
		if value != nothing {
			*l.field(name) = value
		}
	}
	if len(lines) > 0 {
		return fail("it has more than its fields")
	}
	return l, nil
}
