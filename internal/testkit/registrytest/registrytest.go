// Package registrytest is a registry in memory for tests of its clients, with a real log, real signatures
// and real proofs. It can lie: a test changes an answer before it is sent, or replaces a handler.
//
// Start reading at [New], then [Registry.Publish] and [Registry.Lie].
package registrytest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// Origin is that of the log, and the name of its key.
const Origin = "registry.example/log"

// A Registry is one in memory.
type Registry struct {
	*httptest.Server
	LogKey string // verifier key

	t      testing.TB
	mu     sync.Mutex
	signer note.Signer
	leaves [][]byte
	hashes []tlog.Hash
	// experts has all versions by exact key; tags the leaves that set them, by name@tag.
	experts map[string]*api.Expert
	tags    map[string]int64
	paths   []string // of all requests

	// Cosigners cosign every checkpoint.
	Cosigners []*tlog.Cosigner
	// Lie changes an answer before it is sent.
	Lie func(*api.Resolved)
	// Handle answers instead of the registry, if it returns true.
	Handle func(http.ResponseWriter, *http.Request) bool
	// Original says that it has no log.
	Original bool
	// Key is what changes need; if it is empty, they need none.
	Key string
}

// New starts a registry. start is httptest.NewServer or httptest.NewTLSServer.
func New(t testing.TB, start func(http.Handler) *httptest.Server) *Registry {
	t.Helper()
	r := &Registry{t: t, experts: map[string]*api.Expert{}, tags: map[string]int64{}}
	r.NewLogKey()
	r.Server = start(r)
	t.Cleanup(r.Close)
	return r
}

// NewLogKey replaces the key of the log.
func (r *Registry) NewLogKey() {
	secret, public, err := note.GenerateKey(rand.Reader, Origin)
	if err == nil {
		r.signer, err = note.NewSigner(secret)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.LogKey = public
}

// Fork copies the history so far into another registry that has the same key. Both can be told different
// things from then on.
func (r *Registry) Fork(start func(http.Handler) *httptest.Server) *Registry {
	other := New(r.t, start)
	other.signer, other.LogKey = r.signer, r.LogKey
	other.leaves, other.hashes = slices.Clone(r.leaves), slices.Clone(r.hashes)
	for key, e := range r.experts {
		copied := *e
		other.experts[key] = &copied
	}
	for tag, index := range r.tags {
		other.tags[tag] = index
	}
	return other
}

// Rewritten is an empty registry with the same log key: it can tell another history.
func (r *Registry) Rewritten(start func(http.Handler) *httptest.Server) *Registry {
	other := New(r.t, start)
	other.signer, other.LogKey = r.signer, r.LogKey
	return other
}

// PublishedExpert returns a version without its proof.
func (r *Registry) PublishedExpert(key string) *api.Expert { return r.experts[key] }

// Minimal is the definition of an Expert that only delegates.
func Minimal(key string, delegates ...string) *definition.Definition {
	k, err := expert.ParseKey(key)
	if err != nil {
		panic(err)
	}
	return &definition.Definition{
		Schema: definition.Schema, Name: k.Name, Version: k.Version, MinRuntimeVersion: "v1.0",
		Description: "An Expert", Instruction: "You are " + key + ".", Delegates: delegates,
		Skills: map[string]definition.Skill{expert.BaseSkill: {Type: expert.StdioSkill, Command: "npx", PackageName: expert.BaseSkill}},
	}
}

// Publish publishes a definition without checks: the client has to make them.
func (r *Registry) Publish(d *definition.Definition, signature string) *api.Expert {
	return r.PublishText(d.Name, d.Version, d.Encode(), d.Delegates, signature)
}

// PublishText publishes a text, which can be anything, under a name and a version.
func (r *Registry) PublishText(name, version string, text []byte, delegates []string, signature string) *api.Expert {
	r.mu.Lock()
	defer r.mu.Unlock()
	leaf := tlog.Leaf{
		Kind: tlog.Published, Name: name, Version: version, Digest: definition.Digest(text), Actor: "org:acme cred:key:k1",
		Time: r.now(),
	}
	if signature != "" {
		sum := sha256.Sum256([]byte(signature))
		leaf.Signature = hex.EncodeToString(sum[:])
	}
	for _, key := range delegates {
		exact := r.exact(key)
		if e := r.experts[exact]; e != nil {
			leaf.Delegates = append(leaf.Delegates, tlog.Delegate{Key: key, Exact: exact, Digest: e.Digest})
		}
	}
	index := r.append(&leaf)
	e := &api.Expert{
		Version: api.Version{
			Name: name, Version: version, Digest: definition.Digest(text), Status: api.Available, Tags: []string{}, Index: index, PublishedAt: leaf.Time,
		},
		Content: text, Signature: signature,
	}
	r.experts[name+"@"+version] = e
	return e
}

// Tag sets a tag.
func (r *Registry) Tag(name, tag, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tags[name+"@"+tag] = r.append(&tlog.Leaf{Kind: tlog.Tagged, Name: name, Tag: tag, New: version, Actor: "org:acme", Time: r.now()})
}

// Append adds a leaf to the log.
func (r *Registry) Append(leaf *tlog.Leaf) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	leaf.Time = r.now()
	return r.append(leaf)
}

