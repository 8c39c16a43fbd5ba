// Command jaild is the program inside a container whose isolation is tested. It tries what a
// hostile program would try, and tells what came of it.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/jail"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "jaild:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: jaild look | wait, or the arguments that a container has")
	}
	if slices.Equal(args, []string{"perstack-in-container", "proxy"}) {
		const real = "/real"
		if _, err := os.Stat(real); err == nil {
			// It is started as it would be without this program.
			return syscall.Exec(real, os.Args, os.Environ())
		}
		return fakeProxy(ctx)
	}
	switch args[0] {
	case "wait": // one of many processes
		_, _ = io.Copy(io.Discard, os.Stdin)
		return nil
	case "look":
		return tell(look())
	}
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no task: %w", err)
	}
	var task jail.Task
	if err := json.Unmarshal(line, &task); err != nil {
		return err
	}
	r := look()
	attempt(ctx, task, &r)
	if err := tell(r); err != nil {
		return err
	}
	if task.Eat > 0 {
		eat(task.Eat)
	}
	if task.Hold {
		_, _ = io.Copy(io.Discard, input)
	}
	os.Exit(task.Exit)
	return nil
}

func tell(r jail.Report) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(data, '\n'))
	return err
}

// eat uses memory, page by page.
func eat(bytes int64) {
	var held [][]byte
	for ; bytes > 0; bytes -= 1 << 20 {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		held = append(held, block)
	}
	fmt.Fprintln(os.Stderr, "jaild: ate", len(held), "MiB")
}
