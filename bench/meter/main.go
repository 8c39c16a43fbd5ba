//go:build unix

// Command meter runs a program, reads and drops its output, and prints what it used: CPU
// in nanoseconds, peak memory in kilobytes, exit code, time in nanoseconds.
//
// It exists because Linux counts the memory of the process that starts a program as that
// program's own peak, and the benchmark itself is large.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	cmd := exec.CommandContext(context.Background(), os.Args[1], os.Args[2:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// io.Discard alone would be the null device: a reader makes it a pipe, as in a script.
	cmd.Stdout = struct{ io.Writer }{io.Discard}
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "meter:", err)
		os.Exit(1)
	}
	os.Stderr.Write(stderr.Bytes())
	state := cmd.ProcessState
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Fprintln(os.Stderr, "meter: this system does not say what a process used")
		os.Exit(1)
	}
	fmt.Println(int64(state.UserTime()+state.SystemTime()), usage.Maxrss, state.ExitCode(), int64(took))
}
