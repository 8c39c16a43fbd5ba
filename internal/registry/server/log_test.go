package server

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

func (s *site) checkpoint() tlog.Checkpoint {
	s.t.Helper()
	signed, err := s.Checkpoint(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	c, _, err := tlog.OpenCheckpoint(signed, origin, s.verifier)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// What is read of the log proves itself, from the empty log on.
func testLog(t *testing.T, s *site) {
	empty := s.checkpoint()
	if empty.Size != 0 {
		t.Errorf("%+v", empty)
	}
	acme := s.org("acme", Team)
	older := s.checkpoint()
	for i := range 10 {
		s.mustPublish(acme, content("@acme/lead", fmt.Sprintf("1.%d.0", i)))
	}
	for i := range 260 { // so that there is a whole tile
		s.org(fmt.Sprintf("org%d", i), Team)
	}
	newer := s.checkpoint()
	for _, old := range []tlog.Checkpoint{empty, older} {
		growth, err := s.ProveGrowth(t.Context(), old.Size, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckGrowth(growth, old, newer); err != nil {
			t.Error(err)
		}
	}
	found, err := s.Lookup(t.Context(), Actor{}, "@acme/lead@1.7.0")
	if err != nil {
		t.Fatal(err)
	}
	if _, leaf := s.proved(found.Checkpoint, found.Entry); leaf.Version != "1.7.0" || found.Index != 8 {
		t.Errorf("%+v", found)
	}
	proof, err := s.ProveLeaf(t.Context(), 8, newer.Size)
	if err != nil || cmp.Diff(found.Proof, proof) != "" {
		t.Errorf("%v %s", err, cmp.Diff(found.Proof, proof))
	}
	// Somebody else can compute the hash from the tiles, and follow the changes.
	var leaves []string
	for tile := range tlog.TilesOf(0, newer.Size) {
		data, err := s.Tile(t.Context(), tile)
		if err != nil {
			t.Fatal(err)
		}
		some, err := tlog.DecodeEntries(data, tile.Width)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range some {
			leaves = append(leaves, string(text))
		}
		tile.Level = 0
		if hashes, err := s.Tile(t.Context(), tile); err != nil || len(hashes) != 32*tile.Width {
			t.Errorf("%d bytes: %v", len(hashes), err)
		}
	}
	var followed []string
	for at := int64(0); at < newer.Size; {
		changes, err := s.Changes(t.Context(), at, 0)
		if err != nil || changes.First != at || changes.Next <= at {
			t.Fatalf("%+v %v", changes, err)
		}
		followed, at = append(followed, changes.Leaves...), changes.Next
	}
	if diff := cmp.Diff(leaves, followed); diff != "" || int64(len(leaves)) != newer.Size {
		t.Errorf("%d leaves: %s", len(leaves), diff)
	}
	if end, err := s.Changes(t.Context(), newer.Size, 5); err != nil || len(end.Leaves) != 0 || end.Next != newer.Size {
		t.Errorf("%+v %v", end, err)
	}
	for name, err := range map[string]error{
		"400 The log has 271 leaves and never had 272":         second(s.ProveGrowth(t.Context(), 1, 272)),
		"400 The log has 271 leaves and never had -1":          second(s.ProveGrowth(t.Context(), -1, 0)),
		"400 The log had 5 leaves, and none with the number 5": second(s.ProveLeaf(t.Context(), 5, 5)),
		"404 The log does not have this tile yet":              second(s.Tile(t.Context(), tlog.Tile{Level: 0, Index: 1, Width: 256})),
		"400 The log never had -1 leaves":                      second(s.Changes(t.Context(), -1, 0)),
		"404 Expert not found":                                 second(s.Lookup(t.Context(), Actor{}, "@acme/none")),
	} {
		if reason(err) != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	done, err := s.Publish(t.Context(), acme, api.Publish{Content: content("@acme/lead", "2.0.0")}, PublishOptions{From: newer.Size})
	if err != nil {
		t.Fatal(err)
	}
	now, _ := s.proved(done.Checkpoint, done.Expert.Entry)
	if err := tlog.CheckGrowth(done.Growth, newer, now); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }
