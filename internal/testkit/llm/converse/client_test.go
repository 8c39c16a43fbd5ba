package converse_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	sigv4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/llm/converse"
)

const claude = "anthropic.claude-sonnet-4-5-20250929-v1:0"

// hello is the shortest request.
const hello = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`

// path is where a model is, written as clients write it.
func path(model string) string {
	return "/model/" + strings.NewReplacer(":", "%3A", "/", "%2F").Replace(model) + "/converse-stream"
}

// ask sends a request that AWS's own signer has signed. edit may be nil.
func ask(ctx context.Context, root, model, body string, edit func(*http.Request)) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, root+path(model), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	sum := sha256.Sum256([]byte(body))
	key := aws.Credentials{AccessKeyID: converse.AccessKeyID, SecretAccessKey: llm.Key}
	if err := sigv4.NewSigner().SignHTTP(ctx, key, r, hex.EncodeToString(sum[:]), "bedrock", "us-east-1", time.Now()); err != nil {
		return nil, err
	}
	if edit != nil {
		edit(r)
	}
	return http.DefaultClient.Do(r)
}

// An answer is what a client gets to see.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // with which reading ended
}

func post(t testing.TB, root, model, body string, edit func(*http.Request)) answer {
	t.Helper()
	resp, err := ask(t.Context(), root, model, body, edit)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(data), err}
}

func start(t testing.TB, text string) (*llm.Server, string) {
	t.Helper()
	s, err := llm.Parse("demo.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := llm.Start(t, s)
	return server, server.Root()
}

// play answers hello with the first turn of a script.
func play(t testing.TB, script string) answer {
	t.Helper()
	_, root := start(t, script)
	return post(t, root, claude, hello, nil)
}

// frames reads a stream as text: a line for each frame, with its headers and payload.
// AWS's own library checks the checksums.
func frames(t testing.TB, body string) (lines []string) {
	t.Helper()
	for r := bytes.NewReader([]byte(body)); r.Len() > 0; {
		m, err := eventstream.NewDecoder().Decode(r, nil)
		if err != nil {
			t.Fatalf("%v after %d frames", err, len(lines))
		}
		var kind []string
		for _, h := range m.Headers {
			kind = append(kind, h.Name+"="+h.Value.String())
		}
		lines = append(lines, strings.Join(kind, " ")+" "+string(m.Payload))
	}
	return lines
}
