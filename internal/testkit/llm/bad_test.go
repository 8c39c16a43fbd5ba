package llm

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perstack-go/perstack/rawjson"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestStatus(t *testing.T) {
	for status, kind := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 418: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 503: "api_error", 529: "overloaded_error",
	} {
		a := play(t, "[[turn]]\n[turn.error]\nstatus = "+itoa(status)+"\nmessage = \"no \\\"luck\\\"\"")
		want := `{"type":"error","error":{"type":"` + kind + `","message":"no \"luck\""},"request_id":"` + a.header.Get("Request-Id") + `"}`
		if a.status != status || a.body != want || a.header.Get("Content-Type") != "application/json" || a.header.Get("Retry-After") != "" {
			t.Errorf("got %v\nwant %s", a, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	a := play(t, "[[turn]]\n[turn.error]\nstatus = 429\ntype = \"other\"\nretryAfter = \"Fri, 31 Dec 1999 23:59:59 GMT\"\nretryAfterMs = \"20\"")
	if a.header.Get("Retry-After") != "Fri, 31 Dec 1999 23:59:59 GMT" || a.header.Get("Retry-After-Ms") != "20" || !strings.Contains(a.body, `"type":"other"`) {
		t.Error(a)
	}
}

func TestRaw(t *testing.T) {
	const sse, page = "text/event-stream; charset=utf-8", "text/html; charset=utf-8"
	tests := []struct {
		name, script string
		status       int
		kind         string
		body         func(string) bool
	}{
		{"garbage", `raw = "garbage"`, 200, sse, func(s string) bool { return !utf8.ValidString(s) && len(s) == 16<<10 }},
		{"html", `raw = "html"`, 200, page, func(s string) bool { return strings.HasPrefix(s, "<!doctype html>") }},
		{"html of a proxy", "raw = \"html\"\nerror = { status = 502, retryAfter = \"1\" }", 502, page, func(s string) bool { return strings.HasPrefix(s, "<!doctype html>") }},
		{"empty", `raw = "emptyBody"`, 200, sse, func(s string) bool { return s == "" }},
		{"empty error", "raw = \"emptyBody\"\nerror.status = 500", 500, sse, func(s string) bool { return s == "" }},
		{"wrong type", "raw = \"wrongType\"\ntext = \"a\"", 200, "application/json", func(s string) bool { return strings.HasSuffix(names(s), " message_stop") }},
		{"endless", "raw = \"endless\"\nmib = 2", 200, sse, func(s string) bool {
			return len(s) >= 2<<20 && len(s) < 3<<20 && strings.HasSuffix(names(s), " content_block_delta")
		}},
		{"endless ping", "raw = \"endlessPing\"\nmib = 1", 200, sse, func(s string) bool { return len(s) >= 1<<20 && strings.HasSuffix(names(s), " ping ping") }},
		{"huge line", "raw = \"hugeLine\"\nmib = 3", 200, sse, func(s string) bool {
			line := strings.SplitAfter(s, "\n")[10]
			return len(line) > 3<<20 && rawjson.Value(strings.TrimPrefix(line, "data: ")).IsValid() && strings.HasSuffix(names(s), " message_stop")
		}},
		{"deep", "raw = \"deep\"\ndepth = 20000", 200, sse, func(s string) bool {
			return strings.Contains(s, strings.Repeat("[", 20000)+"]") && strings.HasSuffix(names(s), " message_stop")
		}},
		{"packed", "raw = \"gzip\"\ntext = \"a\"", 200, sse, func(s string) bool { return strings.HasSuffix(names(unpacked(t, s)), " message_stop") }},
		{"a bomb", "raw = \"gzipBomb\"\nmib = 3", 200, sse, func(s string) bool { return len(s) < 16<<10 && unpacked(t, s) == strings.Repeat("\x00", 3<<20) }},
		{"deep arguments", "[[turn.call]]\ntool = \"a\"\ndepth = 20000", 200, sse, func(s string) bool {
			return strings.Count(s, "[") == 20001 && strings.Count(s, "]") == 20001 // and one pair in message_start
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := play(t, "[[turn]]\n"+tt.script)
			if packing := a.header.Get("Content-Encoding"); (packing == "gzip") != strings.Contains(tt.script, "gzip") {
				t.Errorf("packed as %q", packing)
			}
			if a.err != nil || a.status != tt.status || a.header.Get("Content-Type") != tt.kind || !tt.body(a.body) {
				t.Errorf("%v %d %v %.300q", a.err, a.status, a.header, a.body)
			}
		})
	}
}

func unpacked(t *testing.T, s string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A script that counts on more events than the wire has is refused when that shows.
func TestTooFewEvents(t *testing.T) {
	a := play(t, "[[turn]]\ntext = \"\"\ncutAfter = 5")
	if a.status != 400 || !strings.Contains(a.body, "[[turn]] number 1 ends after 5 events, but the answer has 4") {
		t.Error(a)
	}
}

// A client that follows a redirect to another name of this server shows what it takes there.
func TestRedirect(t *testing.T) {
	s, url := Start(t, mustParse(t, "[[turn]]\nredirect = \"http://localhost:{port}/v1/messages\"\n[[turn]]\ntext = \"there\""))
	a := post(t, url, hello)
	port := url[strings.LastIndexByte(url, ':')+1 : len(url)-len("/v1")]
	if a.status != 307 || a.header.Get("Location") != "http://localhost:"+port+"/v1/messages" {
		t.Fatal(a)
	}
	resp, err := ask(t.Context(), "http://127.0.0.1:"+port+"/v1", hello, func(r *http.Request) { r.Host = "localhost:" + port })
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	all := s.Requests()
	if len(all) != 2 || all[1].Host != "localhost:"+port || !all[1].KeyRight || all[1].Attempt != 2 || all[0].Status != 307 || all[1].Status != 200 {
		t.Errorf("%+v", all)
	}
	a = play(t, "[[turn]]\nredirect = \"/v1/else\"\nerror.status = 302")
	if a.status != 302 || a.header.Get("Location") != "/v1/else" {
		t.Error(a)
	}
}

// A client that leaves ends an answer that has no end, and one that has not begun.
func TestClientLeaves(t *testing.T) {
	for _, script := range []string{`raw = "endless"`, "text = \"a\"\ndelay = \"10m\"", "text = \"a b\"\neventDelay = \"5m\"", "raw = \"endlessPing\"\neventDelay = \"1ms\""} {
		s := New(mustParse(t, "[[turn]]\n"+script))
		url, stop := s.Serve()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		resp, err := ask(ctx, url, hello, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		cancel()
		if err == nil {
			t.Errorf("%s: it came to an end", script)
		}
		stop() // waits for the handler
	}
}

// A server that is stopped does not wait for what it would still have to say.
func TestStop(t *testing.T) {
	s := New(mustParse(t, "[[turn]]\ntext = \"a\"\ndelay = \"10m\""))
	url, stop := s.Serve()
	done := make(chan error, 1)
	go func() {
		resp, err := ask(t.Context(), url, hello, nil)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	for len(s.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
}

func TestDelays(t *testing.T) {
	const pause = 20 * time.Millisecond
	begin := time.Now()
	a := play(t, "[[turn]]\ntext = \"a\"\ndelay = \"20ms\"\neventDelay = \"20ms\"")
	if n := strings.Count(a.body, "\n\n"); n != 7 || time.Since(begin) < pause*time.Duration(n+1) {
		t.Errorf("%d events in %s", n, time.Since(begin))
	}
}
