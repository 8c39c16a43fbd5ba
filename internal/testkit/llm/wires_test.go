package llm

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// perform plays the first answer of a script on a wire, without a request that asks for it.
func perform(t *testing.T, wire script.Wire, text string) (w *httptest.ResponseRecorder, problem *script.Problem) {
	t.Helper()
	p := performance{wire: &wire, reply: script.Reply{ID: "0123456789abcdef01234567", Model: "m", Turn: 1}}
	if p.find(mustParse(t, text), script.Asked{Turn: 1, Attempt: 1}); p.problem != nil {
		return nil, p.problem
	}
	w = httptest.NewRecorder()
	defer func() {
		if r := recover(); r != nil && r != http.ErrAbortHandler {
			panic(r)
		}
	}()
	p.play(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	return w, nil
}

const everything = "reasoning = \"Hm, yes.\"\ntext = \"One two.\"\nusage = { input = 1, output = 9, cached = 2, cacheWrite = 3, reasoning = 4 }\n" +
	"[[turn.call]]\ntool = \"a\"\nargs = { path = \"x\" }\nreasoning = \"And this.\"\n[[turn.call]]\nid = \"c2\"\ntool = \"b\"\n"

// Every wire plays every fault.
func TestFaultsOnEveryWire(t *testing.T) {
	names := map[string]bool{}
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			if wire.Name == "" || names[wire.Name] {
				t.Errorf("the name %q is no name, or another's", wire.Name)
			}
			names[wire.Name] = true
			whole, p := perform(t, wire, "[[turn]]\n"+everything)
			if p != nil || whole.Code != http.StatusOK || whole.Header().Get("Content-Type") != wire.ContentType || whole.Body.Len() == 0 {
				t.Fatalf("%v %+v", p, whole)
			}
			for _, raw := range script.RawModes() {
				text := "[[turn]]\nraw = \"" + string(raw) + "\"\n"
				least := 1
				switch raw {
				case script.RawWrongType, script.RawGzip:
					text += everything
				case script.RawEndless, script.RawEndlessPing, script.RawHugeLine:
					text += "mib = 2\n"
					least = 2 << 20
				case script.RawDeep, script.RawGzipBomb:
					least = 200_000
				case script.RawEmptyBody:
					least = 0
				}
				if w, p := perform(t, wire, text); p != nil || w.Code != http.StatusOK || w.Body.Len() < least || w.Body.Len() > 2*least+(64<<10) {
					t.Errorf("%s: %v, %d bytes", raw, p, w.Body.Len())
				}
			}
			for _, text := range []string{
				"cutAfter = 0\n",
				"endAfter = 2\n",
				"errorAfter = 1\n",
				"errorAfter = -1\n",
				"cutAfter = 1\ncutInside = true\n",
				"cutAfter = -1\ncutInside = true\n",
			} {
				w, p := perform(t, wire, "[[turn]]\n"+text+everything)
				if p != nil || w.Code != http.StatusOK || bytes.Equal(w.Body.Bytes(), whole.Body.Bytes()) {
					t.Errorf("%q: %v", text, p)
				}
			}
			for _, kind := range []string{"invalidRequest", "authentication", "rateLimit", "internal", "overloaded"} {
				if w, p := perform(t, wire, "[[turn]]\n[turn.error]\nkind = \""+kind+"\"\nmessage = \"what is wrong\""); p != nil || w.Code < 400 || !bytes.Contains(w.Body.Bytes(), []byte("what is wrong")) {
					t.Errorf("%s: %v %d %s", kind, p, w.Code, w.Body)
				}
				if w, p := perform(t, wire, "[[turn]]\ntext = \"a b\"\nerrorAfter = 1\n[turn.error]\nkind = \""+kind+"\"\nmessage = \"what is wrong\""); p != nil || w.Code != 200 || !bytes.Contains(w.Body.Bytes(), []byte("what is wrong")) {
					t.Errorf("%s inside: %v %d %s", kind, p, w.Code, w.Body)
				}
			}
		})
	}
}

