//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
)

// The calls of one tool are counted in a few windows. The best of them counts: whatever
// else the machine does can only slow them down.
const (
	windows = 5
	window  = 60 * time.Millisecond
)

// A task is one tool with arguments for its n-th call. What it needs to find is made
// beforehand, and not counted.
type task struct {
	tool    string
	args    func(n int) string
	prepare func(n int) error
}

// tools counts the calls a second of each file tool in process, and of some through
// perstack mcp base, on files of 10 KB four directories down.
func tools(ctx context.Context, dir string, p programs) ([]figure, error) {
	root := filepath.Join(dir, "files")
	tasks, err := fileTasks(root)
	if err != nil {
		return nil, err
	}
	files, err := workspace.Open(root, workspace.Options{})
	if err != nil {
		return nil, err
	}
	defer files.Close()
	direct, err := rates(tasks, inProcess(ctx, base.New(base.Options{Workspace: files})))
	if err != nil {
		return nil, err
	}
	var all []figure
	for _, t := range tasks {
		all = append(all, figure{name: t.tool + " in process, calls a second", value: direct[t.tool], format: "%.0f"})
	}
	served, err := overStdio(ctx, root, p, tasks, "readTextFile", "writeTextFile", "listDirectory")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"readTextFile", "writeTextFile", "listDirectory"} {
		all = append(all, figure{name: name + " over stdio, calls a second", value: served[name], format: "%.0f"})
	}
	return append(all, figure{"time of readTextFile over stdio, to in process", direct["readTextFile"] / served["readTextFile"], 10, "%.1f"}), nil
}

// fileTasks makes a workspace and a task for each file tool.
func fileTasks(root string) ([]task, error) {
	deep := filepath.Join(root, "a", "b", "c", "d")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		return nil, err
	}
	line := "A line of text as people write it, of some length, seventy-two in all.\n"
	text := strings.Repeat(line, 10_000/len(line)+1)[:10_000]
	encoded := strings.ReplaceAll(text, "\n", `\n`)
	write := func(name, content string) error {
		return os.WriteFile(filepath.Join(deep, name), []byte(content), 0o644)
	}
	for name, content := range map[string]string{
		"text.txt": text, "edit0.txt": "mark 0\n" + text, "move0.txt": text,
		"picture.png": "\x89PNG\r\n\x1a\n" + text, "paper.pdf": "%PDF-1.4\n" + text,
	} {
		if err := write(name, content); err != nil {
			return nil, err
		}
	}
	for i := range 100 {
		if err := write(fmt.Sprintf("entry%02d.txt", i), ""); err != nil {
			return nil, err
		}
	}
	fixed := func(args string) func(int) string { return func(int) string { return args } }
	nth := func(format string) func(int) string { return func(n int) string { return fmt.Sprintf(format, n, n+1) } }
	return []task{
		{tool: "readTextFile", args: fixed(`{"path":"a/b/c/d/text.txt"}`)},
		{tool: "writeTextFile", args: fixed(`{"path":"a/b/c/d/new.txt","text":"` + encoded + `"}`)},
		{tool: "listDirectory", args: fixed(`{"path":"a/b/c/d"}`)},
		{tool: "getFileInfo", args: fixed(`{"path":"a/b/c/d/text.txt"}`)},
		{tool: "readImageFile", args: fixed(`{"path":"a/b/c/d/picture.png"}`)},
		{tool: "readPdfFile", args: fixed(`{"path":"a/b/c/d/paper.pdf"}`)},
		{tool: "appendTextFile", args: fixed(`{"path":"a/b/c/d/grow.txt","text":"one more line\n"}`), prepare: func(int) error { return write("grow.txt", text) }},
		{tool: "editTextFile", args: nth(`{"path":"a/b/c/d/edit0.txt","oldText":"mark %d\n","newText":"mark %d\n"}`)},
		{tool: "moveFile", args: nth(`{"source":"a/b/c/d/move%d.txt","destination":"a/b/c/d/move%d.txt"}`)},
		{tool: "deleteFile", args: fixed(`{"path":"a/b/c/d/gone.txt"}`), prepare: func(int) error { return write("gone.txt", text) }},
		{tool: "createDirectory", args: func(n int) string { return fmt.Sprintf(`{"path":"a/b/c/made/%d"}`, n) }},
		{tool: "deleteDirectory", args: fixed(`{"path":"a/b/c/empty"}`), prepare: func(int) error { return os.Mkdir(filepath.Join(root, "a", "b", "c", "empty"), 0o755) }},
	}, nil
}

// rates returns the calls a second of each task.
func rates(tasks []task, call func(tool, args string) error) (map[string]float64, error) {
	all := make(map[string]float64)
	for _, t := range tasks {
		n := 0
		for range windows {
			var spent time.Duration
			first := n
			for ; spent < window; n++ {
				took, err := t.timed(n, call)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", t.tool, err)
				}
				spent += took
			}
			all[t.tool] = max(all[t.tool], float64(n-first)/spent.Seconds())
		}
	}
	return all, nil
}

// timed makes the n-th call.
func (t task) timed(n int, call func(tool, args string) error) (time.Duration, error) {
	if t.prepare != nil {
		if err := t.prepare(n); err != nil {
			return 0, err
		}
	}
	args := t.args(n)
	began := time.Now()
	err := call(t.tool, args)
	return time.Since(began), err
}

func inProcess(ctx context.Context, s *base.Skill) func(tool, args string) error {
	return func(tool, args string) error {
		r, err := s.Call(ctx, event.ToolCall{ID: "1", ToolName: tool, Args: rawjson.Value(args)})
		if err == nil && r.IsError {
			err = errors.New(r.ErrorText())
		}
		return err
	}
}

// overStdio measures the named tasks as round trips to perstack mcp base.
func overStdio(ctx context.Context, root string, p programs, tasks []task, names ...string) (map[string]float64, error) {
	cmd := exec.CommandContext(ctx, p.perstack, "mcp", "base")
	cmd.Dir, cmd.Stderr = root, io.Discard
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	answers := bufio.NewReader(out)
	ask := func(request string) (string, error) {
		if _, err := io.WriteString(in, request+"\n"); err != nil {
			return "", err
		}
		return answers.ReadString('\n')
	}
	if _, err := ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`); err != nil {
		return nil, err
	}
	var some []task
	for _, t := range tasks {
		for _, name := range names {
			if t.tool == name {
				some = append(some, t)
			}
		}
	}
	all, err := rates(some, func(tool, args string) error {
		answer, err := ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`)
		if err == nil && (strings.Contains(answer, `"isError":true`) || !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":1,"result":`)) {
			err = fmt.Errorf("the server says %s", answer)
		}
		return err
	})
	return all, errors.Join(err, in.Close(), cmd.Wait())
}
