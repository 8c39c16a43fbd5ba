//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

const (
	crowd   = 1000                   // Experts that are asked in one turn
	latency = 200 * time.Millisecond // of one answer of the model
	chain   = 3 * latency            // the lead asks, one of the others answers, the lead answers
)

// delegates measures a job whose first turn asks a thousand Experts at once. The model
// server runs in this process, so the memory is that of perstack alone. The two share the
// cores: what the server needs for a thousand answers is in the time.
func delegates(ctx context.Context, dir string, p programs) ([]figure, error) {
	dir = filepath.Join(dir, "delegates")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	file := fmt.Sprintf("maxSteps = %d\nmaxParallel = %d\n[experts.bench]\ninstruction = \"Lead.\"\ndelegates = [\"reader\", \"writer\", \"checker\"]\n", 4*crowd, crowd)
	for _, name := range team {
		file += fmt.Sprintf("[experts.%s]\ndescription = \"Works on one part.\"\ninstruction = \"Work as the %s.\"\n", name, name)
	}
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(file), 0o600); err != nil {
		return nil, err
	}
	script, err := llm.Parse("delegates.toml", []byte(crowdScript()))
	if err != nil {
		return nil, err
	}
	// The server shares the cores with what is measured, so it may use memory instead.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var costs [2]cost
	for i, flags := range [][]string{{"--output", "text"}, {"--json", "--events", "full"}} {
		server := llm.New(script, llm.Forgetting())
		url, stop := server.Serve()
		const times = 5
		costs[i], err = p.measured(ctx, times, 0, command(ctx, dir, p, url, append([]string{"bench", "go"}, flags...)...))
		stop()
		if err != nil {
			return nil, err
		}
		if got := server.Count(); got != times*(crowd+2) {
			return nil, fmt.Errorf("%d runs asked the model %d times, want %d", times, got, times*(crowd+2))
		}
	}
	text, full := costs[0], costs[1]
	return []figure{
		{"time of 1,000 delegates at once, to the latency of three answers", float64(text.elapsed) / float64(chain), 2, "%.2f"},
		{"memory of 1,000 delegates at once, MB", text.peak, 150, "%.0f"},
		{"CPU of 1,000 delegates at once, ms", float64(text.cpu.Milliseconds()), 0, "%.0f"},
		{"time of the same with full events, to the latency", float64(full.elapsed) / float64(chain), 0, "%.2f"},
		{"memory of the same with full events, MB", full.peak, 0, "%.0f"},
	}, nil
}

var team = [...]string{"reader", "writer", "checker"}

// crowdScript has the lead ask all others in its first turn. Each of them is asked
// something else.
func crowdScript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[turn]]\nsystem = \"Lead.\"\ndelay = \"%s\"\n", latency)
	for i := range crowd {
		fmt.Fprintf(&b, "[[turn.call]]\ntool = %q\nargs = { query = \"Work on part %d, and say in a few words what you have found in it.\" }\n", team[i%len(team)], i)
	}
	fmt.Fprintf(&b, "[[turn]]\nsystem = \"Lead.\"\ndelay = \"%s\"\ntext = \"All parts are done.\"\n", latency)
	fmt.Fprintf(&b, "[[turn]]\nsystem = \"Work as the\"\ndelay = \"%s\"\ntext = \"This part has three open points, and a few words about each of them.\"\n", latency)
	return b.String()
}
