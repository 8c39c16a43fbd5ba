package attack

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Command is the program attackd:
//
//	attackd serve              is a skill: prepare, check, stay and visit for a victim,
//	                           attack and search for a attacker
//	attackd attack OUT TARGET…   attacks, and writes the results to a file
//	attackd search OUT HIDDEN  searches, and writes what it found to a file
//	attackd pair OUT          starts a victim and attacks it, and writes the results to a file
//	attackd wait             waits to be ended
func Command(ctx context.Context, args []string) error {
	given := inherited() // before anything of its own is open
	switch {
	case len(args) == 1 && args[0] == "serve":
		return serve(ctx, given)
	case len(args) > 2 && args[0] == "attack":
		all, err := attackAll(ctx, args[2:])
		return errors.Join(err, save(args[1], all))
	case len(args) == 3 && args[0] == "search":
		found, err := Search(ctx, args[2], given)
		return errors.Join(err, save(args[1], found))
	case len(args) == 2 && args[0] == "pair":
		return pair(ctx, args[1])
	case len(args) == 2 && args[0] == "victim":
		var r victim
		if _, err := r.prepare(ctx, args[1], "host.invalid"); err != nil {
			return err
		}
		time.Sleep(5 * time.Minute)
		return nil
	case len(args) == 1 && args[0] == "wait":
		time.Sleep(5 * time.Minute)
		return nil
	}
	return errors.New("usage: attackd serve | attack OUT TARGET… | search OUT HIDDEN | pair OUT | wait")
}

// pair runs both in one container without a sandbox.
func pair(ctx context.Context, out string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	target := filepath.Join(filepath.Dir(out), "target.json")
	victim := exec.CommandContext(ctx, self, "victim", target)
	victim.Env = append(os.Environ(), "HOME=/tmp/home", "TMPDIR=/tmp/tmp")
	victim.Stderr = os.Stderr
	for _, dir := range []string{"/tmp/home", "/tmp/tmp"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := victim.Start(); err != nil {
		return err
	}
	all, err := attackAll(ctx, []string{target})
	_ = victim.Process.Kill()
	_ = victim.Wait()
	return errors.Join(err, save(out, all.Results[target]))
}

func save(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// Attacked are the results of all attacks, by the target.
type Attacked struct {
	Results map[string][]Result `json:"results"`
	Said    string              `json:"said,omitzero"`
}

func attackAll(ctx context.Context, targets []string) (Attacked, error) {
	out := Attacked{Results: map[string][]Result{}}
	for _, name := range targets {
		c, err := ReadTarget(ctx, name)
		if err != nil {
			return out, err
		}
		out.Results[name] = Attack(ctx, c)
	}
	return out, nil
}

type prepareArgs struct {
	Target string `json:"target"`
	Host   string `json:"host"`
	Say    string `json:"say,omitempty"` // by which the caller recognises the answer
}

type checkArgs struct {
	Say string `json:"say,omitempty"`
}

type stayArgs struct {
	Until string `json:"until"`
}

type attackArgs struct {
	Targets []string `json:"targets"`
	Done    string   `json:"done,omitempty"` // a file to be made when all is done
	Say     string   `json:"say,omitempty"`
}

type searchArgs struct {
	Hidden string `json:"hidden"`
}

type visitArgs struct {
	Host string `json:"host"`
}

// Visit is what came of asking a host for a page.
type Visit struct {
	Reached bool   `json:"reached"`
	Status  string `json:"status"` // of the proxy, or the error
}

// serve is a skill that can be both the victim and the attacker.
func serve(ctx context.Context, given []string) error {
	var r victim
	server := mcp.NewServer(&mcp.Implementation{Name: "attack", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "prepare", Description: "stores the secret everywhere"}, func(ctx context.Context, _ *mcp.CallToolRequest, a prepareArgs) (*mcp.CallToolResult, Prepared, error) {
		s, err := r.prepare(ctx, a.Target, a.Host)
		s.Said = a.Say
		return nil, s, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "stay", Description: "waits for a file"}, func(ctx context.Context, _ *mcp.CallToolRequest, a stayArgs) (*mcp.CallToolResult, Checked, error) {
		if err := await(ctx, a.Until); err != nil {
			return nil, Checked{}, err
		}
		c, err := r.check()
		return nil, c, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "check", Description: "looks for traces"}, func(_ context.Context, _ *mcp.CallToolRequest, a checkArgs) (*mcp.CallToolResult, Checked, error) {
		c, err := r.check()
		c.Said = a.Say
		return nil, c, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "attack", Description: "tries everything"}, func(ctx context.Context, _ *mcp.CallToolRequest, a attackArgs) (*mcp.CallToolResult, Attacked, error) {
		all, err := attackAll(ctx, a.Targets)
		all.Said = a.Say
		if err == nil && a.Done != "" {
			err = os.WriteFile(a.Done, nil, 0o644)
		}
		return nil, all, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "search", Description: "looks everywhere"}, func(ctx context.Context, _ *mcp.CallToolRequest, a searchArgs) (*mcp.CallToolResult, Searched, error) {
		s, err := Search(ctx, a.Hidden, given)
		return nil, s, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "visit", Description: "asks a host for a page"}, visit)
	return server.Run(ctx, &mcp.StdioTransport{})
}

// visit asks a host for a page, through the listener that it was given.
func visit(ctx context.Context, _ *mcp.CallToolRequest, a visitArgs) (*mcp.CallToolResult, Visit, error) {
	own, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || own.Host == "" {
		return nil, Visit{Status: "it has no listener"}, nil
	}
	conn, status, err := tunnel(ctx, own.Host, own.User, a.Host)
	if conn != nil {
		defer conn.Close()
	}
	switch {
	case err != nil:
		return nil, Visit{Status: err.Error()}, nil
	case status != http.StatusOK:
		return nil, Visit{Status: http.StatusText(status)}, nil
	}
	secure := tls.Client(conn, &tls.Config{ServerName: a.Host, InsecureSkipVerify: true}) //nolint:gosec // it counts that somebody answers
	if _, err := fmt.Fprintf(secure, "GET /visit HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", a.Host); err != nil {
		return nil, Visit{Status: err.Error()}, nil
	}
	data, err := io.ReadAll(io.LimitReader(secure, 4096))
	if len(data) == 0 {
		return nil, Visit{Status: fmt.Sprint("nothing came back: ", err)}, nil
	}
	return nil, Visit{Reached: true, Status: http.StatusText(status)}, nil
}