func (r *Registry) now() time.Time {
	return time.Date(2026, 1, 2, 3, 4, len(r.leaves), 0, time.UTC)
}

func (r *Registry) append(leaf *tlog.Leaf) int64 {
	text, err := leaf.Text()
	if err != nil {
		r.t.Fatal(err)
	}
	index := int64(len(r.leaves))
	_, added, err := tlog.Append(index, text, r.reader())
	if err != nil {
		r.t.Fatal(err)
	}
	r.leaves, r.hashes = append(r.leaves, text), append(r.hashes, added...)
	return index
}

func (r *Registry) reader() tlog.HashReader {
	return tlog.HashReaderFunc(func(numbers []int64) ([]tlog.Hash, error) {
		all := make([]tlog.Hash, len(numbers))
		for i, n := range numbers {
			all[i] = r.hashes[n]
		}
		return all, nil
	})
}

// Checkpoint signs the state of the log at a size.
func (r *Registry) Checkpoint(size int64) string {
	root, err := tlog.Root(size, r.reader())
	if err != nil {
		r.t.Fatal(err)
	}
	signers := []note.Signer{r.signer}
	for _, c := range r.Cosigners {
		signers = append(signers, c)
	}
	signed, err := tlog.Checkpoint{Origin: Origin, Size: size, Hash: root}.Sign(signers...)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(signed)
}

// Size is how many leaves the log has.
func (r *Registry) Size() int64 { return int64(len(r.leaves)) }

// Entry is a leaf with its proof.
func (r *Registry) Entry(size, index int64) api.Entry {
	proof, err := tlog.ProveLeaf(size, index, r.reader())
	if err != nil {
		r.t.Error(err)
	}
	return api.Entry{Index: index, Leaf: string(r.leaves[index]), Proof: proof}
}

// exact is what a key means: "" if nothing.
func (r *Registry) exact(key string) string {
	k, err := expert.ParseKey(key)
	if err != nil {
		return ""
	}
	switch {
	case k.Version != "":
	case k.Tag == "" || k.Tag == "latest":
		for _, e := range r.experts {
			if e.Name == k.Name && (k.Version == "" || definition.CompareVersions(e.Version.Version, k.Version) > 0) {
				k.Version = e.Version.Version
			}
		}
	default:
		index, ok := r.tags[key]
		if !ok {
			return ""
		}
		leaf, err := tlog.ParseLeaf(r.leaves[index])
		if err != nil {
			r.t.Error(err)
			return ""
		}
		k.Version = leaf.New
	}
	if exact := k.Name + "@" + k.Version; r.experts[exact] != nil {
		return exact
	}
	return ""
}

// Paths returns the methods and paths of all requests so far.
func (r *Registry) Paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.paths)
}

// TakeRequests returns how many requests there were since it was called last.
func (r *Registry) TakeRequests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.paths)
	r.paths = nil
	return n
}

// Change changes the registry between two requests. Tests whose clients are other processes need it.
func (r *Registry) Change(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

// ServeHTTP answers a request.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.paths = append(r.paths, q.Method+" "+q.URL.EscapedPath())
	handle := r.Handle
	r.mu.Unlock()
	if handle != nil && handle(w, q) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch path := q.URL.Path; {
	case path == api.DiscoveryPath && !r.Original:
		Answer(w, api.Discovery{API: api.V2, Log: api.Log{Origin: Origin, Path: api.LogPath, Keys: []string{r.LogKey}}})
	case path == api.V2+"/resolve" && q.Method == http.MethodPost:
		r.resolve(w, q)
	case path == api.V2+"/experts" && q.Method == http.MethodPost:
		if !r.refuseKey(w, q) {
			r.publish(w, q)
		}
	case path == api.LogPath+"/checkpoint":
		_, _ = w.Write([]byte(r.Checkpoint(r.Size())))
	case strings.HasPrefix(path, api.LogPath+"/tile/entries/"):
		r.tile(w, strings.TrimPrefix(path, api.LogPath+"/"))
	case r.manage(w, q):
	default:
		Fail(w, api.Error{Code: http.StatusNotFound, Message: "Not Found", Reason: "there is nothing at " + path})
	}
}

