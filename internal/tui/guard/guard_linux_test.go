package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// directory is set for a process that is the program under test: where it writes what it does.
const directory = "PERSTACK_TEST_GUARDED"

// look is set for a process that only says whether it has a guard, and what is left in the socket.
const look = "PERSTACK_TEST_LOOK"

func lookAtDescriptor() {
	_, ok := inherited()
	left := make([]byte, 100)
	n, _, _ := unix.Recvfrom(linkFD, left, unix.MSG_DONTWAIT)
	fmt.Printf("%t %q", ok, left[:max(0, n)])
}

func TestMain(m *testing.M) {
	screen.Init()
	if os.Getenv(look) != "" {
		lookAtDescriptor()
		os.Exit(0)
	}
	if os.Getenv(directory) != "" {
		os.Exit(program())
	}
	os.Exit(m.Run())
}

// program is a command with a full-screen program, as main runs it.
func program() int {
	ctx, stop := process.Interruptible(context.Background(), os.Stderr, func() bool { return true })
	defer stop()
	code, err := Run(ctx, Options{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Hint: "nothing is known of a job",
	}, fullScreen)
	if s, ok := errors.AsType[process.Signal](err); ok {
		return s.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// everything is what a full-screen program can switch on.
const everything = "\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[?2004h\x1b[?2027h\x1b[>4;2m\x1b[>1u\x1b[4 q\x1b[31;7m"

// fullScreen does what the key says that is typed.
func fullScreen(ctx context.Context, hint func(string)) error {
	before, err := term.MakeRaw(0)
	if err != nil {
		return err
	}
	hint("continue with\nthe job")
	leaveScreen := func() {
		fmt.Print(leave)
		_ = term.Restore(0, before)
	}
	show := func() { fmt.Printf("%s\x1b[H\x1b[2Jpid %d of %d\r\n", everything, os.Getpid(), os.Getppid()) }
	show()
	keys := make(chan byte)
	go func() {
		for key := make([]byte, 1); ; {
			if n, err := os.Stdin.Read(key); n == 0 || err != nil {
				return
			}
			keys <- key[0]
			if key[0] == 'd' {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			leaveScreen()
			if err := os.WriteFile(filepath.Join(os.Getenv(directory), "saved"), []byte(context.Cause(ctx).Error()), 0o600); err != nil {
				return err
			}
			return context.Cause(ctx)
		case key := <-keys:
			switch key {
			case 'q':
				leaveScreen()
				return nil
			case 'f':
				leaveScreen()
				return errors.New("it failed")
			case 'd': // no further key is read
				fmt.Print("deaf")
			case 'x':
				os.Exit(3)
			case 'p':
				go panic("a mistake \x1b[31m")
			case 'c': // a program that it starts gets nothing of the guard
				link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", linkFD))
				if err != nil {
					return err
				}
				out, err := exec.Command("sh", "-c", "ls -l /proc/self/fd; env").CombinedOutput()
				fmt.Printf("link %s, %v, %s end of the list\r\n", link, err, strings.ReplaceAll(string(out), "\n", " "))
			case 'z': // as the library does it
				leaveScreen()
				continued := make(chan os.Signal, 1)
				signal.Notify(continued, unix.SIGCONT)
				_ = unix.Kill(0, unix.SIGTSTP)
				<-continued
				if before, err = term.MakeRaw(0); err != nil {
					return err
				}
				show()
				fmt.Print("again\r\n")
			}
		}
	}
}

// command returns the program under test, and the directory where it writes.
func command(t *testing.T) (cmd *exec.Cmd, dir string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	cmd = exec.Command(path)
	cmd.Env = screen.Environ(directory + "=" + dir)
	return cmd, dir
}

func start(t *testing.T) (term *screen.Terminal, child int, dir string) {
	t.Helper()
	cmd, dir := command(t)
	term = screen.Start(t, cmd, 100, 30)
	term.WaitForStart()
	return term, childOf(t, term), dir
}

var pids = regexp.MustCompile(`pid (\d+) of (\d+)`)

// childOf waits until the program is on the screen, and returns its process number.
func childOf(t *testing.T, d screen.Driver) int {
	t.Helper()
	s := d.WaitForText("pid ")
	if !s.AltScreen || s.CursorVisible || !s.Mouse {
		t.Errorf("the program does not use the screen:\n%v", s)
	}
	pid, err := strconv.Atoi(pids.FindStringSubmatch(s.Line("pid "))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if pid == 0 {
		t.Fatal("the number of the process is not known") // 0 would mean this process and what started it
	}
	if err := unix.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// A program that ends in order decides on the exit code, and the guard writes nothing.
func TestInOrder(t *testing.T) {
	for key, want := range map[string]struct {
		code int
		text string
	}{"q": {0, ""}, "f": {1, "it failed"}} {
		t.Run(key, func(t *testing.T) {
			term, child, _ := start(t)
			if guard := term.Pid(); guard == child {
				t.Error("there is no guard")
			}
			term.Send(key)
			if code, killed := term.WaitRestored(); code != want.code || killed != 0 {
				t.Errorf("exit code %d, %v", code, killed)
			}
			if got := term.Screen().Text(); got != want.text {
				t.Errorf("%q, want %q", got, want.text)
			}
			if strings.Count(term.Output(), leave) != 1 {
				t.Error("the guard has written to the screen")
			}
		})
	}
}

// Whatever ends the program, the terminal is as it was, and the user is told.
func TestDeaths(t *testing.T) {
	for name, test := range map[string]struct {
		act  func(t *testing.T, term *screen.Terminal, child int)
		code int
		says []string
	}{
		"kill -9": {
			act:  func(t *testing.T, _ *screen.Terminal, child int) { kill(t, child, unix.SIGKILL) },
			code: 137, says: []string{"perstack: the full-screen program was killed (SIGKILL); continue with the job"},
		},
		"a fault": {
			act:  func(t *testing.T, _ *screen.Terminal, child int) { kill(t, child, unix.SIGQUIT) },
			code: 134, says: []string{"perstack: the full-screen program crashed; continue with the job"},
		},
		"a panic": {
			act:  func(_ *testing.T, term *screen.Terminal, _ int) { term.Send("p") },
			code: 134, says: []string{"panic: a mistake", "guard_linux_test.go", "perstack: the full-screen program crashed; continue with the job"},
		},
		"an exit": {
			act:  func(_ *testing.T, term *screen.Terminal, _ int) { term.Send("x") },
			code: 3, says: []string{"perstack: the full-screen program ended at once (exit code 3); continue with the job"},
		},
		"keys that were not read": {
			act: func(t *testing.T, term *screen.Terminal, child int) {
				term.Send("d")
				term.WaitForText("deaf")
				term.Send("rm -r everything\r")
				until(t, "the keys have arrived", func() bool { return waiting(t, term) == len("rm -r everything\r") })
				kill(t, child, unix.SIGKILL)
			},
			code: 137, says: []string{"SIGKILL"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			term, child, _ := start(t)
			test.act(t, term, child)
			code, killed := term.WaitRestored()
			if code != test.code || killed != 0 {
				t.Errorf("exit code %d, %v, want %d", code, killed, test.code)
			}
			for _, text := range test.says {
				if !term.Screen().Contains(text) {
					t.Errorf("the screen does not say %q:\n%v", text, term.Screen())
				}
			}
			if lines := term.Screen().Lines(); name == "kill -9" && strings.TrimSpace(strings.Join(lines, "")) != test.says[0] {
				t.Errorf("more than one line is said:\n%v", term.Screen())
			}
			if strings.Contains(term.Screen().Styled(), "‹") {
				t.Errorf("attributes are left, or were printed:\n%s", term.Screen().Styled())
			}
			if n := waiting(t, term); n != 0 {
				t.Errorf("the shell would read %d characters that were typed before", n)
			}
		})
	}
}

// waiting returns how many characters a shell would read.
func waiting(t *testing.T, term *screen.Terminal) (n int) {
	t.Helper()
	tty, err := os.OpenFile(term.TTY(), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if n, err = unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ); err != nil {
		t.Fatal(err)
	}
	return n
}

// Signals that ask to end reach the program, whether the guard gets them or both.
func TestForwards(t *testing.T) {
	for name, test := range map[string]struct {
		signal syscall.Signal
		group  bool
		code   int
	}{
		"SIGTERM":          {unix.SIGTERM, false, 143},
		"SIGHUP":           {unix.SIGHUP, false, 129},
		"SIGINT":           {unix.SIGINT, false, 130},
		"SIGTERM for both": {unix.SIGTERM, true, 143},
		"SIGINT for both":  {unix.SIGINT, true, 130},
	} {
		t.Run(name, func(t *testing.T) {
			term, _, dir := start(t)
			to := term.Pid()
			if test.group {
				to = -to
			}
			kill(t, to, test.signal)
			if code, killed := term.WaitRestored(); code != test.code || killed != 0 {
				t.Errorf("exit code %d, %v, want %d", code, killed, test.code)
			}
			checkSaved(t, dir, test.signal)
			if strings.Contains(term.Screen().Text(), "the full-screen program") {
				t.Errorf("the guard complains:\n%v", term.Screen())
			}
		})
	}
}

func checkSaved(t *testing.T, dir string, why syscall.Signal) {
	t.Helper()
	saved, err := os.ReadFile(filepath.Join(dir, "saved"))
	if err != nil || string(saved) != (process.Signal{Signal: why}).Error() {
		t.Errorf("saved because of %q, %v; want %v", saved, err, why)
	}
}

// Other signals do not end the guard.
func TestShield(t *testing.T) {
	term, _, _ := start(t)
	for _, s := range []syscall.Signal{unix.SIGQUIT, unix.SIGABRT, unix.SIGSEGV, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM} {
		kill(t, term.Pid(), s)
	}
	term.Send("q")
	if code, killed := term.WaitRestored(); code != 0 || killed != 0 {
		t.Errorf("exit code %d, %v", code, killed)
	}
}

// A terminal that is closed ends both, saved.
func TestHangUp(t *testing.T) {
	term, child, dir := start(t)
	term.HangUp()
	if code, killed := term.Wait(); code != 129 || killed != 0 {
		t.Errorf("exit code %d, %v", code, killed)
	}
	waitGone(t, child)
	checkSaved(t, dir, unix.SIGHUP)
}

// until waits for what nothing announces.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.After(time.Minute); !holds(); {
		select {
		case <-late:
			t.Fatal("not within a minute: " + what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	until(t, fmt.Sprintf("process %d has ended", pid), func() bool { return unix.Kill(pid, 0) != nil })
}

// stopped reports whether all threads of a process are stopped: proc_pid_stat(5), after the name.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range threads {
		stat, failed := os.ReadFile(path)
		err = errors.Join(err, failed)
		if _, rest, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads of %d: %v", pid, err)
	}
	return true
}

// A program whose guard was killed leaves the screen and saves.
func TestGuardKilled(t *testing.T) {
	for _, stop := range []bool{false, true} {
		t.Run(fmt.Sprintf("stopped %t", stop), func(t *testing.T) {
			term, child, dir := start(t)
			if stop {
				kill(t, child, unix.SIGSTOP)
				until(t, "the program is stopped", func() bool { return stopped(t, child) })
			}
			kill(t, term.Pid(), unix.SIGKILL)
			if _, killed := term.Wait(); killed != unix.SIGKILL {
				t.Errorf("ended by %v", killed)
			}
			waitGone(t, child)
			checkSaved(t, dir, unix.SIGHUP)
			until(t, "the screen is left", func() bool { return !term.Screen().AltScreen })
			term.CheckRestored()
		})
	}
}

// Both stop together and continue together.
func TestSuspend(t *testing.T) {
	term, child, _ := start(t)
	for range 3 {
		term.Send("z")
		if stop := term.WaitForStop(); stop != unix.SIGSTOP {
			t.Errorf("stopped by %v", stop)
		}
		term.WaitFor("the screen is left", func(s screen.Screen) bool { return !s.AltScreen })
		term.CheckRestored()
		term.Continue()
		term.WaitForText("again")
	}
	// A child that is stopped alone takes the guard with it.
	kill(t, child, unix.SIGSTOP)
	term.WaitForStop()
	term.Continue()
	term.Send("z")
	term.WaitForStop()
	term.Continue()
	term.WaitForText("again")
	// It is killed while it is stopped.
	term.Send("z")
	term.WaitForStop()
	kill(t, child, unix.SIGKILL)
	term.Continue()
	if code, killed := term.WaitRestored(); code != 137 || killed != 0 {
		t.Errorf("exit code %d, %v", code, killed)
	}
}

// A program that has no shell cannot be suspended, and does not hang.
func TestNoShell(t *testing.T) {
	cmd, _ := command(t)
	tmux := screen.StartTmuxLeader(t, cmd, 80, 24)
	childOf(t, tmux)
	tmux.Send("z")
	tmux.WaitForText("again")
	tmux.Send("q")
	tmux.WaitForText("Pane is dead (status 0")
}

// In a shell, the program is one job.
func TestShell(t *testing.T) {
	cmd, _ := command(t)
	shell := exec.Command("bash", "--norc", "--noprofile", "-i")
	shell.Env = append(cmd.Env, "PS1=prompt> ", "TEST_PROGRAM="+cmd.Path, "HISTFILE=")
	tmux := screen.StartTmux(t, shell, 120, 20)
	settings := func() string {
		out, err := exec.Command("stty", "-a", "-F", tmux.TTY()).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	prompt := func(after string) {
		t.Helper()
		tmux.WaitFor("the prompt after "+after, func(s screen.Screen) bool {
			lines := strings.Split(s.Text(), "\n")
			return len(lines) > 1 && strings.Contains(lines[len(lines)-2], after) && strings.HasPrefix(lines[len(lines)-1], "prompt>") &&
				!s.AltScreen && s.CursorVisible && !s.Mouse
		})
	}
	tmux.WaitForText("prompt>")
	before := settings()
	tmux.Send("\"$TEST_PROGRAM\"\r")
	childOf(t, tmux)
	tmux.Send("z")
	prompt("Stopped")
	tmux.Send("jobs\r")
	prompt("Stopped")
	tmux.Send("fg\r")
	tmux.WaitForText("again")
	tmux.Send("z")
	prompt("Stopped")
	tmux.Send("fg\r")
	tmux.WaitForText("again")
	kill(t, childOf(t, tmux), unix.SIGKILL)
	prompt("the full-screen program was killed (SIGKILL)")
	tmux.Send("echo code $?\r")
	prompt("code 137")
	tmux.Send("\"$TEST_PROGRAM\"\r")
	childOf(t, tmux)
	tmux.Send("p")
	prompt("the full-screen program crashed")
	if got := settings(); got != before {
		t.Errorf("the shell has other settings: %s, want %s", got, before)
	}
}

// A program that the second process starts gets no variable and no descriptor of the guard.
func TestNothingInherited(t *testing.T) {
	t.Setenv("PERSTACK_TEST_MARK", "1")
	term, _, _ := start(t)
	term.Send("c")
	term.WaitForOutput("end of the list")
	link := regexp.MustCompile(`link (socket:\[\d+\]), <nil>`).FindStringSubmatch(term.Output())
	if link == nil || !strings.Contains(term.Output(), "PERSTACK_TEST_MARK=1") {
		t.Fatalf("%s", term.Output())
	}
	inherited := strings.ReplaceAll(strings.Replace(term.Output(), link[1], "", 1), directory, "")
	if strings.Contains(inherited, link[1]) || regexp.MustCompile(`(?i)guard\w*=`).MatchString(inherited) {
		t.Errorf("a command has the link %s, or a variable: %s", link[1], inherited)
	}
}

// What is at the descriptor by chance is not taken for a guard, and stays as it is.
func TestForeignDescriptor(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"other":            "hello",
		"a guard of other": greeting(1),
		"cut":              greeting(os.Getpid())[:10],
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs, err := pair()
			if err != nil {
				t.Fatal(err)
			}
			defer ours.Close()
			if _, err := ours.WriteString(text); err != nil {
				t.Fatal(err)
			}
			cmd, _ := command(t)
			cmd.ExtraFiles = []*os.File{theirs}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
			cmd.Env = append(cmd.Env, look+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != fmt.Sprintf("%t %q", false, text) {
				t.Errorf("%s, %v", out, err)
			}
			theirs.Close()
		})
	}
}

// A report keeps what the guard needs of what comes, and no more than it can.
func TestRead(t *testing.T) {
	r := read(strings.NewReader(hintPrefix + "one\n" + hintPrefix + "two\npanic: x\n\ngoroutine 1\n" + inOrder + "\n" + strings.Repeat("y", 2*maxTrace)))
	if r.hint != "two" || !r.inOrder || !strings.HasPrefix(string(r.trace), "panic: x\n\ngoroutine 1\n") || len(r.trace) > maxTrace {
		t.Errorf("%q, %t, %d bytes", r.hint, r.inOrder, len(r.trace))
	}
}
