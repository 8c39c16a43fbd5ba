package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"
)

// tasksPatience is how long all processes together may take to start.
const tasksPatience = 20 * time.Second

// How long something is then used. Some limits are enforced by looking now and then, which takes
// longer on a busy machine.
const (
	stay     = 2 * time.Second
	longStay = 15 * time.Second
)

// stay waits while the process uses what it took.
func (p Process) stay() {
	if slices.Contains(p.Args, Hold) {
		time.Sleep(longStay)
		return
	}
	time.Sleep(stay)
}

// tasks starts processes that wait, until all of them have said that they run.
func tasks(p Process, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	heard, said, err := os.Pipe()
	if err != nil {
		return err
	}
	defer heard.Close()
	var children []*os.Process
	defer func() {
		for _, child := range children {
			_ = child.Kill() // it may have ended
			_, _ = child.Wait()
		}
	}()
	args := append(append([]string{p.Program}, p.Prefix...), NoInput, Say+"=x", Sleep+"=60000")
	for range n {
		child, err := os.StartProcess(p.Program, args, &os.ProcAttr{Env: p.Environ, Files: []*os.File{null, said, null}})
		if err != nil {
			said.Close()
			return err
		}
		children = append(children, child)
	}
	said.Close()
	if err := heard.SetReadDeadline(time.Now().Add(tasksPatience)); err != nil {
		return err
	}
	if got, err := io.ReadFull(heard, make([]byte, n)); err != nil {
		return fmt.Errorf("%d of %d processes ran: %w", got, n, err)
	}
	p.stay()
	return nil
}

// grow makes a file of 2 MiB with nothing in it.
func grow(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte("x"), 2<<20)
	return err
}

// fill keeps 64 MiB of the disk.
func fill(p Process, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		return err
	}
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 64 {
		if _, err := f.Write(chunk); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	p.stay()
	return nil
}

// use keeps so much memory.
func use(p Process, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	const page = 4096
	memory := make([]byte, n)
	for i := 0; i < n; i += page {
		memory[i] = 1
	}
	p.stay()
	for i := 0; i < n; i += page { // so that it is still in use
		if memory[i] != 1 {
			return errors.New("the memory changed")
		}
	}
	return nil
}
