package server

import (
	"crypto/rand"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// newKey makes a key for the log.
func (s *site) newKey() (note.Signer, string) {
	s.t.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		s.t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	return signer, public
}

// rotate replaces the key of the log, and returns the old registry.
func (s *site) rotate() (old *Registry) {
	s.t.Helper()
	signer, public := s.newKey()
	old = s.Registry
	if err := old.RotateLogKey(s.t.Context(), signer, public); err != nil {
		s.t.Fatal(err)
	}
	opts := old.opts
	opts.Signer, opts.PublicKey = signer, public
	var err error
	if s.Registry, err = New(opts); err == nil {
		s.verifier, err = note.NewVerifier(public)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return old
}

// A log gets another key, and proves it with the old one. With the old one, nothing can be signed any more.
func testLogKeys(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	first := s.opts.PublicKey
	before := s.checkpoint()
	old := s.rotate()
	second := s.opts.PublicKey
	if _, err := old.Publish(t.Context(), acme, api.Publish{Content: content("@acme/lead", "1.1.0")}, PublishOptions{}); err == nil || err.Error() != "The key of the log was replaced; the operator has to start the registry again" {
		t.Error(err)
	}
	s.mustPublish(acme, content("@acme/lead", "1.1.0"))
	s.rotate()
	s.mustPublish(acme, content("@acme/lead", "1.2.0"))
	if key, err := s.LogKey(t.Context()); err != nil || key != s.opts.PublicKey {
		t.Error(key, err)
	}
	all, err := s.Rotations(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	key, at, err := all[0].Follow(origin, first)
	if err != nil || key != second || at.Size != before.Size+1 {
		t.Error(key, at, err)
	}
	if key, _, err = all[1].Follow(origin, second); err != nil || key != s.opts.PublicKey {
		t.Error(key, err)
	}
	if _, _, err := all[1].Follow(origin, first); err == nil {
		t.Error("a rotation of another key was followed")
	}
	report, err := s.Verify(t.Context(), s.verifier)
	if err != nil || len(report.Problems) > 0 {
		t.Error(report.Problems, err)
	}
	wrong, err := note.NewVerifier(first)
	if err != nil {
		t.Fatal(err)
	}
	if report, err = s.Verify(t.Context(), wrong); err != nil || len(report.Problems) != 2 { // the two newest checkpoints
		t.Error(report.Problems, err)
	}
}
