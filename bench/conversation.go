//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/store/file"
)

const turns = 200

// conversation measures a job of 200 steps that each read a file of 10 KB, against a
// client that posts the same bodies and reads the same answers and does nothing else.
func conversation(ctx context.Context, dir string, p programs) ([]figure, error) {
	line := strings.Repeat("A line of text as people write it, of some length. ", 2) + "\n"
	text := strings.Repeat(line, 10_000/len(line)+1)[:10_000]
	var script strings.Builder
	for i := range turns { // two files by turns: one alone would be taken for a loop
		name := fmt.Sprintf("text%d.txt", i%2)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
		fmt.Fprintf(&script, "[[turn]]\n[[turn.call]]\ntool = \"readTextFile\"\nargs = { path = %q }\n", name)
	}
	script.WriteString("[[turn]]\ntext = \"Done.\"\n")
	parsed, err := llm.Parse("bench.toml", []byte(script.String()))
	if err != nil {
		return nil, err
	}

	recorder := llm.New(parsed)
	url, stop := recorder.Serve()
	if _, err := p.measured(ctx, 1, 0, run(ctx, dir, p, url)); err != nil {
		return nil, err
	}
	stop()
	// Outside of the workspace, whose files are stored.
	beside := filepath.Join(filepath.Dir(dir), "bodies")
	if err := os.MkdirAll(beside, 0o700); err != nil {
		return nil, err
	}
	args, err := bodies(beside, recorder)
	if err != nil {
		return nil, err
	}

	var costs [3]cost
	for i, flags := range [][]string{{"--events", "lean"}, {"--events", "full"}, nil} {
		url, stop := llm.New(parsed).Serve()
		command := run(ctx, dir, p, url, flags...)
		if flags == nil {
			command = func() *exec.Cmd { return exec.CommandContext(ctx, p.bare, append([]string{url, llm.Key}, args...)...) }
		}
		if costs[i], err = p.measured(ctx, 3, 0, command); err != nil {
			return nil, err
		}
		stop()
	}
	lean, full, bare := costs[0], costs[1], costs[2]
	journal, err := journalShare(ctx, p.home)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"CPU of 200 steps, lean events, to a bare client", lean.times(bare), 2, "%.2f"},
		{"CPU of 200 steps, full events, to a bare client", full.times(bare), 4, "%.2f"},
		{"memory of 200 steps, MB", max(lean.peak, full.peak), 80, "%.0f"},
		{"journal of 200 steps, to its messages and results", journal, 1.3, "%.2f"},
	}, nil
}

// bodies writes what was posted to files, for the bare client.
func bodies(dir string, server *llm.Server) ([]string, error) {
	var files []string
	for i, r := range server.Requests() {
		name := filepath.Join(dir, fmt.Sprintf("body-%03d.json", i))
		if err := os.WriteFile(name, r.Raw, 0o644); err != nil {
			return nil, err
		}
		files = append(files, name)
	}
	return files, nil
}

// journalShare compares the newest journal with the bytes of the messages and results it holds.
func journalShare(ctx context.Context, home string) (float64, error) {
	storages, err := filepath.Glob(filepath.Join(home, "storage-*"))
	if err != nil {
		return 0, err
	}
	for _, storage := range storages {
		info, err := os.Stat(filepath.Join(storage, "jobs", "job", "journal.jsonl"))
		if err != nil || info.Size() < 1<<20 {
			continue // of a shorter run
		}
		content := 0
		for r, err := range file.New(storage, nil).Read(ctx, "job", 0) {
			if err != nil {
				return 0, err
			}
			content += contentOf(r.Event)
		}
		return float64(info.Size()) / float64(content), nil
	}
	return 0, fmt.Errorf("no journal of %d steps in %s", turns, home)
}

// contentOf counts the bytes of an event's messages and results.
func contentOf(e event.Event) int {
	size := func(body event.Body) int {
		data, err := event.Marshal(event.Event{Body: body})
		if err != nil {
			return 0
		}
		return len(data)
	}
	switch b := e.Body.(type) {
	case event.StartRun:
		return size(event.StartGeneration{Messages: b.InputMessages})
	case event.CallTools:
		return size(event.StartGeneration{Messages: []*event.Message{b.NewMessage}})
	case event.EndToolCall:
		return size(event.ResolveToolResults{ToolResults: []event.ToolResult{b.ToolResult}})
	case event.CompleteRun:
		return size(event.StartGeneration{Messages: []*event.Message{b.NewMessage}})
	}
	return 0
}
