package client

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// index finds an Expert of an answer.
func index(a *api.Resolved, key string) *api.Expert {
	for i := range a.Experts {
		if a.Experts[i].Key() == key {
			return &a.Experts[i]
		}
	}
	return nil
}

// one changes one Expert of an answer.
func one(change func(*api.Expert)) func(*registrytest.Registry) {
	return func(r *registrytest.Registry) {
		r.Lie = func(a *api.Resolved) { change(index(a, "@acme/lead@1.0.0")) }
	}
}

// skilled publishes a version of the Expert that is asked for with a hostile skill.
func skilled(s definition.Skill) func(*registrytest.Registry) {
	return func(r *registrytest.Registry) {
		d := registrytest.Minimal("@acme/lead@1.1.0")
		d.Skills["s"] = s
		r.Publish(d, "")
	}
}

// K6 and K20 to K26: each lie of a registry ends in an error that says what was seen, and nothing is stored
// but evidence.
func TestLies(t *testing.T) {
	for _, lie := range []struct {
		name string
		tell func(*registrytest.Registry) // after an honest answer
		ask  string                       // @acme/lead if empty
		kind Kind                         // Unverified if empty
		want string
	}{
		{name: "K24 old tree", want: "the log had 4 leaves before, and now has 3", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) {
				a.Checkpoint, a.Growth = r.Checkpoint(3), nil
				for i := range a.Experts {
					a.Experts[i].Entry = r.Entry(3, a.Experts[i].Index)
				}
			}
		}},
		{name: "K24 forked tree of the same size", want: "the log shows two different histories of 4 leaves", tell: func(r *registrytest.Registry) {
			fork := r.Rewritten(httptest.NewServer)
			for range 4 {
				fork.Publish(registrytest.Minimal("@acme/lead@1.0.0"), "")
			}
			r.Handle = func(w http.ResponseWriter, q *http.Request) bool { fork.ServeHTTP(w, q); return true }
		}},
		{name: "K24 forked tree that is larger", want: "the first 4 leaves of the log are not those that were there before", tell: func(r *registrytest.Registry) {
			fork := r.Rewritten(httptest.NewServer)
			for range 7 {
				fork.Publish(registrytest.Minimal("@acme/lead@1.0.0"), "")
			}
			r.Handle = func(w http.ResponseWriter, q *http.Request) bool { fork.ServeHTTP(w, q); return true }
		}},
		{name: "K24 no proof of growth", want: "the first 4 leaves of the log are not those", tell: func(r *registrytest.Registry) {
			r.Tag("helper", "x", "2.0.0")
			r.Lie = func(a *api.Resolved) { a.Growth = nil }
		}},
		{name: "K23 log key changed", want: "no key that is known has signed it", tell: func(r *registrytest.Registry) { r.NewLogKey() }},
		{name: "K23 checkpoint without a signature", want: "cannot be trusted", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Checkpoint, _, _ = strings.Cut(a.Checkpoint, "\n\n") }
		}},
		{name: "K23 no checkpoint", want: "cannot be trusted", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Checkpoint = "" }
		}},
		{name: "K22 missing proof", want: "the log does not have the leaf 2 as it was sent", tell: one(func(e *api.Expert) { e.Entry.Proof = nil })},
		{name: "K22 wrong leaf", want: "the log does not have the leaf 2 as it was sent", tell: one(func(e *api.Expert) {
			e.Entry.Leaf = strings.Replace(e.Entry.Leaf, "1.0.0", "1.0.1", 1)
		})},
		{name: "K22 leaf that does not exist", want: "and none with the number 99", tell: one(func(e *api.Expert) { e.Entry.Index, e.Index = 99, 99 })},
		{name: "K21 leaf of another Expert", want: `the leaf 1 publishes "helper@2.0.0"`, tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) {
				e := index(a, "@acme/lead@1.0.0")
				e.Entry, e.Index = r.Entry(r.Size(), 1), 1
			}
		}},
		{name: "K21 leaf of another kind", want: "the leaf 3 is of the kind tag, not publish", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) {
				e := index(a, "@acme/lead@1.0.0")
				e.Entry, e.Index = r.Entry(r.Size(), 3), 3
			}
		}},
		{name: "K20 wrong digest", want: `the content of "@acme/lead@1.0.0" has the digest sha256:`, tell: one(func(e *api.Expert) {
			e.Content = []byte(strings.Replace(string(e.Content), "You are", "You were", 1))
		})},
		{name: "K21 content that was never published", want: "the leaf 2 publishes", tell: one(func(e *api.Expert) {
			e.Content = []byte(strings.Replace(string(e.Content), "You are", "You were", 1))
			e.Digest = definition.Digest(e.Content)
		})},
		{name: "K21 right digest under another name", ask: "other", want: `the definition of "other@1.0.0" says that it is "helper@2.0.0"`, tell: func(r *registrytest.Registry) {
			r.PublishText("other", "1.0.0", registrytest.Minimal("helper@2.0.0").Encode(), nil, "")
		}},
		{name: "K21 right leaf, shown under another name", want: "the leaf 2 publishes", tell: one(func(e *api.Expert) { e.Name = "@acme/other" })},
		{name: "another version than the one asked for", ask: "helper@2.0.0", want: "answers with helper@3.0.0 instead of helper@2.0.0", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Keys["helper@2.0.0"] = "helper@3.0.0" }
		}},
		{name: "another name than the one asked for", ask: "helper", want: `says that helper means "@acme/lead@1.0.0"`, tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Keys["helper"] = "@acme/lead@1.0.0" }
		}},
		{name: "key without a meaning", ask: "helper", want: "does not say what helper means", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Keys = nil }
		}},
		{name: "tag without a proof", ask: "@acme/lead@stable", want: "has no proof that @acme/lead@stable means", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Tags = nil }
		}},
		{name: "tag of another Expert", ask: "@acme/lead@stable", want: `sets the tag "stable" of "helper"`, tell: func(r *registrytest.Registry) {
			r.Tag("helper", "stable", "1.0.0")
			r.Lie = func(a *api.Resolved) { a.Tags["@acme/lead@stable"] = r.Entry(r.Size(), 4) }
		}},
		{name: "unknown status", want: `has the unknown status "fine"`, tell: one(func(e *api.Expert) { e.Status = "fine" })},
		{name: "disabled as latest", want: "which is disabled", tell: one(func(e *api.Expert) { e.Status = api.Disabled })},
		{name: "quarantined", kind: NotFound, want: "is quarantined: malware", tell: one(func(e *api.Expert) {
			e.Status, e.StatusMessage, e.Content = api.Quarantined, "malware", nil
		})},
		{name: "delegate that appears later", want: "has helper@3.0.0, which was not asked for", tell: func(r *registrytest.Registry) {
			r.Publish(registrytest.Minimal("helper@3.0.0"), "")
			r.Lie = func(a *api.Resolved) {
				e := *r.PublishedExpert("helper@3.0.0")
				e.Entry = r.Entry(r.Size(), e.Index)
				a.Experts = append(a.Experts, e)
			}
		}},
		{name: "delegate that the log does not pin", want: "has 1 delegate, and its leaf names 0", tell: func(r *registrytest.Registry) {
			d := registrytest.Minimal("@acme/lead@1.1.0", "helper")
			r.PublishText(d.Name, d.Version, d.Encode(), nil, "")
		}},
		{name: "delegate other than pinned", want: "@acme/lead@1.0.0 was published with the delegate @acme/reader@1.0.0 as sha256:", tell: func(r *registrytest.Registry) {
			d := registrytest.Minimal("@acme/reader@1.0.0")
			d.Instruction = "You do something else."
			r.Publish(d, "")
		}},
		{name: "delegate left out", want: "delegates to @acme/reader@1.0.0, which the answer does not have", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) {
				kept := a.Experts[:0]
				for _, e := range a.Experts {
					if e.Name != "@acme/reader" {
						kept = append(kept, e)
					}
				}
				a.Experts = kept
			}
		}},
		{name: "same Expert twice", want: "twice", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Experts = append(a.Experts, a.Experts[0]) }
		}},
		{name: "too many Experts", want: "has 300 Experts", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Experts = make([]api.Expert, 300) }
		}},
		{name: "nothing", want: "which @acme/lead means", tell: func(r *registrytest.Registry) {
			r.Lie = func(a *api.Resolved) { a.Experts = nil }
		}},
		{name: "signature added", want: "was published without a signature", tell: one(func(e *api.Expert) { e.Signature = "x" })},
		{name: "signature taken away", want: "was published with a signature, and the registry does not show it", tell: func(r *registrytest.Registry) {
			d := registrytest.Minimal("@acme/lead@1.1.0")
			armored, _ := sign(t, d.Encode())
			r.Publish(d, armored)
			r.Lie = func(a *api.Resolved) { a.Experts[0].Signature = "" }
		}},
		{name: "signature of another text", want: "the signature is not valid", tell: func(r *registrytest.Registry) {
			armored, _ := sign(t, []byte("another text"))
			r.Publish(registrytest.Minimal("@acme/lead@1.1.0"), armored)
		}},
		{name: "K6 command bash", want: `skills.s.command: "bash" cannot be published`, tell: skilled(definition.Skill{Type: expert.StdioSkill, Command: "bash", PackageName: "x"})},
		{name: "K6 private endpoint", want: "must be a public HTTPS URL", tell: skilled(definition.Skill{Type: expert.SSESkill, Endpoint: "https://10.0.0.1/sse"})},
		{name: "K6 platform variable", want: "PERSTACK_API_KEY", tell: skilled(definition.Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "x@1.0.0", RequiredEnv: []string{"PERSTACK_API_KEY"}})},
		{name: "K6 loader variable", want: "LD_PRELOAD", tell: skilled(definition.Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "x@1.0.0", RequiredEnv: []string{"LD_PRELOAD"}})},
		{name: "K6 arguments", want: "args", tell: func(r *registrytest.Registry) {
			text := string(registrytest.Minimal("@acme/lead@1.1.0").Encode())
			text = strings.Replace(text, `"command":"npx"`, `"args":["-c","evil"],"command":"npx"`, 1)
			r.PublishText("@acme/lead", "1.1.0", []byte(text), nil, "")
		}},
		{name: "K26 text that is not canonical", want: "not in the canonical form", tell: func(r *registrytest.Registry) {
			r.PublishText("@acme/lead", "1.1.0", append(registrytest.Minimal("@acme/lead@1.1.0").Encode(), '\n'), nil, "")
		}},
		{name: "answer that is not JSON", kind: WrongAnswer, want: "cannot be read", tell: func(r *registrytest.Registry) {
			r.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"checkpoint": "`))
				return true
			}
		}},
		{name: "log taken away", kind: NotFound, want: "Not Found", tell: func(r *registrytest.Registry) {
			r.Original = true
			r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
				if strings.HasPrefix(q.URL.Path, api.V1+"/experts") {
					t.Error("the client asked the API without a log")
				}
				registrytest.Fail(w, api.Error{Code: 404, Message: "Not Found", Reason: "no"})
				return true
			}
		}},
	} {
		t.Run(lie.name, func(t *testing.T) {
			if lie.kind == "" {
				lie.kind = Unverified
			}
			if lie.ask == "" {
				lie.ask = "@acme/lead"
			}
			r := published(t)
			dir := filepath.Join(t.TempDir(), "registry")
			o := options(t, r)
			o.Trust = trust.Open(dir)
			if _, err := open(t, o).Resolve(t.Context(), "@acme/lead", "@acme/lead@stable"); err != nil {
				t.Fatal(err)
			}
			before := stored(t, dir)
			lie.tell(r)
			found, err := open(t, o).Resolve(t.Context(), lie.ask)
			if found != nil {
				t.Errorf("%+v", found)
			}
			wantError(t, err, lie.kind, lie.want)
			if diff := cmp.Diff(before, stored(t, dir)); diff != "" {
				t.Error(diff)
			}
			if strings.HasPrefix(lie.name, "K24") && !strings.Contains(err.Error(), "; evidence: "+dir) {
				t.Errorf("no evidence: %v", err)
			}
		})
	}
}

