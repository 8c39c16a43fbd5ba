package oci

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/signature"
)

// errEnough ends a list of signatures.
var errEnough = errors.New("enough signatures")

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
			s.options.Log.DebugContext(ctx, "signature left out", "reference", f.ref.String(), "manifest", string(d.Digest), "error", err)
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
func (s *Source) signatures(ctx context.Context, a action, f *fetched) (all []ocispec.Descriptor, err error) {
	err = s.within(ctx, a, client.WrongAnswer, func(ctx context.Context) error {
		err := s.repository(f.ref).Referrers(ctx, describe(manifestType, f.manifest), SignatureType, func(page []ocispec.Descriptor) error {
			for _, d := range page {
				if d.MediaType == manifestType && definition.IsDigest(string(d.Digest)) && d.Size > 0 && d.Size <= maxManifest {
					all = append(all, d)
				}
				if len(all) == maxSignatures {
					return errEnough
				}
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	slices.SortFunc(all, func(a, b ocispec.Descriptor) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return slices.CompactFunc(all, func(a, b ocispec.Descriptor) bool { return a.Digest == b.Digest }), err
}

// signature fetches one signature.
func (s *Source) signature(ctx context.Context, a action, f *fetched, d ocispec.Descriptor) (armored string, err error) {
	err = s.within(ctx, a, client.Unverified, func(ctx context.Context) error {
		repository := s.repository(f.ref)
		body, err := repository.Manifests().Fetch(ctx, d)
		if err != nil {
			return err
		}
		defer body.Close()
		text, err := readAll(body, d.Size)
		if err != nil {
			return err
		}
		if definition.Digest(text) != string(d.Digest) {
			return errors.New("the manifest of a signature has another digest")
		}
		layer, subject, err := readManifest(text, SignatureType, maxSignature)
		if err != nil {
			return err
		}
		if subject == nil || string(subject.Digest) != f.ref.Digest {
			return errors.New("it is the signature of something else")
		}
		content, err := repository.Blobs().Fetch(ctx, layer)
		if err != nil {
			return err
		}
		defer content.Close()
		if text, err = readAll(content, layer.Size); err != nil {
			return err
		}
		if definition.Digest(text) != string(layer.Digest) {
			return errors.New("a signature has another digest")
		}
		armored = string(text)
		return nil
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
		if err := repository.Blobs().Push(ctx, layer, strings.NewReader(armored)); err != nil {
			return err
		}
		// Servers without an API for such references get a list under a tag: the library writes it.
		return repository.Manifests().Push(ctx, describe(manifestType, text), bytes.NewReader(text))
	})
}
