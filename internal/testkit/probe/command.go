package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Command is the program probed:
//
//	probed run CONFIG    runs the rows of a config and writes the results
//	probed mcp CONFIG    is a skill with one tool, probe, that does the same
//	probed mcp CONFIG FILE TEXT   adds a line to a file when it starts, before any call, and is that skill
//	probed linger [FILE] waits and ends; the file is there while it does
//	probed hold HOST MINE OTHER   asks a host for a page, makes a file and keeps the tunnel
//	                     open until another file is there
//	probed multiply            starts copies of itself without end
//	probed eat MIB             takes so much memory
//	probed fill FILE MIB       writes so much to a file, and waits
//	probed keep HOW FILE MIB   takes so much of the disk with files, named or nameless, keeps them
//	                           for some seconds, and says so
//	probed append FILE TEXT    adds a line to a file: an effect that can be counted
func Command(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "run":
		summary, err := runFile(ctx, args[1])
		fmt.Println(summary)
		return err
	case len(args) == 2 && args[0] == "mcp":
		return serve(ctx, args[1])
	case len(args) == 4 && args[0] == "mcp":
		return errors.Join(appendLine(args[2], args[3]), serve(ctx, args[1]))
	case len(args) == 1 && args[0] == "multiply":
		Multiply(ctx)
		return nil
	case len(args) == 1 && args[0] == "linger":
		Linger()
		return nil
	case len(args) == 2 && args[0] == "linger":
		if err := os.WriteFile(args[1], nil, 0o644); err != nil {
			return err
		}
		for range 6 {
			Linger()
		}
		return os.Remove(args[1])
	case len(args) == 4 && args[0] == "hold":
		return hold(ctx, args[1], args[2], args[3])
	case len(args) == 2 && args[0] == "await":
		return await(ctx, args[1])
	case len(args) == 2 && args[0] == "eat":
		return eat(args[1])
	case len(args) == 3 && args[0] == "fill":
		return fill(args[1], args[2])
	case len(args) == 4 && args[0] == "keep":
		return keep(ctx, args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "append":
		return appendLine(args[1], args[2])
	}
	return errors.New("usage: probed run CONFIG | mcp CONFIG [FILE TEXT] | linger [FILE] | hold HOST MINE OTHER | await FILE | eat MIB | fill FILE MIB | keep HOW FILE MIB | append FILE TEXT")
}

// runFile runs the rows of a config file. The results go to a file, the summary to
// the caller.
func runFile(ctx context.Context, name string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	var c Config
	if err := json.Unmarshal(data, &c); err != nil {
		return "", err
	}
	p := &Probe{Config: c, Environ: os.Environ()}
	rows := Rows(c)
	results := p.Run(ctx, rows)
	held := 0
	for i, row := range rows {
		if row.Holds(results[i]) {
			held++
		}
	}
	out, err := json.Marshal(results)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("phase %s: %d rows, %d as wanted by %s in %s", c.Phase, len(rows), held, c.Group, c.Phase), os.WriteFile(c.Out, out, 0o644)
}

// serve is a skill on the standard streams.
func serve(ctx context.Context, name string) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "probed", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "probe", Description: "tries what a skill must not do"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		summary, err := runFile(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: summary}}}, nil, nil
	})
	return server.Run(ctx, &mcp.StdioTransport{})
}

// hold keeps a tunnel open.
func hold(ctx context.Context, host, mine, other string) error {
	p := &Probe{Environ: os.Environ()}
	t, err := p.say(ctx, connect(host+":443"))
	if err != nil {
		return err
	}
	defer t.Close()
	conn := tls.Client(t, &tls.Config{ServerName: host, InsecureSkipVerify: true}) //nolint:gosec // it counts that somebody answers
	if _, err := fmt.Fprintf(conn, "GET /hold HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
		return err
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return err
	}
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		return err
	}
	return await(ctx, other)
}

// await waits until a file is there.
func await(ctx context.Context, name string) error {
	for {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// eat takes memory, and uses it.
func eat(text string) error {
	var mib int
	if _, err := fmt.Sscan(text, &mib); err != nil {
		return err
	}
	var kept [][]byte
	for range mib {
		page := make([]byte, 1<<20)
		for i := 0; i < len(page); i += 512 {
			page[i] = 1
		}
		kept = append(kept, page)
	}
	fmt.Println("ate", len(kept), "MiB")
	return nil
}

// fill writes a file, and runs until it is ended.
func fill(name, text string) error {
	var mib int
	if _, err := fmt.Sscan(text, &mib); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	for range mib {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			f.Close()
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	for range 6 {
		Linger()
	}
	return nil
}

func appendLine(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text + "\n"); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