// K25: the evidence has both checkpoints.
func TestEvidence(t *testing.T) {
	r := published(t)
	dir := filepath.Join(t.TempDir(), "registry")
	o := options(t, r)
	o.Trust = trust.Open(dir)
	if _, err := open(t, o).Resolve(t.Context(), "helper"); err != nil {
		t.Fatal(err)
	}
	known, shows := r.Checkpoint(4), r.Checkpoint(2)
	r.Lie = func(a *api.Resolved) { a.Checkpoint = shows }
	for range 2 {
		_, err := open(t, o).Resolve(t.Context(), "helper")
		wantError(t, err, Unverified, "evidence")
	}
	files, err := filepath.Glob(filepath.Join(dir, "logs", "*", "evidence", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, note := range []string{known, shows} {
		if !strings.Contains(text, strings.ReplaceAll(strings.TrimSpace(note), "\n", `\n`)) {
			t.Errorf("the evidence does not have %s:\n%s", note, text)
		}
	}
}

// A tag can move, but not back to where the log does not have it.
func TestTagMoves(t *testing.T) {
	r := published(t)
	r.Publish(registrytest.Minimal("@acme/lead@1.1.0"), "")
	o := options(t, r)
	want := func(version string) {
		t.Helper()
		found, err := open(t, o).Resolve(t.Context(), "@acme/lead@stable")
		if err != nil || found.Keys["@acme/lead@stable"] != "@acme/lead@"+version {
			t.Fatalf("%v, %v", found, err)
		}
	}
	want("1.0.0")
	r.Tag("@acme/lead", "stable", "1.1.0")
	want("1.1.0")
	r.Lie = func(a *api.Resolved) {
		a.Keys["@acme/lead@stable"] = "@acme/lead@1.0.0"
		a.Tags["@acme/lead@stable"] = r.Entry(r.Size(), 3)
	}
	_, err := open(t, o).Resolve(t.Context(), "@acme/lead@stable")
	wantError(t, err, Unverified, "was set by the leaf 5, and the registry shows the older leaf 3, which sets it to 1.0.0")
	r.Lie = nil
	r.Tag("@acme/lead", "stable", "1.0.0") // the owner moves it back: that is a leaf of its own
	want("1.0.0")
}

// A replayed answer is an old tree, even if everything in it was true once.
func TestReplayedAnswer(t *testing.T) {
	r := published(t)
	o := options(t, r)
	var old api.Resolved
	r.Lie = func(a *api.Resolved) { old = *a }
	if _, err := open(t, o).Resolve(t.Context(), "@acme/lead"); err != nil {
		t.Fatal(err)
	}
	r.Lie = nil
	r.Publish(registrytest.Minimal("@acme/lead@1.1.0"), "")
	if _, err := open(t, o).Resolve(t.Context(), "@acme/lead"); err != nil {
		t.Fatal(err)
	}
	r.Lie = func(a *api.Resolved) { *a = old }
	_, err := open(t, o).Resolve(t.Context(), "@acme/lead")
	wantError(t, err, Unverified, "the log had 5 leaves before, and now has 4", "evidence")
}
