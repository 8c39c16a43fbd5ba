package oci

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/signature"
)

// findSignature looks for a signature of an Expert: one of a required key, or else the first that is valid. It
// is empty if there is none. What is no valid signature is left out: everyone who can write to the repository
// can add it.
func (s *Source) findSignature(ctx context.Context, a action, f *fetched, required requirement) (string, error) {
	listed, err := s.signatures(ctx, a, f)
	if err != nil {
		return "", err
	}
	found := ""
	for _, d := range listed {
		armored, err := s.signature(ctx, a, f, d)
		if kind := client.KindOf(err); kind == client.Timeout || kind == client.Cancelled || kind == client.Network {
			return "", err
		}
		if err != nil {
			s.options.Log.DebugContext(ctx, "signature left out", "reference", f.ref.String(), "manifest", d.Digest, "error", err)
			continue
		}
		key, err := signature.Verify(armored, f.expert.Content)
		if err != nil {
			continue
		}
		if required.trusted(signature.Fingerprint(key)) {
			return armored, nil
		}
		if found == "" {
			found = armored
		}
	}
	return found, nil
}

// signatures lists the manifests of signatures, in an order that the server does not choose.
func (s *Source) signatures(ctx context.Context, a action, f *fetched) (all []descriptor, err error) {
	err = s.within(ctx, a, client.WrongAnswer, func(ctx context.Context) error {
		var err error
		all, err = s.repository(f.ref).referrers(ctx, f.ref.Digest, SignatureType, maxSignatures)
		return err
	})
	slices.SortFunc(all, func(a, b descriptor) int { return strings.Compare(a.Digest, b.Digest) })
	return slices.CompactFunc(all, func(a, b descriptor) bool { return a.Digest == b.Digest }), err
}

// signature fetches one signature.
func (s *Source) signature(ctx context.Context, a action, f *fetched, d descriptor) (armored string, err error) {
	err = s.within(ctx, a, client.Unverified, func(ctx context.Context) error {
		repository := s.repository(f.ref)
		text, err := repository.manifest(ctx, d.Digest)
		if err != nil {
			return err
		}
		layer, subject, err := readManifest(text, SignatureType, maxSignature)
		if err != nil {
			return err
		}
		if subject == nil || subject.Digest != f.ref.Digest {
			return errors.New("it is the signature of something else")
		}
		text, err = repository.blob(ctx, layer)
		armored = string(text)
		return err
	})
	return armored, err
}

// sign adds a signature to what was pushed.
func (s *Source) sign(ctx context.Context, a action, f *fetched, armored string) error {
	layer := describe(SignatureType, []byte(armored))
	subject := describe(manifestType, f.manifest)
	text, err := newManifest(SignatureType, layer, &subject, nil)
	if err != nil {
		return a.fail(client.Configuration, err)
	}
	return s.within(ctx, a, client.Refused, func(ctx context.Context) error {
		repository := s.repository(f.ref)
		if err := repository.putBlob(ctx, []byte(armored)); err != nil {
			return err
		}
		return repository.putReferrer(ctx, SignatureType, subject, text)
	})
}
