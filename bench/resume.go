//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

const (
	longHistory = 10_000   // events
	longTalk    = 50 << 20 // bytes
)

// resume measures what it takes to resume a job of 10,000 events and 50 MB of
// conversation that was stopped: read it, check it, fold it, and send the next request,
// with all of it. The memory of a job of one step is taken off.
func resume(ctx context.Context, dir string, p programs) ([]figure, error) {
	dir = filepath.Join(dir, "resume")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := project(dir); err != nil {
		return nil, err
	}
	history := filepath.Join(p.home, "history")
	talk, err := stoppedJob(ctx, dir, p.home, history)
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(http.HandlerFunc(answerAnything))
	defer server.Close()
	resumeJob := func(output ...string) func() *exec.Cmd {
		return func() *exec.Cmd {
			cmd := command(ctx, dir, p, server.URL, append([]string{"--continue-job", "job", "--max-steps", "100000"}, output...)...)()
			// Each time the same history: what a run adds would be read by the next.
			if err := os.CopyFS(storageOf(cmd), os.DirFS(history)); err != nil {
				cmd.Err = err
			}
			return cmd
		}
	}
	short := command(ctx, dir, p, server.URL, "bench", "go", "--output", "text")
	rounds, err := p.compared(ctx, 5, trial{0, short}, trial{0, resumeJob("--output", "text")}, trial{0, resumeJob("--json", "--events", "full")})
	if err != nil {
		return nil, err
	}
	costs := least(rounds)
	share := func(c cost) float64 { return (c.peak - costs[0].peak) * (1 << 20) / float64(talk) }
	return []figure{
		{"time to resume 10,000 events and 50 MB of conversation, ms", float64((costs[1].elapsed - costs[0].elapsed).Milliseconds()), 0, "%.0f"},
		{"memory for it, to the conversation", share(costs[1]), 3, "%.2f"},
		{"memory for it with full events, to the conversation", share(costs[2]), 3, "%.2f"},
	}, nil
}

// stoppedJob records a long job and stops it in the middle. It returns the bytes of its
// conversation.
func stoppedJob(ctx context.Context, dir, home, history string) (talk int, err error) {
	config, problems, err := manifest.Load(filepath.Join(dir, "perstack.toml"))
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return 0, err
	}
	bench, ok := config.Lookup("bench")
	if !ok {
		return 0, fmt.Errorf("no Expert in %s", dir)
	}
	sealer, err := sealerOf(home, dir)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const each = longTalk * eventsAStep / longHistory
	records := 0
	parts := engine.Parts{Model: caller{longHistory}, Store: noSync{file.New(history, nil).WithSeal(sealer)}, Lean: true, Record: func(r store.Record) error {
		talk += contentOf(r.Event)
		if records++; records == longHistory-10 { // a few are recorded when it stops and resumes
			cancel()
		}
		return nil
	}}
	_, err = engine.Execute(ctx, spec("job", bench, longHistory), parts, only(noop{answer: lines(each)}))
	if err == nil && talk < longTalk*9/10 {
		err = fmt.Errorf("the conversation has %d bytes, want %d", talk, longTalk)
	}
	return talk, err
}

// sealerOf returns what seals the jobs that a [command] in a directory runs, with that home.
func sealerOf(home, dir string) (*store.Sealer, error) {
	user, err := state.Find(runtime.GOOS, home, func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	project, err := user.Project(dir)
	if err != nil {
		return nil, err
	}
	keys, err := user.Keys()
	if err != nil {
		return nil, err
	}
	return store.NewSealer(project.ID(), keys[0].Secret), nil
}

// eventsAStep is how many a step records that calls one tool.
const eventsAStep = 7

// lines is text of so many bytes.
func lines(size int) string {
	line := "A line of text as people write it, of some length, seventy-two in all.\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// answerAnything ends a conversation of any size. The scripted server does not take
// requests that are larger than the real service does.
func answerAnything(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.Header.Get("X-Api-Key") != llm.Key {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, doneStream) //nolint:errcheck // a client that has left needs none
}

const doneStream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Done."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`

// noSync is a store that leaves it to the kernel when a record is on the disk.
type noSync struct{ store.Store }

func (s noSync) Open(ctx context.Context, id string) (store.Journal, error) {
	j, err := s.Store.Open(ctx, id)
	return noSyncJournal{j}, err
}

type noSyncJournal struct{ store.Journal }

func (noSyncJournal) Commit(context.Context) error { return nil }
