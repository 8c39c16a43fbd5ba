package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
)

// Everything that the log serves can be proved against its checkpoint, and our client follows all of it.
func testLog(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	for i := range 5 {
		s.publish(key, fmt.Sprintf("@acme/reader@1.0.%d", i))
	}
	verifier, err := note.NewVerifier(s.LogKey)
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := s.get(api.LogPath + "/checkpoint")
	now, _, err := tlog.OpenCheckpoint([]byte(checkpoint.text), realregistry.Origin, verifier)
	if err != nil {
		t.Fatal(err)
	}
	if again := s.send(request{http.MethodGet, api.LogPath + "/checkpoint", "", nil, map[string]string{"If-None-Match": checkpoint.header.Get("ETag")}}); again.status != http.StatusNotModified || again.text != "" {
		t.Errorf("the same checkpoint again: %d %s", again.status, again.text)
	}
	var found api.Lookup
	s.get(api.LogPath + "/lookup/%40acme%2Freader%401.0.3").read(&found)
	if err := tlog.CheckLeaf(found.Proof, now, found.Index, []byte(found.Leaf)); err != nil || !strings.Contains(found.Leaf, "version 1.0.3\n") {
		t.Error(err, found)
	}
	var leaf, growth struct {
		Proof []tlog.Hash `json:"proof"`
	}
	s.get(fmt.Sprintf("%s/proof?index=%d&size=%d", api.LogPath, found.Index, now.Size)).read(&leaf)
	if err := tlog.CheckLeaf(leaf.Proof, now, found.Index, []byte(found.Leaf)); err != nil {
		t.Error(err)
	}
	s.publish(key, "@acme/reader@1.0.5")
	later, _, err := tlog.OpenCheckpoint([]byte(s.get(api.LogPath+"/checkpoint").text), realregistry.Origin, verifier)
	if err != nil || later.Size != now.Size+1 {
		t.Fatal(later, err)
	}
	s.get(fmt.Sprintf("%s/consistency?from=%d&to=%d", api.LogPath, now.Size, later.Size)).read(&growth)
	if err := tlog.CheckGrowth(growth.Proof, now, later); err != nil {
		t.Error(err)
	}
	tile := s.get(fmt.Sprintf("%s/tile/entries/000.p/%d", api.LogPath, now.Size))
	leaves, err := tlog.DecodeEntries([]byte(tile.text), int(now.Size))
	if err != nil || string(leaves[found.Index]) != found.Leaf || !strings.Contains(tile.header.Get("Cache-Control"), "immutable") {
		t.Error(err, tile.header)
	}
	if hashes := s.get(fmt.Sprintf("%s/tile/0/000.p/%d", api.LogPath, now.Size)); len(hashes.text) != int(now.Size)*32 {
		t.Errorf("%d %q", hashes.status, hashes.text)
	}
	var changes api.Changes
	s.get(fmt.Sprintf("%s/changes?after=%d&take=2", api.V2, found.Index)).read(&changes)
	if len(changes.Leaves) != 2 || changes.Leaves[0] != found.Leaf || changes.Next != found.Index+2 {
		t.Error(changes)
	}
	report, err := newClient(t, s.Registry, nil).Audit(t.Context(), "@acme", nil)
	if err != nil || len(report.Problems) != 0 || report.Size != later.Size || len(report.Touching) < 6 {
		t.Error(report, err)
	}
	for path, want := range map[string]string{
		"/proof?index=0":           "422 Validation Failed: size is missing",
		"/proof?index=x&size=1":    "422 Validation Failed: index must be a number from 0 to 9223372036854775807",
		"/proof?index=99&size=1":   "400 Bad Request: The log had 1 leaves, and none with the number 99",
		"/proof?index=0&size=99":   fmt.Sprintf("400 Bad Request: The log has %d leaves and never had 99", later.Size),
		"/consistency?from=3&to=2": "400 Bad Request: The log has 2 leaves and never had 3",
		"/tile/entries/000":        "404 Not Found: The log does not have this tile yet",
		"/tile/entries/0":          "404 Not Found: This is not the path of a tile",
		"/tile/0/000.p/7/extra":    "404 Not Found: This is not the path of a tile",
		"/tile/../checkpoint":      "404 Not Found: This is not the path of a tile",
		"/lookup/missing":          "404 Not Found: Expert not found",
		"/lookup/a%20b":            `422 Validation Failed: invalid expert key format: "a b"; write name, @scope/name, name@1.0.0 or name@tag in lower case`,
	} {
		if got := s.get(api.LogPath + path).says(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", path, got, want)
		}
	}
}

