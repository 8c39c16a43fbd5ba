package llm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// many is how many children a job may have at once.
const many = 1000

// crowd is a script with an answer of its own for each of many conversations.
func crowd(delay string) string {
	var b strings.Builder
	for i := range many {
		fmt.Fprintf(&b, "[[turn]]\nquery = \"child %d.\"\ntext = \"This is the answer of child number %d, in a few words.\"\n%s", i, i, delay)
	}
	return b.String()
}

// child is the request of one of them.
func child(i int) string {
	return body(`"system":"You are the writer.",`, fmt.Sprintf(`{"role":"user","content":"You are child %d. %s"}`, i, strings.Repeat("Work. ", 100)))
}

// All requests are there before the first is answered, and each gets its own answer.
func TestManyAtOnce(t *testing.T) {
	s := New(mustParse(t, crowd("")))
	var arrived atomic.Int64
	begin, release := context.WithCancel(t.Context())
	defer release()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == many {
			release()
		}
		<-begin.Done()
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	var done sync.WaitGroup
	for i := range many {
		done.Go(func() {
			a := post(t, server.URL+"/v1", child(i))
			if a.err != nil {
				release() // the others must not wait for it
			}
			if a.err != nil || a.status != http.StatusOK || !strings.Contains(strings.Join(texts(a.body), ""), fmt.Sprintf("child number %d,", i)) {
				t.Errorf("child %d: %+v", i, a)
			}
		})
	}
	done.Wait()
	all := s.Requests()
	if len(all) != many {
		t.Errorf("%d requests", len(all))
	}
	for _, r := range all {
		if r.System() != "You are the writer." || r.Attempt != 1 || r.Turn != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// The parent of them all is answered as well, with all their results in one message.
func TestManyResults(t *testing.T) {
	var calls, ids []string
	for i := range many {
		ids = append(ids, fmt.Sprintf("c%d", i))
		calls = append(calls, fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"writer","input":{}}`, i))
	}
	_, url := Start(t, mustParse(t, "[[turn]]\nturn = 2\ntext = \"done\""), Forgetting())
	if a := post(t, url, body("", user, says(strings.Join(calls, ",")), results(ids...))); a.status != http.StatusOK {
		t.Error(a.status, a.body)
	}
	if a := post(t, url, body("", user, says(strings.Join(calls, ",")), results(ids[1:]...))); a.status != http.StatusBadRequest || !strings.Contains(a.body, "immediately after: c0.") {
		t.Error(a.status, a.body)
	}
}

// texts are the words of a stream.
func texts(body string) (words []string) {
	for line := range strings.Lines(body) {
		if _, word, ok := strings.Cut(line, `"text_delta","text":"`); ok {
			words = append(words, strings.TrimSuffix(strings.TrimSpace(word), `"}}`))
		}
	}
	return words
}

// BenchmarkManyAtOnce shows what a thousand requests at once take over the latency of one.
func BenchmarkManyAtOnce(b *testing.B) {
	s := New(mustParse(b, crowd("delay = \"200ms\"\n")), Forgetting())
	url, stop := s.Serve()
	defer stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: many}}
	for b.Loop() {
		var group sync.WaitGroup
		for i := range many {
			group.Go(func() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url+"/messages", strings.NewReader(child(i)))
				if err != nil {
					b.Error(err)
					return
				}
				r.Header.Set("X-Api-Key", Key)
				r.Header.Set("Anthropic-Version", "2023-06-01")
				r.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				defer resp.Body.Close()
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					b.Errorf("status %d, %v", resp.StatusCode, err)
				}
			})
		}
		group.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)-200, "ms-over-latency")
}
