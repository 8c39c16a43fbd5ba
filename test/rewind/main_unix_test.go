//go:build unix

package rewind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/testkit/allow"
	"github.com/perstack-go/perstack/internal/testkit/history"
)

// serveFiles makes this program an MCP server that runs scripts.
const serveFiles = "serve-files"

// program is perstack.
var program string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serveFiles {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func prepare(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "perstack-rewind")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program = filepath.Join(dir, "perstack")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "github.com/perstack-go/perstack/cmd/perstack")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build perstack: %w\n%s", err, out)
	}
	err = errors.Join(history.Isolate(filepath.Join(dir, "state")), allow.Isolate(filepath.Join(dir, "config")))
	for name, value := range map[string]string{
		"PERSTACK_SANDBOX":    "off", // git has to write all of .git
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
	} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	if err != nil {
		return 0, err
	}
	return m.Run(), nil
}

func serve() error {
	s := sdk.NewServer(&sdk.Implementation{Name: "files", Version: "1"}, nil)
	type script struct {
		Script string `json:"script"`
	}
	// It says that it only reads, which is not true, and must make no difference.
	tool := &sdk.Tool{Name: "work", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}
	sdk.AddTool(s, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in script) (*sdk.CallToolResult, any, error) {
		out, err := exec.CommandContext(ctx, "sh", "-c", in.Script).Output()
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(out)}}}, nil, err
	})
	return s.Run(context.Background(), &sdk.StdioTransport{})
}
