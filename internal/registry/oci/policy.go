package oci

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/signature"
)

// A requirement is what the user requires of one Expert, from all policies that apply to it.
type requirement struct {
	level         client.Level
	keys          [][]string // fingerprints: of each list, one must have signed
	allowUnsigned bool
}

// signed reports whether the Expert must have a signature.
func (r requirement) signed() bool { return r.level == client.Signed || len(r.keys) > 0 }

// trusted reports whether one signature meets everything that is said about keys.
func (r requirement) trusted(signer string) bool {
	for _, keys := range r.keys {
		if !slices.Contains(keys, signer) {
			return false
		}
	}
	return signer != ""
}

// requiredOf returns what is required of an Expert: by the scope of the name in its definition, and by the
// beginning of its reference.
func (s *Source) requiredOf(f *fetched) (r requirement) {
	scope, _, scoped := strings.Cut(f.expert.Definition.Name, "/")
	for name, require := range s.options.Policies {
		if !(scoped && name == scope) && !within(f.ref.Name(), name) {
			continue
		}
		if require.Level == client.Logged || r.level == "" { // there is no log: it is the strictest
			r.level = require.Level
		}
		if len(require.Keys) > 0 {
			keys, _ := fingerprints(require.Keys) // New has checked them
			r.keys = append(r.keys, keys)
		}
		r.allowUnsigned = r.allowUnsigned || require.AllowUnsigned
	}
	return r
}

// within reports whether a reference without tag and digest is a repository, or below it.
func within(name, of string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(of, "/"))
	return ok && (rest == "" || rest[0] == '/') && strings.HasPrefix(of, "oci://")
}

func fingerprints(lines []string) (all []string, err error) {
	for _, line := range lines {
		key, _, err := signature.ParseKey(line)
		if err != nil {
			return nil, err
		}
		all = append(all, signature.Fingerprint(key))
	}
	return all, nil
}

// signerOf checks the signature, and returns who made it; empty if there is none.
func signerOf(a action, f *fetched) (string, error) {
	if f.signature == "" {
		return "", nil
	}
	key, err := signature.Verify(f.signature, f.expert.Content)
	if err != nil {
		return "", a.lie("%s", shown(err.Error()))
	}
	return signature.Fingerprint(key), nil
}

// accept checks what the user requires.
func accept(a action, f *fetched, r requirement, floating bool) error {
	e := f.expert
	e.Unverified = floating && !(len(r.keys) > 0 && r.trusted(e.Signer))
	switch {
	case r.level == client.Logged:
		return a.failf(client.Policy, "container registries have no log, and %q is required", client.Logged)
	case e.Signer == "" && r.signed():
		return a.failf(client.Policy, "it has no signature, and one is required")
	case len(r.keys) > 0 && !r.trusted(e.Signer):
		return a.failf(client.Policy, "it is signed by %s, which is none of the keys that are required", e.Signer)
	case e.Signer == "" && floating && f.seen.Signed > 0 && !r.allowUnsigned:
		refused := a.failf(client.Policy, "it has no signature, although version %s of this repository has one", f.seen.Version)
		refused.Hint = "pin it with its digest if you trust it"
		return refused
	}
	return nil
}
