package evil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A Swap is a name that stands for a file or directory at one moment and for a link at
// the next: who checks it and then uses it has checked one and uses the other.
type Swap struct {
	Name   string // absolute; what is there is exchanged with
	Other  string // what is here: a link
	Target string // where the link leads
}

// swapEnv tells a process that it is to swap and not to test.
const swapEnv = "PERSTACK_EVIL_SWAP"

// SwapIfAsked swaps, and does not return, in the process that [StartSwapping] starts.
// A package that uses it calls this first of all in its TestMain.
func SwapIfAsked() {
	order := os.Getenv(swapEnv)
	if order == "" {
		return
	}
	n, swaps, err := parseOrder(order)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	gone := make(chan struct{}) // the parent process, which holds the other end
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // either way it ends with the parent
		close(gone)
	}()
	fmt.Println(swapAll(n, swaps, gone))
	os.Exit(0)
}

// swapAll exchanges each pair n times, or until it is told to stop, and returns how
// often it did all of them.
func swapAll(n int, swaps []Swap, stop <-chan struct{}) (done int) {
	for done < n {
		select {
		case <-stop:
			return done
		default:
		}
		for _, s := range swaps {
			// The tools under test can remove the link, or what it is exchanged with.
			if err := exchange(s.Name, s.Other); err != nil || done%64 == 0 {
				s.restore()
			}
		}
		done++
	}
	return done
}

// restore puts the link back when neither name is one any more.
func (s Swap) restore() {
	if isLink(s.Name) || isLink(s.Other) {
		return
	}
	_ = os.RemoveAll(s.Other) // it follows no link; what cannot be restored now is restored later
	_ = os.Symlink(s.Target, s.Other)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// A Swapper is another process that swaps.
type Swapper struct {
	tb   testing.TB
	in   io.Closer
	done chan struct{}
	out  []byte
	err  error
}

// StartSwapping makes the links and starts another process, which exchanges each pair n
// times. It is the test's own program, so its TestMain must call [SwapIfAsked].
func StartSwapping(tb testing.TB, n int, swaps ...Swap) *Swapper {
	tb.Helper()
	order := []string{strconv.Itoa(n)}
	for _, s := range swaps {
		if err := os.Symlink(s.Target, s.Other); err != nil {
			tb.Fatal(err)
		}
		order = append(order, s.Name, s.Other, s.Target)
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), self) // it ends with its standard input
	cmd.Env = append(os.Environ(), swapEnv+"="+strings.Join(order, "\n"))
	cmd.Dir = filepath.Dir(swaps[0].Name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	s := &Swapper{tb: tb, in: in, done: make(chan struct{})}
	go func() {
		s.out, s.err = cmd.Output()
		close(s.done)
	}()
	tb.Cleanup(func() { s.Stop() })
	return s
}

// Done is closed when the process has ended.
func (s *Swapper) Done() <-chan struct{} { return s.done }

// Stop ends the process, if it still runs, and returns how often it exchanged each pair.
func (s *Swapper) Stop() int {
	s.tb.Helper()
	s.in.Close()
	<-s.done
	n, err := strconv.Atoi(strings.TrimSpace(string(s.out)))
	if s.err != nil || err != nil {
		s.tb.Fatalf("the swapping process: %v; it said %q", errors.Join(s.err, err), s.out)
	}
	return n
}

func parseOrder(order string) (n int, swaps []Swap, err error) {
	parts := strings.Split(order, "\n")
	n, err = strconv.Atoi(parts[0])
	if err != nil || len(parts)%3 != 1 {
		return 0, nil, fmt.Errorf("%s: a number and names by threes are wanted", swapEnv)
	}
	for p := parts[1:]; len(p) > 0; p = p[3:] {
		swaps = append(swaps, Swap{Name: p[0], Other: p[1], Target: p[2]})
	}
	return n, swaps, nil
}
