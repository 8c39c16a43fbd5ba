package bedrock_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

func TestRefusals(t *testing.T) {
	const keys = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what the account may do"
	says := func(words string) string { return `{"message":"` + words + `"}` }
	for _, test := range []struct {
		handler http.HandlerFunc
		want    model.Error
	}{
		{refusing(400, nil, says("Input is too long for requested model.")), model.Error{StatusCode: 400, Message: "amazon-bedrock answered 400 Bad Request: Input is too long for requested model."}},
		{refusing(403, nil, says("bad "+secret)), model.Error{StatusCode: 403, Message: "amazon-bedrock answered 403 Forbidden: bad [redacted]; " + keys}},
		{refusing(403, nil, says(`The signature does not match. Check it. \n\nThe Canonical String for this request should have been\n'POST\n/model'`)), model.Error{StatusCode: 403, Message: "amazon-bedrock answered 403 Forbidden: The signature does not match; " + keys}},
		{refusing(403, nil, says("The canonical string should have been 'POST'")), model.Error{StatusCode: 403, Message: "amazon-bedrock answered 403 Forbidden: the signature is not the right one; " + keys}},
		{refusing(403, nil, `{"Message":"Authentication failed"}`), model.Error{StatusCode: 403, Message: "amazon-bedrock answered 403 Forbidden: Authentication failed; " + keys}},
		{refusing(404, nil, says("no such model")), model.Error{StatusCode: 404, Message: "amazon-bedrock answered 404 Not Found: no such model; check the model's name and the base URL"}},
		{refusing(408, nil, says("slow")), model.Error{StatusCode: 408, Retryable: true, Message: "amazon-bedrock answered 408 Request Timeout: slow"}},
		{refusing(424, nil, says("bad")), model.Error{StatusCode: 424, Message: "amazon-bedrock answered 424 Failed Dependency: bad"}},
		{refusing(424, nil, `{"message":"bad","originalStatusCode":503,"resourceName":"x"}`), model.Error{StatusCode: 424, Retryable: true, Message: "amazon-bedrock answered 424 Failed Dependency: bad"}},
		{refusing(429, http.Header{"Retry-After": {"3"}}, says("Too many requests")), model.Error{StatusCode: 429, Retryable: true, RetryAfter: 3 * time.Second, Message: "amazon-bedrock answered 429 Too Many Requests: Too many requests"}},
		{refusing(429, nil, says("Too many tokens per day, please wait before trying again.")), model.Error{StatusCode: 429, Message: "amazon-bedrock answered 429 Too Many Requests: Too many tokens per day, please wait before trying again."}},
		{refusing(500, nil, "<html>"), model.Error{StatusCode: 500, Retryable: true, Message: "amazon-bedrock answered 500 Internal Server Error: no reason given"}},
		{refusing(502, nil, strings.Repeat("[", 100_000)), model.Error{StatusCode: 502, Retryable: true, Message: "amazon-bedrock answered 502 Bad Gateway: no reason given"}},
		{refusing(503, nil, says("later")), model.Error{StatusCode: 503, Retryable: true, Message: "amazon-bedrock answered 503 Service Unavailable: later"}},

		// inside a stream
		{streaming(exception("throttlingException", says("slow down"))), model.Error{StatusCode: 429, Retryable: true, Message: "amazon-bedrock answered 429 Too Many Requests: slow down"}},
		{streaming(begin, textOne, exception("modelStreamErrorException", `{"message":"broke","originalStatusCode":400,"originalMessage":"x"}`)), model.Error{StatusCode: 424, Retryable: true, Message: "amazon-bedrock answered 424 Failed Dependency: broke"}},
		{streaming(begin, exception("internalServerException", says("oops"))), model.Error{StatusCode: 500, Retryable: true, Message: "amazon-bedrock answered 500 Internal Server Error: oops"}},
		{streaming(begin, exception("serviceUnavailableException", says("later"))), model.Error{StatusCode: 503, Retryable: true, Message: "amazon-bedrock answered 503 Service Unavailable: later"}},
		{streaming(begin, exception("validationException", says("no"))), model.Error{StatusCode: 400, Message: "amazon-bedrock answered 400 Bad Request: no"}},
		{streaming(begin, exception("accessDeniedException", says("expired "+secret))), model.Error{StatusCode: 403, Message: "amazon-bedrock answered 403 Forbidden: expired [redacted]; " + keys}},
		{streaming(begin, exception("newException", `garbage`)), model.Error{StatusCode: 500, Retryable: true, Message: "amazon-bedrock answered 500 Internal Server Error: newException"}},
		{streaming(begin, frame("", ":message-type", "error", ":error-code", "InternalServerException", ":error-message", "sorry")), model.Error{StatusCode: 500, Retryable: true, Message: "amazon-bedrock answered 500 Internal Server Error: sorry"}},
		{streaming(begin, frame("", ":message-type", "error", ":error-code", "ThrottlingException")), model.Error{StatusCode: 429, Retryable: true, Message: "amazon-bedrock answered 429 Too Many Requests: ThrottlingException"}},

		// after the last word, and after the count
		{streaming(begin, textOne, end, exception("throttlingException", says("slow down"))), model.Error{StatusCode: 429, Retryable: true, Message: "amazon-bedrock answered 429 Too Many Requests: slow down"}},
		{streaming(begin, counts, exception("throttlingException", says("slow down"))), model.Error{Usage: usage, StatusCode: 429, Retryable: true, Message: "amazon-bedrock answered 429 Too Many Requests: slow down"}},
	} {
		_, _, err := ask(t.Context(), serve(t, test.handler, nil), hello())
		test.want.Name = "AI_APICallError"
		if diff := cmp.Diff(test.want, *failure(t, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// No secret is shown, whichever it is.
func TestSecretsAreNotShown(t *testing.T) {
	for _, change := range []func(*bedrock.Config){
		func(c *bedrock.Config) { c.SecretAccessKey = "top-secret-1" },
		func(c *bedrock.Config) { c.SessionToken = "top-secret-1" },
		func(c *bedrock.Config) { c.BearerToken = "top-secret-1" },
	} {
		_, _, err := ask(t.Context(), serve(t, refusing(403, nil, `{"message":"x-amz-security-token:top-secret-1"}`), change), hello())
		if e := failure(t, err); strings.Contains(e.Message, "top-secret") {
			t.Error(e.Message)
		}
	}
}

// prelude is the start of a frame, with its checksum.
func prelude(length, headers uint32) string {
	b := binary.BigEndian.AppendUint32(nil, length)
	b = binary.BigEndian.AppendUint32(b, headers)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func flip(s string, at int) string {
	b := []byte(s)
	b[(len(b)+at)%len(b)] ^= 1
	return string(b)
}

func packed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func TestMalformedAnswers(t *testing.T) {
	deep := strings.Repeat("[", 201) + strings.Repeat("]", 201)
	for name, answer := range map[string]string{
		"words":               strings.Repeat("garbage ", 100),
		"zeros":               string(make([]byte, 1000)),
		"a page":              "<!doctype html><html></html>",
		"gzip":                packed(strings.Join(plain, "")),
		"server-sent events":  "event: messageStart\ndata: {}\n\n",
		"no JSON":             delta(`garbage`),
		"half of it":          ev("metadata", `{`),
		"a list":              ev("contentBlockDelta", `[]`),
		"a name twice":        ev("messageStop", `{"stopReason":"a","stopReason":"b"}`),
		"a wrong type":        delta(`{"text":5}`),
		"a wrong number":      ev("contentBlockStop", `{"contentBlockIndex":"x"}`),
		"no base64":           delta(`{"reasoningContent":{"redactedContent":"?"}}`),
		"deep":                ev("contentBlockDelta", `{"x":`+deep+`}`),
		"deeper":              ev("contentBlockDelta", strings.Repeat(`{"a":`, 100_000)),
		"no kind":             frame(`{}`),
		"an unknown kind":     frame(`{}`, ":message-type", "news"),
		"a checksum, prelude": flip(textOne, 9),
		"a checksum, headers": flip(textOne, 20),
		"a checksum, payload": flip(textOne, -10),
		"a checksum, end":     flip(textOne, -1),
		"a short length":      prelude(15, 0) + textOne,
		"no length":           prelude(0, 0) + textOne,
		"a shorter length":    prelude(20, 10) + textOne,
		"long headers":        prelude(10_000, 9_000) + string(make([]byte, 10_000)),
		"a huge frame":        prelude(0xffffffff, 0) + textOne,
		"a huge payload":      prelude(9<<20, 0) + textOne,
		"huge headers":        prelude(0xffffffff, 0xfffffff0) + textOne,
		"a strange header":    resum(prelude(16+4, 4) + "\x01a\x63x"),
		"half a header":       resum(prelude(16+4, 4) + "\xffa\x07x"),
	} {
		_, _, err := ask(t.Context(), serve(t, streaming(begin, answer, end, counts), nil), hello())
		if e := failure(t, err); e.Name != "InvalidAnswer" || e.Retryable || len(e.Message) > 3000 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// A frame is refused by its first bytes, before anything is done for it: nothing follows
// them here.
func TestFramesAreCheckedFirst(t *testing.T) {
	for start, want := range map[string]string{
		prelude(16+2048, 2049): "an event with more than 2048 bytes of headers",
		prelude(17, 2):         "a frame that is shorter than its headers",
		prelude(8<<20+1, 0):    "an event of more than 8388608 bytes",
		"HTTP/1.1 200":         "what is not an event stream",
	} {
		_, _, err := ask(t.Context(), serve(t, streaming(begin, start), nil), hello())
		if e := failure(t, err); e.Name != "InvalidAnswer" || !strings.Contains(e.Message, want) {
			t.Errorf("%q: %+v", want, e)
		}
	}
	_, _, err := ask(t.Context(), serve(t, streaming(begin, prelude(8<<20, 2048)), nil), hello())
	if e := failure(t, err); e.Name != "IncompleteAnswer" {
		t.Errorf("%+v", e)
	}
}

// resum adds the checksum of a frame.
func resum(s string) string {
	return string(binary.BigEndian.AppendUint32([]byte(s), crc32.ChecksumIEEE([]byte(s))))
}

// What was counted before an answer broke is in the error. Bedrock counts at the end.
func TestUsageOfBrokenAnswers(t *testing.T) {
	_, _, err := ask(t.Context(), serve(t, streaming(begin, counts, "garbage that is no frame"), nil), hello())
	if e := failure(t, err); !cmp.Equal(e.Usage, usage) {
		t.Errorf("%+v", e)
	}
	_, _, err = ask(t.Context(), serve(t, streaming(begin, textOne), nil), hello())
	if e := failure(t, err); !cmp.Equal(e.Usage, event.Usage{}) {
		t.Errorf("%+v", e)
	}
}

// A service that falls silent is not waited for without end.
func TestSilence(t *testing.T) {
	m := serve(t, nil, func(c *bedrock.Config) {
		c.Client.Idle = time.Millisecond
		body := begin + counts + textOne[:20]
		c.Client.HTTP = wiretest.Client(streamType, &body, true)
	})
	_, _, err := ask(t.Context(), m, hello())
	if e := failure(t, err); e.Name != "TimeoutError" || !cmp.Equal(usage, e.Usage) {
		t.Errorf("%+v", e)
	}
}

// The length of a frame is held against the limit before anything is read for it.
func TestLargeFrames(t *testing.T) {
	change := func(c *bedrock.Config) { c.Client.MaxEvent = 1000 }
	fits := delta(`{"text":"` + strings.Repeat("a", 700) + `"}`)
	if _, _, err := ask(t.Context(), serve(t, streaming(fits, end, counts), change), hello()); err != nil {
		t.Error(err)
	}
	_, _, err := ask(t.Context(), serve(t, streaming(begin, prelude(1001, 0)), change), hello())
	if e := failure(t, err); e.Name != "InvalidAnswer" || !strings.Contains(e.Message, "an event of more than 1000 bytes") {
		t.Errorf("%+v", e)
	}
}

func TestInterrupted(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		streaming(begin, counts, textOne)(w, r)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	for _, e := range m.Generate(ctx, hello()) {
		cancel()
		err = e
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(usage, model.AsError(err).Usage); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is to be checked is what was sent.
func TestHintNamesTheVariable(t *testing.T) {
	for want, change := range map[string]func(*bedrock.Config){
		"no; check AWS_BEARER_TOKEN_BEDROCK, and what the account may do":                    func(c *bedrock.Config) { c.BearerToken = "a-bearer-token" },
		"no; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what the account may do": func(c *bedrock.Config) { c.KeyVariable = "AWS_ACCESS_KEY_ID" },
	} {
		_, _, err := ask(t.Context(), serve(t, refusing(403, nil, `{"message":"no."}`), change), hello())
		if e := failure(t, err); !strings.HasSuffix(e.Message, want) {
			t.Errorf("%s; want %s", e.Message, want)
		}
	}
}
