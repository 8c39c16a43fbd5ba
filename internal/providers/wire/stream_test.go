package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// answering returns a client whose every call is answered with body, without a network.
func answering(body io.Reader) *wire.Client {
	return &wire.Client{Provider: "acme", BaseURL: "https://acme.example", HTTP: &http.Client{
		Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK,
				Header:     http.Header{"Content-Type": {"text/event-stream"}},
				Body:       io.NopCloser(body),
			}, nil
		}),
	}}
}

// all reads a stream to its end.
func all(ctx context.Context, c *wire.Client) (events []string, err error) {
	s, err := c.Post(ctx, "/", nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for {
		e, err := s.Next()
		if err != nil {
			return events, err
		}
		events = append(events, e.Name+"|"+string(e.Data))
	}
}

func TestNext(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"data: 1\n\n", []string{"|1"}},
		{"data:1\n\ndata:  2\n\n", []string{"|1", "| 2"}},
		{"event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1", "|2"}},
		{"event: a\r\ndata: 1\r\ndata: 2\r\n\r\n", []string{"a|1\n2"}},
		{": hello\n\n:\nid: 7\nretry: 1\nnonsense\ndata: 1\n\n", []string{"|1"}},
		{"\ufeffdata: 1\n\n", []string{"|1"}},
		{"data\ndata\n\n", []string{"|\n"}},
		{"event: a\n\ndata: 1\n\n", []string{"|1"}},
		{"data: 1\n\ndata: 2\n", []string{"|1"}},
		{"data: 1\n\ndata: 2", []string{"|1"}},
		{"data: 1\n\n\n\n\ndata: 2\n\n", []string{"|1", "|2"}},
	} {
		got, err := all(t.Context(), answering(strings.NewReader(test.text)))
		if !errors.Is(err, io.EOF) || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, %v", test.text, got, err)
		}
	}
}

// endless repeats a text and counts what was taken of it.
type endless struct {
	text  string
	taken int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[(e.taken+i)%len(e.text)]
	}
	e.taken += len(p)
	return len(p), nil
}

func TestHugeLineIsNotKept(t *testing.T) {
	for _, line := range []string{"data: xxxx", ":"} {
		body := &endless{text: strings.Repeat("x", 64)}
		c := answering(io.MultiReader(strings.NewReader(line), io.LimitReader(body, 100<<20)))
		_, err := all(t.Context(), c)
		if e := asError(t, err); e.Name != "InvalidAnswer" || e.Retryable {
			t.Errorf("%+v", e)
		}
		if body.taken > wire.DefaultMaxEvent+1<<20 {
			t.Errorf("%d bytes were read", body.taken)
		}
	}
}

func TestHugeEventOfManyLines(t *testing.T) {
	body := &endless{text: "data: " + strings.Repeat("x", 100) + "\n"}
	c := answering(body)
	c.MaxEvent = 10_000
	_, err := all(t.Context(), c)
	if e := asError(t, err); e.Name != "InvalidAnswer" || body.taken > 64<<10 {
		t.Errorf("%+v after %d bytes", e, body.taken)
	}
}

func TestEndlessStream(t *testing.T) {
	for _, text := range []string{"data: 1\n\n", ": ping\n\n", "\n"} {
		body := &endless{text: text}
		c := answering(body)
		c.MaxStream = 1 << 20
		_, err := all(t.Context(), c)
		if e := asError(t, err); e.Name != "InvalidAnswer" || e.Retryable || body.taken > 1<<20+64<<10 {
			t.Errorf("%+v after %d bytes", e, body.taken)
		}
	}
}

