package test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/history"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

const (
	killSteps = 20
	kills     = 10
	callsTurn = 2 // the commands of each turn but the last, which is the answer
)

// TestKill kills a run of 20 steps at ten random instants. Each time it is resumed, and
// in the end nothing that was recorded is lost, and no command ran twice.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	writeKillProject(t, dir)

	journal := filepath.Join(history.Of(t, dir), "jobs", "job", "journal.jsonl")
	kept := startAndKill(t, dir, 1+chance.IntN(60), "writer", "go", "--job-id", "job")
	for range kills - 1 {
		if len(records(kept)) == 0 {
			kept = startAndKill(t, dir, 1+chance.IntN(60), "writer", "go", "--job-id", "job")
			continue
		}
		now := startAndKill(t, dir, 1+chance.IntN(30), "--continue-job", "job")
		if !bytes.HasPrefix(now, kept) {
			t.Fatal("a recorded event was lost or changed")
		}
		kept = now
	}
	perstack(t, dir, "run", "--continue-job", "job", "--max-steps", "1000")

	final, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(final, kept) {
		t.Error("a recorded event was lost or changed")
	}
	if _, err := store.Verify(t.Context(), file.New(history.Of(t, dir), nil), "job"); err != nil {
		t.Error(err)
	}
	checkGenerations(t, dir)
	checkEffects(t, dir)
}

// writeKillProject makes an Expert whose every turn runs a command that leaves a trace.
func writeKillProject(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("perstack.toml", `maxSteps = 1000
[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"
[experts.writer]
instruction = "Work."
`)
	var cassette strings.Builder
	for i := 1; i < killSteps; i++ {
		fmt.Fprintf(&cassette, "[[turn]]\n")
		for part := range callsTurn {
			fmt.Fprintf(&cassette, "[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", \"echo %d.%d >> effects.txt\"] }\n", i, part)
		}
	}
	cassette.WriteString("[[turn]]\ntext = \"Worked.\"\n")
	write("cassette.toml", cassette.String())
}

// startAndKill runs perstack and kills it after so many records. It returns what the
// journal then has.
func startAndKill(t *testing.T, dir string, after int, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("perstack", append([]string{"run", "--events", "lean"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for range after {
		if !lines.Scan() {
			break // it ended before its time
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	data, err := os.ReadFile(filepath.Join(history.Of(t, dir), "jobs", "job", "journal.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	// A line that was torn off is not recorded.
	return data[:bytes.LastIndexByte(data, '\n')+1]
}

func perstack(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("perstack", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil && !strings.Contains(stderr.String(), "is completed") {
		t.Fatalf("perstack %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
}

func records(journal []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(journal, []byte("\n")), []byte("\n"))[:bytes.Count(journal, []byte("\n"))]
}

// checkGenerations checks that no recorded generation was paid for again: each turn of
// the cassette was recorded once.
func checkGenerations(t *testing.T, dir string) {
	t.Helper()
	turns, answers := map[string]int{}, 0
	for r, err := range file.New(history.Of(t, dir), nil).Read(t.Context(), "job", 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := r.Event.Body.(type) {
		case event.CallTools:
			turns[string(b.NewMessage.Contents[0].Args)]++
		case event.CompleteRun:
			answers++
		}
	}
	if len(turns) != killSteps-1 || answers != 1 {
		t.Errorf("%d turns of calls and %d answers recorded, want %d and 1", len(turns), answers, killSteps-1)
	}
	for args, n := range turns {
		if n != 1 {
			t.Errorf("the turn %s was generated %d times", args, n)
		}
	}
}

// checkEffects checks that no command ran twice, and that only the commands of a turn that
// was killed never ran: their outcome is unknown, so they are not repeated.
func checkEffects(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "effects.txt"))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, line := range strings.Fields(string(data)) {
		if ran[line]++; ran[line] > 1 {
			t.Errorf("command %s ran twice", line)
		}
	}
	if least := callsTurn * (killSteps - 1 - kills); len(ran) < least {
		t.Errorf("%d commands ran, want at least %d", len(ran), least)
	}
}