// Answer sends JSON.
func Answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, value)
}

// Fail sends an error.
func Fail(w http.ResponseWriter, e api.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Code)
	_ = json.MarshalWrite(w, e)
}

func (r *Registry) resolve(w http.ResponseWriter, q *http.Request) {
	var asked api.Resolve
	if err := json.UnmarshalRead(q.Body, &asked); err != nil {
		Fail(w, api.Error{Code: http.StatusUnprocessableEntity, Message: "Validation Failed", Reason: err.Error()})
		return
	}
	answer, err := r.resolved(asked)
	if err != nil {
		Fail(w, api.Error{Code: http.StatusNotFound, Message: "Not Found", Reason: err.Error()})
		return
	}
	if r.Lie != nil {
		r.Lie(answer)
	}
	Answer(w, answer)
}

// resolved makes a true answer.
func (r *Registry) resolved(asked api.Resolve) (*api.Resolved, error) {
	size := r.Size()
	answer := &api.Resolved{Checkpoint: r.Checkpoint(size), Keys: map[string]string{}, Tags: map[string]api.Entry{}}
	answer.Growth, _ = tlog.ProveGrowth(min(asked.From, size), size, r.reader())
	var rest []string
	for _, key := range asked.Keys {
		exact := r.exact(key)
		if exact == "" {
			return nil, fmt.Errorf("Expert not found: %s", key) //nolint:staticcheck // as the original says it
		}
		answer.Keys[key] = exact
		if index, ok := r.tags[key]; ok {
			answer.Tags[key] = r.Entry(size, index)
		}
		rest = append(rest, exact)
	}
	seen := map[string]bool{}
	for len(rest) > 0 {
		key := rest[0]
		rest = rest[1:]
		e := r.experts[key]
		if seen[key] || e == nil {
			continue
		}
		seen[key] = true
		copied := *e
		copied.Entry = r.Entry(size, e.Index)
		answer.Experts = append(answer.Experts, copied)
		leaf, err := tlog.ParseLeaf(r.leaves[e.Index])
		if err != nil {
			return nil, err
		}
		for _, d := range leaf.Delegates {
			rest = append(rest, d.Exact)
		}
	}
	return answer, nil
}

func (r *Registry) publish(w http.ResponseWriter, q *http.Request) {
	var asked api.Publish
	if err := json.UnmarshalRead(q.Body, &asked); err != nil {
		Fail(w, api.Error{Code: http.StatusUnprocessableEntity, Message: "Validation Failed", Reason: err.Error()})
		return
	}
	d, err := definition.Parse(asked.Content)
	switch {
	case err != nil:
		Fail(w, api.Error{Code: http.StatusUnprocessableEntity, Message: "Validation Failed", Reason: err.Error()})
	case r.experts[d.Key()] != nil:
		Fail(w, api.Error{Code: http.StatusBadRequest, Message: "Bad Request", Reason: "Version " + d.Version + " is already published", RequestID: "r1"})
	case q.URL.Query().Get("validateOnly") != "":
		Answer(w, map[string]any{"advisories": []string{"looks good"}})
	default:
		r.mu.Unlock()
		e := *r.Publish(d, asked.Signature)
		r.mu.Lock()
		r.experts[d.Key()].Tags = asked.Tags
		e.Entry = r.Entry(r.Size(), e.Index)
		Answer(w, api.Published{Checkpoint: r.Checkpoint(r.Size()), Expert: e})
	}
}

func (r *Registry) tile(w http.ResponseWriter, path string) {
	tile, err := tlog.ParseTile(path)
	if err != nil || !tile.In(r.Size()) {
		Fail(w, api.Error{Code: http.StatusNotFound, Message: "Not Found", Reason: "no such tile"})
		return
	}
	first := tile.Index * tlog.TileWidth
	data, err := tlog.EncodeEntries(r.leaves[first : first+int64(tile.Width)])
	if err != nil {
		r.t.Error(err)
	}
	_, _ = w.Write(data)
}