// A client that only reads sees no private Experts, and the discovery document says what the registry is.
func testBrowse(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.publish(key, "@acme/reader@1.0.0")
	s.publish(key, "@acme/reader@1.1.0")
	s.publish(s.Key("ann", "personal"), "helper@2.0.0", "@acme/reader")
	reader := newClient(t, s.Registry, nil)
	page, err := reader.Search(t.Context(), client.Query{Take: 1})
	if err != nil || len(page.Experts) != 1 || page.Next == "" {
		t.Fatal(page, err)
	}
	rest, err := reader.Search(t.Context(), client.Query{After: page.Next})
	if err != nil || len(rest.Experts) != 1 || rest.Next != "" || rest.Experts[0].Name == page.Experts[0].Name {
		t.Error(rest, err)
	}
	if owned, err := reader.Search(t.Context(), client.Query{Owner: "ann", Text: "help"}); err != nil || len(owned.Experts) != 1 || owned.Experts[0].Latest != "2.0.0" {
		t.Error(owned, err)
	}
	found, err := reader.Package(t.Context(), "@acme/reader")
	if err != nil || found.Latest != "1.1.0" || len(found.Versions) != 2 || found.Dependents[0] != "helper" {
		t.Error(found, err)
	}
	if text, err := reader.Content(t.Context(), "@acme/reader@1.0.0", found.Versions[1].Digest); err != nil || len(text) == 0 {
		t.Error(err)
	}
	for path, want := range map[string][2]string{
		api.V2 + "/experts/%40acme%2Freader%401.0.0/content": {"public, max-age=31536000, immutable", api.ContentType},
		api.V1 + "/experts/%40acme%2Freader%401.0.0/content": {"public, max-age=31536000, immutable", api.ContentType},
		api.V2 + "/experts/%40acme%2Freader/content":         {"no-cache", api.ContentType},
		api.V2 + "/index/%40acme%2Freader":                   {"no-cache", "application/jsonl"},
		api.V2 + "/index/@acme/reader/":                      {"no-cache", "application/jsonl"},
		api.LogPath + "/checkpoint":                          {"no-cache", "text/plain; charset=utf-8"},
		api.DiscoveryPath:                                    {"no-store", "application/json"},
	} {
		got := s.get(path)
		if got.status != http.StatusOK || got.header.Get("Cache-Control") != want[0] || got.header.Get("Content-Type") != want[1] || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
		if head := s.send(request{method: http.MethodHead, path: path}); head.status != http.StatusOK || head.text != "" || head.header.Get("Content-Length") == "0" {
			t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
		}
	}
	index := s.get(api.V2 + "/index/%40acme%2Freader")
	if lines := strings.Split(strings.TrimSpace(index.text), "\n"); len(lines) != 2 || !strings.Contains(lines[0], `"version":"1.0.0"`) {
		t.Error(index.text)
	}
	cached := map[string]string{"If-None-Match": `"other", W/` + index.header.Get("ETag")}
	if again := s.send(request{http.MethodGet, api.V2 + "/index/%40acme%2Freader", "", nil, cached}); again.status != http.StatusNotModified {
		t.Errorf("the same index again: %d", again.status)
	}
	s.publish(key, "@acme/reader@1.2.0")
	if again := s.send(request{http.MethodGet, api.V2 + "/index/%40acme%2Freader", "", nil, cached}); again.status != http.StatusOK {
		t.Errorf("the index after a publication: %d", again.status)
	}
	for path, want := range map[string]string{
		"/experts?take=0":          "422 Validation Failed: take must be a number from 1 to 100",
		"/experts?sort=size":       "422 Validation Failed: sort must be one of name, updatedAt",
		"/experts/missing":         "404 Not Found: Expert not found",
		"/experts/missing/content": "404 Not Found: Expert not found",
		"/index/missing":           "404 Not Found: Expert not found",
		"/changes?after=-1":        "422 Validation Failed: after must be a number from 0 to 9223372036854775807",
	} {
		if got := s.get(api.V2 + path).says(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", path, got, want)
		}
	}
}