func TestBrokenConnection(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		sse(w, "data: 1\n\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	got, err := all(t.Context(), c)
	if e := asError(t, err); e.Name != "IncompleteAnswer" || !e.Retryable || len(got) != 1 {
		t.Errorf("%q, %+v", got, e)
	}
}

// silent is a body that says something, then nothing until the call is given up.
type silent struct {
	io.Reader
	ctx context.Context
}

func (s silent) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func TestTimeouts(t *testing.T) {
	mute := roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	half := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{"Content-Type": {"text/event-stream"}},
			Body:       io.NopCloser(silent{strings.NewReader("data: 1\n\n"), r.Context()}),
		}, nil
	})
	halfError := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}, Body: io.NopCloser(silent{strings.NewReader("wh"), r.Context()})}, nil
	})
	for _, test := range []struct {
		name  string
		http  roundTrip
		after time.Duration
		total time.Duration
		want  string
	}{
		{"first byte", mute, wire.DefaultFirstByte, 0, "did not begin in time"},
		{"idle", half, wire.DefaultIdle, 0, "stopped in the middle"},
		{"idle in an error", halfError, wire.DefaultIdle, 0, "stopped in the middle"},
		{"total, mute", mute, time.Second, time.Second, ""},
		{"total, half", half, time.Second, time.Second, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.total > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.total)
					defer cancel()
				}
				start := time.Now()
				_, err := all(ctx, &wire.Client{Provider: "acme", BaseURL: "https://acme.example", HTTP: &http.Client{Transport: test.http}})
				if took := time.Since(start); took != test.after {
					t.Errorf("gave up after %v", took)
				}
				if test.total > 0 {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v", err)
					}
					return
				}
				if e := asError(t, err); e.Name != "TimeoutError" || !e.Retryable || !strings.Contains(e.Message, test.want) {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}

func TestOurOwnTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := answering(strings.NewReader("data: 1\n\ndata: 2\n\n")).Post(t.Context(), "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			time.Sleep(wire.DefaultIdle * 2)
			if _, err := s.Next(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDecode(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for text, ok := range map[string]bool{
		nested(199): true, nested(201): false, strings.Repeat(`{"a":`, 1_000_000): false,
		`"` + strings.Repeat("[", 500) + `"`: true, `"\"` + strings.Repeat("[", 500) + `"`: true,
		`{"a":1,"a":2}`: false, `{`: false, ``: false, "\"\xff\"": true, `"\ud83d"`: true,
	} {
		var v any
		if err := wire.Decode([]byte(text), &v); (err == nil) != ok {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

func TestEncodedOnce(t *testing.T) {
	var cache wire.Encoded[string]
	count := 0
	encode := func(form string) wire.Encoder[string] {
		return func(*event.Message, bool) string {
			count++
			return form
		}
	}
	a, b := &event.Message{ID: "a"}, &event.Message{ID: "b"}
	for range 3 {
		if cache.Get(a, false, encode("a")) != "a" || cache.Get(b, false, encode("b")) != "b" || cache.Get(a, true, encode("slim a")) != "slim a" {
			t.Error("mixed up")
		}
	}
	if count != 3 || cache.Count() != 3 {
		t.Errorf("encoded %d times, and counted %d", count, cache.Count())
	}
	cache.Replace(a, true, "another")
	if got := cache.Get(a, true, encode("")); got != "another" || cache.Get(a, false, encode("")) != "a" {
		t.Errorf("replaced by %q", got)
	}
}

// A conversation that is over takes its bytes along.
func TestEncodedForgets(t *testing.T) {
	var cache wire.Encoded[string]
	for range 100 {
		cache.Get(&event.Message{ID: "a"}, false, func(*event.Message, bool) string { return "a" })
	}
	kept := &event.Message{ID: "b"}
	cache.Get(kept, false, func(*event.Message, bool) string { return "b" })
	for tries := 0; cache.Len() > 1; tries++ {
		if tries == 1000 {
			t.Fatalf("%d messages are still there", cache.Len())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if cache.Len() != 1 {
		t.Error("a message in use was forgotten")
	}
	runtime.KeepAlive(kept)
}

func FuzzSSE(f *testing.F) {
	f.Add("event: a\r\ndata: 1\n\n")
	f.Add("data")
	f.Add(":\n\n\ufeff")
	f.Fuzz(func(t *testing.T, text string) {
		c := answering(strings.NewReader(text))
		c.MaxEvent, c.MaxStream = 100, 1000
		events, err := all(t.Context(), c)
		if err == nil {
			t.Error("a stream without an end")
		}
		size := 0
		for _, e := range events {
			size += len(e)
			_, data, _ := strings.Cut(e, "|")
			if len(data) > 200 {
				t.Errorf("an event of %d bytes", len(e))
			}
		}
		if size > 2000 {
			t.Error(fmt.Sprint("kept ", size))
		}
	})
}
