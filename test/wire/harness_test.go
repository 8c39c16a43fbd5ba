package wire_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// An oracle is an official SDK, which judges a wire.
type oracle interface {
	// Survives checks that the SDK's types take a request as it was recorded, and that its
	// client would send the same.
	Survives(t *testing.T, r llm.Recorded)

	// Read has the SDK's client say "Hello" to the scripted server at root, with the key
	// llm.Key, as a user, without tools and reasoning, for an answer of at most limit
	// tokens, and without a second try. It returns what the client makes of the answer,
	// normalised as ours is (see event.Usage and model.Finish). Marks are the strings that
	// the service wants back: each has to occur in what our client keeps.
	Read(t *testing.T, s *modeltest.Subject, root string, limit int) modeltest.Reading
}

// An excuser is an oracle that cannot judge everything. It says why not, or "".
type excuser interface {
	Excuse(direction, name string) string
}

// The directions.
const (
	request = "request" // what we send survives the SDK
	answer  = "answer"  // what the server sends means the same to the SDK
)

// defaultLimit is the limit under which both clients ask where a case has none.
const defaultLimit = 4096

// judge holds every conversation of modeltest, and more, against an SDK, for each of the
// subjects that it can judge. With -v it prints a table.
func judge(t *testing.T, sdk string, o oracle, subjects []string, more ...modeltest.Case) {
	t.Helper()
	found := 0
	var all modeltest.Table
	for _, s := range modeltest.Subjects() {
		if !slices.Contains(subjects, s.Name) {
			continue
		}
		found++
		for _, c := range slices.Concat(modeltest.Cases(), more) {
			if c.Talk == nil {
				continue // it is not about what is said
			}
			if why := c.SkipFor(s); why != "" {
				all.Skip(s.Name+" "+request, c.Name, why)
				all.Skip(s.Name+" "+answer, c.Name, why)
				continue
			}
			run(t, &all, o, s, c, request, func(t *testing.T) {
				for _, r := range c.Talk(s.Traits).Hold(t, s) {
					o.Survives(t, r)
				}
			})
			run(t, &all, o, s, c, answer, func(t *testing.T) { compare(t, o, s, c.Talk(s.Traits)) })
		}
	}
	if found != len(subjects) {
		t.Errorf("%d of the subjects %q exist", found, subjects)
	}
	t.Logf("perstack and its scripted server against %s\n%s", sdk, &all)
}

func run(t *testing.T, all *modeltest.Table, o oracle, s *modeltest.Subject, c modeltest.Case, direction string, check func(*testing.T)) {
	t.Helper()
	if e, ok := o.(excuser); ok {
		if why := e.Excuse(direction, c.Name); why != "" {
			all.Skip(s.Name+" "+direction, c.Name, why)
			return
		}
	}
	all.Run(t, s.Name+" "+direction, c.Name, check)
}

// compare reads the first answer of a conversation with both clients.
func compare(t *testing.T, o oracle, s *modeltest.Subject, k modeltest.Talk) {
	limit := cmp.Or(k.MaxTokens, defaultLimit)
	_, root := modeltest.Serve(t, k.Script)
	m := s.Open(t, modeltest.Place{Root: root})
	ours, _, _ := modeltest.Ask(t.Context(), t, m, &model.Request{MaxTokens: limit, Messages: modeltest.User(modeltest.Text("Hello"))(nil)})
	want := k.Want[0].On(s.Traits)
	if words := want.Failure.Message; words != "" && strings.Contains(ours.Failure.Message, words) {
		ours.Failure.Message = words
	}
	_, root = modeltest.Serve(t, k.Script)
	theirs := o.Read(t, s, root, limit)
	even := gocmp.Options{cmpopts.IgnoreFields(modeltest.Reading{}, "Marks"), cmpopts.EquateEmpty()}
	if diff := gocmp.Diff(ours, theirs, even); diff != "" {
		t.Errorf("(-ours +the SDK's):\n%s", diff)
	}
	if want.Failure != (modeltest.Failure{}) {
		want.Heard, want.Usage = ours.Heard, ours.Usage // which depend on the wire
	}
	// So that two clients that read nothing are not taken for equal.
	if diff := gocmp.Diff(want, ours, even); diff != "" {
		t.Errorf("(-want +ours):\n%s", diff)
	}
	kept := strings.Join(ours.Marks, "\n")
	for _, mark := range theirs.Marks {
		if !strings.Contains(kept, mark) {
			t.Errorf("the service wants %q back, but our client keeps %q", mark, ours.Marks)
		}
	}
	if len(theirs.Marks) == 0 && len(ours.Marks) > 0 {
		t.Errorf("our client keeps %q, of which the SDK knows nothing", ours.Marks)
	}
}

// A difference is what an SDK writes in another way than we do, and why that is right.
type difference struct {
	why  string
	even func(object map[string]any) // changes ours, object by object
}

// canonical decodes a body so that only what it means is compared. Numbers keep their
// digits. Known differences are evened out.
func canonical(t *testing.T, body []byte, known ...difference) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	for _, k := range known {
		walk(v, k.even)
	}
	return v
}

// same reports in which way what an SDK sends differs from what we sent.
func same(t *testing.T, ours, theirs []byte, known ...difference) {
	t.Helper()
	if diff := gocmp.Diff(canonical(t, ours, known...), canonical(t, theirs)); diff != "" {
		t.Errorf("(-ours +the SDK's):\n%s", diff)
	}
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	case map[string]any:
		visit(v)
		for _, e := range v {
			walk(e, visit)
		}
	}
}

// asFloats is a value as those have it who read numbers as float64.
func asFloats(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = asFloats(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = asFloats(v[name])
		}
	case json.Number:
		if f, err := v.Float64(); err == nil {
			if data, err := json.Marshal(f); err == nil {
				return json.Number(data)
			}
		}
	}
	return v
}

// parsed is a JSON text inside a text, as arguments are on some wires, in canonical form.
func parsed(text string) string { return modeltest.Canonical(rawjson.Value(text)) }

// A mailbox keeps what a client sends, and answers with an empty stream. It is a
// transport, and a client of its own for SDKs that want one.
type mailbox struct {
	url    string
	header http.Header
	body   []byte
}

func (m *mailbox) Do(r *http.Request) (*http.Response, error) { return m.RoundTrip(r) }

// RoundTrip is the transport's.
func (m *mailbox) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m.url, m.header, m.body = r.URL.RequestURI(), r.Header, body
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {cmp.Or(r.Header.Get("Accept"), "text/event-stream")}},
		Body:    http.NoBody,
		Request: r,
	}, nil
}
