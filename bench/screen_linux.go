package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/store/file"
)

const (
	storedJobs = 10_000
	oneRow     = 1
	fewRows    = 100
	manyRows   = 10_000
	manyTokens = 10_000
	fewTokens  = 100
)

// screen measures perstack start: how soon something is drawn with many jobs stored, what a token
// costs that is streamed below few rows and below many, and what pages and memory of many rows cost.
func screen(ctx context.Context, dir string, p programs) ([]figure, error) {
	beside := filepath.Dir(dir) // outside of the workspace, whose files are stored
	history, err := manyJobs(ctx, filepath.Join(beside, "screen"))
	if err != nil {
		return nil, err
	}
	start := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, p.perstack, append([]string{"start", "--yes", "--trust-history", "--max-steps", "1000000"}, args...)...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}
		return cmd
	}
	times := [3]time.Duration{time.Hour, time.Hour, time.Hour} // version, first paint, the newest jobs
	for range 20 {
		version, err := p.measured(ctx, 1, 0, func() *exec.Cmd { return exec.CommandContext(ctx, p.perstack, "--version") })
		if err != nil {
			return nil, err
		}
		shown, err := onScreen(start(storageFlag, history), step{after: "History"}, step{"completed", leave})
		if err != nil {
			return nil, fmt.Errorf("the history of %d jobs: %w", storedJobs, err)
		}
		for i, t := range []time.Duration{version.elapsed, shown.times[0], shown.times[1]} {
			times[i] = min(times[i], t)
		}
	}
	figures := []figure{
		{"screen: first paint with 10,000 jobs, to perstack --version", times[1].Seconds() / times[0].Seconds(), 6, "%.1f"},
		{"screen: the newest of 10,000 jobs are shown, to perstack --version", times[2].Seconds() / times[0].Seconds(), 0, "%.1f"},
	}
	rows, err := rowCosts(ctx, beside, start)
	return append(figures, rows...), err
}

// rowCosts measures jobs with one row, with few and with many.
func rowCosts(ctx context.Context, dir string, start func(...string) *exec.Cmd) ([]figure, error) {
	costs := make(map[int]rowCost)
	for _, rows := range []int{oneRow, fewRows, manyRows} {
		history := filepath.Join(dir, fmt.Sprintf("rows-%d", rows))
		if err := drive(ctx, history, rows, func() {}); err != nil {
			return nil, err
		}
		var err error
		if costs[rows], err = measureRows(history, start); err != nil {
			return nil, fmt.Errorf("%d rows: %w", rows, err)
		}
	}
	one, few, many := costs[oneRow], costs[fewRows], costs[manyRows]
	return []figure{
		{"screen: CPU of a streamed token below 10,000 rows, to below 1", float64(many.token) / float64(one.token), 1.25, "%.2f"},
		{"screen: CPU of a page of 10,000 rows, to one of 100", float64(many.page) / float64(few.page), 1.25, "%.2f"},
		{"screen: memory with 10,000 rows, to 1", many.peak / one.peak, 2, "%.2f"},
		{"screen: CPU of a streamed token below 10,000 rows, µs", float64(many.token.Microseconds()), 0, "%.0f"},
		{"screen: CPU of a page of 10,000 rows, µs", float64(many.page.Microseconds()), 0, "%.0f"},
		{"screen: memory with 10,000 rows, MB", many.peak, 0, "%.0f"},
	}, nil
}

// A rowCost is what a job with some rows costs on the screen.
type rowCost struct {
	token, page time.Duration // CPU
	peak        float64       // memory in MB
}

// measureRows returns the smallest costs of some rounds: whatever else the machine does can only add to
// them.
func measureRows(history string, start func(...string) *exec.Cmd) (least rowCost, err error) {
	for round := range 3 {
		c, err := lookAndStream(history, start, round)
		if err != nil {
			return least, err
		}
		if round == 0 {
			least = c
		}
		least = rowCost{min(least.token, c.token), min(least.page, c.page), min(least.peak, c.peak)}
	}
	return least, nil
}

