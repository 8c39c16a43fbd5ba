package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// queueSignals queues signals to a thread of its own that does not take them, until the kernel
// refuses, and returns how many it took. They are gone when free is closed.
func queueSignals(most int, free <-chan struct{}) int {
	queued := make(chan int)
	go func() {
		runtime.LockOSThread() // and ends with the goroutine
		const signal = 64      // the last one, which is queued and not merged
		mask := unix.Sigset_t{}
		mask.Val[0] = 1 << (signal - 1)
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &mask, nil); err != nil {
			queued <- -1
			return
		}
		info := [128 / 4]int32{signal, 0, -1} // SI_QUEUE
		n := 0
		for ; n < most; n++ {
			_, _, errno := unix.Syscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(os.Getpid()), uintptr(unix.Gettid()), signal, uintptr(unsafe.Pointer(&info)), 0, 0)
			if errno != 0 {
				break
			}
		}
		queued <- n
		<-free
	}()
	return <-queued
}

// playResources says which limits it has, and how many signals it can have pending. It keeps them
// until its input ends.
func playResources() int {
	said := []string{}
	for _, resource := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_CORE, unix.RLIMIT_SIGPENDING, unix.RLIMIT_FSIZE} {
		var l unix.Rlimit
		if err := unix.Getrlimit(resource, &l); err != nil {
			return 1
		}
		said = append(said, strconv.FormatInt(int64(l.Max), 10))
	}
	free := make(chan struct{})
	defer close(free)
	fmt.Println(strings.Join(said, " "), queueSignals(5000, free))
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 0
}

// A program is killed before others when memory is short.
func TestKilledFirst(t *testing.T) {
	levels(t, func(t *testing.T, at func(*testing.T, Command) Command) {
		if got := said(t, supervisor(t), at(t, shell(t, `read -r score </proc/self/oom_score_adj; echo $score`))); got != "500" {
			t.Errorf("its score is %q", got)
		}
	})
}

// T21: a program cannot use up the signals that the user's processes can have pending together.
func TestResources(t *testing.T) {
	levels(t, func(t *testing.T, at func(*testing.T, Command) Command) {
		start := func(signals int) (r *ServerProcess, said string) {
			c := at(t, self(t, "resources"))
			c.Policy.Limits.OpenFiles, c.Policy.Limits.Signals, c.Policy.Limits.FileSize = 4096, signals, 1<<30
			r = started(t, supervisor(t), Server(c))
			return r, line(t, r.Stdout)
		}
		outside := func() int { // how many of two signals a process of the user can queue
			free := make(chan struct{})
			defer close(free)
			return queueSignals(2, free)
		}
		// The kernel adds up all signals of the user, and compares them with the limit of the
		// process that queues one. A limit of our own shows what is used without using up all.
		var before unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_SIGPENDING, &before); err != nil {
			t.Fatal(err)
		}
		if before.Max < 6000 {
			t.Skipf("this user can have %d signals pending", before.Max)
		}
		lower := func() {
			if err := unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: 4000, Max: before.Max}); err != nil {
				t.Fatal(err)
			}
		}
		restore := func() {
			if err := unix.Setrlimit(unix.RLIMIT_SIGPENDING, &before); err != nil {
				t.Fatal(err)
			}
		}
		defer restore()

		r, said := start(0)
		if !strings.HasSuffix(said, " 5000") {
			t.Errorf("without a limit it says %s", said)
		}
		lower()
		if n := outside(); n != 0 {
			t.Errorf("without a limit, %d signals can be queued outside", n)
		}
		if err := r.Stop(time.Second); err != nil {
			t.Fatal(err)
		}
		restore()

		_, said = start(1024)
		limits, queued, _ := strings.Cut(said, " 1073741824 ")
		if n, err := strconv.Atoi(queued); limits != "4096 0 1024" || err != nil || n > 1024 {
			t.Errorf("with a limit it says %s", said)
		}
		lower()
		if n := outside(); n != 2 {
			t.Errorf("%d signals can be queued outside", n)
		}
	})
}