// A client of each provider is led to the server, and has what it needs to prove itself.
func TestEnv(t *testing.T) {
	s, url := Start(t, mustParse(t, "[[turn]]\ntext = \"a\""))
	if s.Root()+"/v1" != url {
		t.Errorf("%s is not the root of %s", s.Root(), url)
	}
	for _, provider := range []string{"anthropic", "google", "openai", "ollama", "azure-openai", "amazon-bedrock", "google-vertex", "deepseek", "openai-compatible"} {
		led, proven := false, provider == "ollama"
		for _, value := range Env(provider, s.Root(), t.TempDir()) {
			led = led || strings.HasPrefix(value, s.Root())
			proven = proven || value == Key
			if file, err := os.ReadFile(value); err == nil {
				proven = proven || strings.Contains(string(file), s.Root()+"/token")
			}
		}
		if !led || !proven {
			t.Errorf("%s: %v", provider, Env(provider, s.Root(), t.TempDir()))
		}
	}
	if env := Env("anthropic", s.Root(), t.TempDir()); env["ANTHROPIC_BASE_URL"] != url {
		t.Error(env)
	}
	if env := Env("nobody", s.Root(), t.TempDir()); env != nil {
		t.Error(env)
	}
}

// What is asked beside answers is answered, and not counted.
func TestBeside(t *testing.T) {
	s := New(mustParse(t, "[[turn]]\ntext = \"a\""))
	s.wires[0].Beside = func(w http.ResponseWriter, r *http.Request, body []byte, _ *Script) bool {
		if r.URL.Path != "/token" {
			return false
		}
		_, err := w.Write(append([]byte("for "), body...))
		return err == nil
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/token", bytes.NewReader([]byte("me"))))
	if w.Body.String() != "for me" || s.Count() != 0 {
		t.Errorf("%s, %d requests", w.Body, s.Count())
	}
}

// Every service is at its own address alone. At another one it says so in its own words.
func TestAddresses(t *testing.T) {
	s := New(mustParse(t, "[[turn]]\ntext = \"a\""))
	ask := func(path, header string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}"))
		r.Header.Set(header, "x")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	const gemini, project = "/models/gemini-2.5-pro:streamGenerateContent", "/v1beta1/projects/p/locations/l/publishers/google"
	for _, tt := range []struct {
		wire, right string
		header      string // that has the key
		wrong       []string
		words       string // of the service, about what is wrong
	}{
		{"anthropic", "/v1/messages", "X-Api-Key", []string{"/messages", "/v1/v1/messages", "/v2/messages", "/v1/messages/messages"}, `{"type":"error","error":{"type":"not_found_error","message":"Not found"}`},
		{"openai", "/v1/responses", "Authorization", []string{"/responses", "/v1/v1/responses", "/openai/responses"}, `"message":"Invalid URL (POST `},
		{"google", "/v1beta" + gemini, "X-Goog-Api-Key", []string{gemini, "/v1" + gemini, "/v1beta/v1beta" + gemini, "/v1beta/models" + gemini}, `"status":"NOT_FOUND"`},
		{"google-vertex", project + gemini, "Authorization", []string{"/v1beta1" + gemini, "/v1beta1/projects/p" + gemini, "/v1beta1/projects/p/locations/l" + gemini}, `"status":"NOT_FOUND"`},
		{"azure-openai", "/openai/v1/chat/completions", "Api-Key", []string{"/v1/chat/completions", "/chat/completions", "/x/openai/v1/chat/completions"}, `{"error":{"message":"Resource not found"`},
		{"deepseek", "/deepseek/chat/completions", "Authorization", []string{"/chat/completions", "/v1/chat/completions", "/deepseek/v1/chat/completions"}, `{"error":{"message":"Not Found"`},
		{"ollama", "/api/chat", "X-None", []string{"/chat", "/api/api/chat", "/v1/api/chat"}, "404 page not found"},
		{"amazon-bedrock", "/model/m/converse-stream", "Authorization", []string{"/v1/model/m/converse-stream", "/m/converse-stream"}, `{"message":"The requested operation is not recognized by the service."`},
	} {
		if w := ask(tt.right, tt.header); w.Code == http.StatusNotFound && tt.wire != "azure-openai" { // which misses a version
			t.Errorf("%s: %d %s", tt.right, w.Code, w.Body)
		}
		all := s.Requests()
		if last := all[len(all)-1]; last.Wire != tt.wire {
			t.Errorf("%s is of %q, want %q", tt.right, last.Wire, tt.wire)
		}
		for _, path := range tt.wrong {
			if w := ask(path, tt.header); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), tt.words) {
				t.Errorf("%s: %d %s; want %s", path, w.Code, w.Body, tt.words)
			}
			if all := s.Requests(); all[len(all)-1].Wire != "" || all[len(all)-1].Problem == "" {
				t.Errorf("%s: %+v", path, all[len(all)-1])
			}
		}
	}
}