// lookAndStream opens a job and pages through it, and then streams answers below it.
func lookAndStream(history string, start func(...string) *exec.Cmd, round int) (c rowCost, err error) {
	const pages = 1000
	// Answers end with a mark that was never drawn before. What has more characters can be drawn in parts.
	mark := func(n int) string { return string(rune('①' + 4*round + n)) }
	looked, err := onScreen(start(storageFlag, history, "--continue-job", "long"),
		step{"completed", mark(0)},
		step{mark(0), strings.Repeat(pageUp+pageDown, pages/2) + mark(1)},
		step{mark(1), leave + "\x03"}) // the first one clears the input
	if err != nil {
		return c, err
	}
	url, stop, err := serve(answer("brief", fewTokens, mark(2)) + answer("long", manyTokens, mark(3)))
	if err != nil {
		return c, err
	}
	defer stop()
	cmd := start(storageFlag, history, "--continue-job", "long")
	cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY="+llm.Key)
	// In one process: what it takes to read the job and to send it does not count.
	streamed, err := onScreen(cmd, step{"completed", "brief\r"}, step{mark(2), "long\r"}, step{mark(3), leave})
	if err != nil {
		return c, err
	}
	brief, long := streamed.used[1].cpu-streamed.used[0].cpu, streamed.used[2].cpu-streamed.used[1].cpu
	return rowCost{
		token: (long - brief) / (manyTokens - fewTokens),
		page:  (looked.used[2].cpu - looked.used[1].cpu) / pages,
		peak:  looked.used[2].peak,
	}, nil
}

// answer is a turn for a query, of so many tokens and a mark.
func answer(query string, tokens int, end string) string {
	const each = 50
	paragraph := strings.Repeat("so ", each) + "\n\n"
	return fmt.Sprintf("[[turn]]\ncontains = %q\neventDelay = \"100us\"\ntext = %q\n", query, strings.Repeat(paragraph, tokens/each)+end)
}

// Keys. Ctrl-C clears the input, and then leaves.
const (
	leave    = "\x03\x03"
	pageUp   = "\x1b[5~"
	pageDown = "\x1b[6~"
)

// A step is what is typed when a text was drawn.
type step struct{ after, keys string }

// shown is what a program used that was on a terminal.
type shown struct {
	times []time.Duration // when the text of each step was drawn, from the start
	used  []usage         // up to then
}

// onScreen runs a program on a terminal of 80 columns and 24 rows until it ends.
func onScreen(cmd *exec.Cmd, steps ...step) (s shown, err error) {
	screen, keyboard, err := testkit.OpenTerminal()
	if err != nil {
		return s, err
	}
	defer screen.Close()
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 24}); err != nil {
		return s, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = keyboard, keyboard, keyboard
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	begin := time.Now()
	err = cmd.Start()
	keyboard.Close()
	if err != nil {
		return s, err
	}
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop() // it would wait for ever for a text
	var out bytes.Buffer
	seen, chunk, rest := 0, make([]byte, 64<<10), steps
	for {
		n, err := screen.Read(chunk)
		out.Write(chunk[:n])
		for len(rest) > 0 {
			i := bytes.Index(out.Bytes()[seen:], []byte(rest[0].after))
			if i < 0 {
				break
			}
			seen += i + len(rest[0].after)
			s.times = append(s.times, time.Since(begin))
			used, err := usageOf(cmd.Process.Pid)
			if err == nil {
				_, err = screen.WriteString(rest[0].keys)
			}
			if err != nil {
				return s, err
			}
			s.used, rest = append(s.used, used), rest[1:]
		}
		if errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF) { // the last writer is gone
			break
		}
		if err != nil {
			return s, err
		}
	}
	if err := cmd.Wait(); err != nil || len(rest) > 0 {
		return s, fmt.Errorf("%s: %w, with %d steps left\n%s", cmd, err, len(rest), out.Bytes())
	}
	return s, nil
}

// usage is what the processes of a group have used so far: the program and its guard.
type usage struct {
	cpu  time.Duration
	peak float64 // memory of the larger one in MB
}

func usageOf(group int) (u usage, err error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return u, err
	}
	for _, dir := range processes {
		stat, err1 := os.ReadFile(filepath.Join(dir, "stat"))
		status, err2 := os.ReadFile(filepath.Join(dir, "status"))
		if err1 != nil || err2 != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 || fields[2] != strconv.Itoa(group) {
			continue
		}
		for _, ticks := range fields[11:13] {
			n, err := strconv.Atoi(ticks)
			if err != nil {
				return u, err
			}
			u.cpu += time.Duration(n) * 10 * time.Millisecond
		}
		// What wait tells would be the memory of this program, if it has more.
		_, rest, _ = strings.Cut(string(status), "VmHWM:")
		var kilobytes float64
		if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
			return u, fmt.Errorf("the peak memory of %s: %w", dir, err)
		}
		u.peak = max(u.peak, kilobytes/1024)
	}
	return u, nil
}

// manyJobs returns a history with many jobs.
func manyJobs(ctx context.Context, dir string) (string, error) {
	s := file.New(dir, nil)
	bench := &expert.Expert{Key: "bench", Name: "bench", Instruction: "Work."}
	for i := range storedJobs {
		parts := engine.Parts{Model: caller{0}, Store: s, Lean: true}
		if _, err := engine.Execute(ctx, spec(fmt.Sprintf("job%05d", i), bench, 1), parts, only(noop{})); err != nil {
			return "", err
		}
	}
	return dir, nil
}
