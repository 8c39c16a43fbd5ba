//go:build linux

package docker

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/history"
)

const (
	killRounds = 9
	killSteps  = 40
)

// TestKillNine kills perstack at random instants, in every phase of a run: while it makes
// the networks, while the container starts, while commands run, while it ends. Each time
// the next run removes what was left on the daemon and continues; in the end nothing that
// was recorded is lost, and no command ran twice.
func TestKillNine(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	var script strings.Builder
	for i := 1; i < killSteps; i++ {
		fmt.Fprintf(&script, "[[turn]]\nquery = \"work\"\n%s", command(t, "./probed", "append", "effects.txt", fmt.Sprint("step-", i)))
	}
	script.WriteString("[[turn]]\nquery = \"work\"\ntext = \"Worked.\"\n[[turn]]\nquery = \"rest\"\ntext = \"Rested.\"\n")
	p.serve(script.String())
	job := p.job()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))

	kept, left := []byte(nil), 0
	for round := range killRounds {
		args := []string{"--continue-job", job}
		if len(kept) == 0 {
			args = []string{"worker", "work", "--job-id", job}
		}
		// Some time after the start, when nothing may have been printed yet; after a line;
		// after a call of a tool was recorded.
		var now []byte
		switch round % 3 {
		case 0:
			now = p.startAndKill(job, args, func(*started) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(chance.IntN(2500))*time.Millisecond)
				defer cancel()
				<-ctx.Done()
			})
		case 1:
			now = p.startAndKill(job, args, func(s *started) { s.await("\n", 1+chance.IntN(40)) })
		case 2:
			now = p.startAndKill(job, args, func(s *started) { s.await(`"type":"callTools"`, 1+chance.IntN(4)) })
		}
		if !bytes.HasPrefix(now, kept) {
			t.Fatalf("round %d: a recorded event was lost or changed", round)
		}
		kept = now
		objects := leftovers(t, jobLabel(job))
		t.Logf("round %d: %d records, %d objects on the daemon", round, bytes.Count(kept, []byte("\n")), len(objects))
		left += len(objects)
	}
	if len(kept) == 0 {
		t.Error("nothing was recorded before the last run")
	}
	if left == 0 {
		t.Error("no kill left anything on the daemon: nothing was there to be removed")
	}
	last := p.run("--continue-job", job)
	if last.code != 0 && !strings.Contains(last.stderr, "is completed") {
		t.Fatalf("exit code %d\n%s", last.code, last.stderr)
	}
	// A job that is completed is not run again. Whatever runs next cleans up.
	p.run("worker", "rest", "--job-id", p.job()).must(t, 0)
	if left := leftovers(t, jobLabel(job)); len(left) > 0 {
		t.Errorf("left behind: %s", strings.Join(left, "; "))
	}
	p.perstack("log", job, "--verify").must(t, 0)
	if final := p.journal(job); !bytes.HasPrefix(final, kept) {
		t.Error("a recorded event was lost or changed")
	}
	ran := map[string]int{}
	for _, line := range strings.Fields(string(p.read("effects.txt"))) {
		if ran[line]++; ran[line] > 1 {
			t.Errorf("command %s ran twice", line)
		}
	}
	if len(ran) < killSteps-1-killRounds { // one that was running is not run again
		t.Errorf("only %d commands ran", len(ran))
	}
}

// startAndKill runs perstack and kills it when a function returns. It returns what the
// journal then has.
func (p *project) startAndKill(job string, args []string, until func(*started)) []byte {
	p.t.Helper()
	s := p.start(args...)
	until(s)
	_ = s.Process.Kill() // it may have ended before its time
	_ = s.Wait()
	data := p.journal(job)
	return data[:bytes.LastIndexByte(data, '\n')+1] // a line that was torn off is not recorded
}

// journal is the history of a job as it is on the disk; nothing if there is none yet.
func (p *project) journal(job string) []byte {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(history.Of(p.t, p.dir), "jobs", job, "journal.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return data
}
