package bedrock_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sigv4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/llm/converse"
	"github.com/perstack-go/perstack/model"
)

// A received is a request as it arrived.
type received struct {
	*http.Request
	body []byte
}

// send asks once and returns what the server got.
func send(t testing.TB, change func(*bedrock.Config)) (got received) {
	t.Helper()
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = received{r.Clone(t.Context()), body}
		streaming(plain...)(w, r)
	}, change)
	if _, _, err := ask(t.Context(), m, hello()); err != nil {
		t.Fatal(err)
	}
	return got
}

// The hand-written check of the scripted server accepts what was sent and nothing else:
// another body, path, header, region or key.
func TestSignature(t *testing.T) {
	s, err := llm.Parse("", []byte("[[turn]]\ntext = \"x\""))
	if err != nil {
		t.Fatal(err)
	}
	right := func(r received) bool {
		_, ok := converse.Wire().Key(r.Request, r.body, s)
		return ok
	}
	for _, id := range []string{sonnet, "arn:aws:bedrock:us-east-1:123:inference-profile/us.x v1", "a%3Ab~c*d", "é"} {
		for _, token := range []string{"", converse.SessionToken} {
			configure := func(c *bedrock.Config) { named(id)(c); c.SecretAccessKey, c.SessionToken = llm.Key, token }
			got := send(t, configure)
			if !right(got) {
				t.Fatalf("%q: what was sent is refused: %v", id, got.Header)
			}
			for name, change := range map[string]func(*received){
				"the body":       func(r *received) { r.body = bytes.Replace(r.body, []byte("Hello"), []byte("Hullo"), 1) },
				"an empty body":  func(r *received) { r.body = nil },
				"the path":       func(r *received) { r.URL.Path += "x"; r.URL.RawPath += "x" },
				"the encoding":   func(r *received) { r.URL.Path, r.URL.RawPath = r.URL.EscapedPath(), "" },
				"the host":       func(r *received) { r.Host = "evil.example" },
				"a header":       func(r *received) { r.Header.Set("Accept", "text/html") },
				"the time":       func(r *received) { r.Header.Set("X-Amz-Date", "20200101T000000Z") },
				"the region":     func(r *received) { swap(r, "eu-central-1", "us-east-1") },
				"the service":    func(r *received) { swap(r, "/bedrock/", "/s3/") },
				"the key's id":   func(r *received) { swap(r, keyID, "AKIDOTHER") },
				"the signature":  func(r *received) { swap(r, "Signature=", "Signature=0") },
				"unsigned host":  func(r *received) { swap(r, ";host", "") },
				"no signature":   func(r *received) { r.Header.Del("Authorization") },
				"a strange more": func(r *received) { r.Header.Set("X-Amz-Target", "x") },
				"another token":  func(r *received) { r.Header.Set("X-Amz-Security-Token", "x") },
			} {
				changed := received{got.Clone(t.Context()), bytes.Clone(got.body)}
				if change(&changed); right(changed) {
					t.Errorf("%q: another request passes: %s", id, name)
				}
			}
		}
	}
	for name, change := range map[string]func(*bedrock.Config){
		"a wrong key":    func(c *bedrock.Config) { c.SecretAccessKey = llm.Key + "x" },
		"an old clock":   func(c *bedrock.Config) { c.Now = func() time.Time { return time.Now().Add(-time.Hour) } },
		"a wrong bearer": func(c *bedrock.Config) { c.BearerToken = "token" },
	} {
		if right(send(t, change)) {
			t.Errorf("%s passes", name)
		}
	}
}

func swap(r *received, old, now string) {
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), old, now, 1))
}

// AWS's own signer, given what arrived, makes the same signature.
func TestSignatureIsAWSs(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, id := range []string{sonnet, "arn:aws:bedrock:us-east-1:123:inference-profile/us.x"} {
		got := send(t, func(c *bedrock.Config) {
			named(id)(c)
			c.SessionToken, c.Now = "session-token-1", func() time.Time { return at }
			c.Client.Header = http.Header{"x-team": {"a  b"}}
		})
		if date := got.Header.Get("X-Amz-Date"); date != "20260203T040506Z" {
			t.Errorf("the date is %q", date)
		}
		if token := got.Header.Get("X-Amz-Security-Token"); token != "session-token-1" {
			t.Errorf("the token is %q", token)
		}
		again := got.Clone(t.Context())
		again.URL.Host, again.URL.Scheme = got.Host, "http"
		for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "User-Agent", "Accept-Encoding", "Content-Length"} {
			again.Header.Del(name)
		}
		sum := sha256.Sum256(got.body)
		err := sigv4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret, SessionToken: "session-token-1"},
			again, hex.EncodeToString(sum[:]), "bedrock", "eu-central-1", at)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := got.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", id, got, want)
		}
	}
}

// The id of a model is one element of the path, written as the service wants it.
func TestPath(t *testing.T) {
	for id, want := range map[string]string{
		sonnet: "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
		"arn:aws:bedrock:us-east-1:1:inference-profile/us.x": "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x/converse-stream",
		"a b+c?d#e": "/model/a%20b%2Bc%3Fd%23e/converse-stream",
	} {
		if got := send(t, named(id)).RequestURI; got != want {
			t.Errorf("%q became %q", id, got)
		}
	}
}

// Each attempt is signed: a retry some minutes later is as valid as the first.
func TestEachAttemptIsSigned(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	var dates []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		dates = append(dates, r.Header.Get("X-Amz-Date"))
		streaming(plain...)(w, r)
	}, func(c *bedrock.Config) { c.Now = func() time.Time { at = at.Add(time.Hour); return at } })
	for range 2 {
		if _, _, err := ask(t.Context(), m, hello()); err != nil {
			t.Fatal(err)
		}
	}
	if len(dates) != 2 || dates[0] == dates[1] {
		t.Errorf("%q", dates)
	}
}

// A bearer token takes the place of the key; what the user sets by hand that of both.
func TestBearer(t *testing.T) {
	for want, change := range map[string]func(*bedrock.Config){
		"Bearer bedrock-api-key-1": func(c *bedrock.Config) {
			c.BearerToken, c.AccessKeyID, c.SecretAccessKey, c.Region = "bedrock-api-key-1", "", "", ""
		},
		"Mine": func(c *bedrock.Config) { c.Client.Header = http.Header{"authorization": {"Mine"}} },
		"Ours": func(c *bedrock.Config) {
			c.BearerToken, c.Client.Header = "bedrock-api-key-1", http.Header{"authorization": {"Ours"}}
		},
	} {
		r := send(t, change)
		if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != want || r.Header.Get("X-Amz-Date") != "" {
			t.Errorf("%q: %v", want, r.Header)
		}
	}
}

// Without a base URL the region says where the model is.
func TestEndpoints(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1": "bedrock-runtime.us-east-1.amazonaws.com", "us-gov-west-1": "bedrock-runtime.us-gov-west-1.amazonaws.com",
		"cn-north-1": "bedrock-runtime.cn-north-1.amazonaws.com.cn", "eusc-de-east-1": "bedrock-runtime.eusc-de-east-1.amazonaws.eu",
	} {
		var host, scheme string
		cfg := config("")
		cfg.Region = region
		cfg.Client.HTTP = &http.Client{Transport: wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
			host, scheme = r.URL.Host, r.URL.Scheme
			return nil, io.ErrUnexpectedEOF
		})}
		m, err := bedrock.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ask(t.Context(), m, &model.Request{}); err == nil || host != want || scheme != "https" {
			t.Errorf("%s: %s://%s, %v", region, scheme, host, err)
		}
	}
}
