package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/jail"
)

// patience is how long something that must fail is tried.
const patience = 5 * time.Second

func attempt(ctx context.Context, task jail.Task, r *jail.Report) {
	r.Wrote = each(task.Write, func(name string) error {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			name = filepath.Join(name, "written-by-jaild")
		}
		return os.WriteFile(name, []byte("x"), 0o600)
	})
	r.Changed = each(task.Change, func(name string) error {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString("changed")
		return err
	})
	r.Removed = each(task.Remove, os.RemoveAll)
	r.Found = map[string]string{}
	for _, name := range task.Read {
		r.Found[name] = found(name)
	}
	r.Dialled = sideBySide(task.Dial, func(target string) error {
		network, address, _ := strings.Cut(target, " ")
		c, err := dial(ctx, network, address)
		if err != nil {
			return err
		}
		return c.Close()
	})
	r.Connected = map[string]string{}
	for _, c := range task.Connect {
		listener, target, _ := strings.Cut(c, " ")
		r.Connected[c] = connect(ctx, listener, target)
	}
	r.Resolved = sideBySide(task.Resolve, func(name string) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := net.DefaultResolver.LookupHost(ctx, name)
		return err
	})
	if task.Fill != "" {
		r.Filled, r.FillError = fill(task.Fill, task.FillMax)
	}
	for range task.Fork {
		c := exec.CommandContext(ctx, "/proc/self/exe", "wait")
		if _, err := c.StdinPipe(); err != nil { // keeps it alive
			r.ForkError = err.Error()
			break
		}
		if err := c.Start(); err != nil {
			r.ForkError = err.Error()
			break
		}
		r.Forked++
	}
}

func each(names []string, do func(string) error) map[string]string {
	results := map[string]string{}
	for _, name := range names {
		results[name] = ""
		if err := do(name); err != nil {
			results[name] = err.Error()
		}
	}
	return results
}

// sideBySide does what ends by a timeout.
func sideBySide(names []string, do func(string) error) map[string]string {
	results := make(chan map[string]string)
	for _, name := range names {
		go func() { results <- each([]string{name}, do) }()
	}
	all := map[string]string{}
	for range names {
		maps.Copy(all, <-results)
	}
	return all
}

func found(name string) string {
	if entries, err := os.ReadDir(name); err == nil {
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(data)
}

func fill(name string, limit int64) (written int64, failure string) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err.Error()
	}
	defer os.Remove(name)
	defer f.Close()
	block := make([]byte, 64<<10)
	for written < limit {
		n, err := f.Write(block)
		written += int64(n)
		if err != nil {
			return written, err.Error()
		}
	}
	return written, ""
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
}

// connect asks a proxy for a tunnel, and returns the first line of its answer.
func connect(ctx context.Context, listener, target string) string {
	u, err := url.Parse(listener)
	if err != nil {
		return err.Error()
	}
	c, err := dial(ctx, "tcp", u.Host)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target)
	if token, ok := u.User.Password(); ok {
		fmt.Fprintf(c, "Proxy-Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+token)))
	}
	fmt.Fprint(c, "\r\n")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return line
}
