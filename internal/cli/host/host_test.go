package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/store"
)

// The exit codes are a promise to scripts.
func TestExitCode(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{&engine.Error{Kind: engine.KindStore, Err: store.ErrFull}, 1},
		{&store.DamageError{JobID: "j", Seq: 3, Reason: "x"}, 1},
		{Usagef("wrong flag"), 2},
		{fmt.Errorf("wrapped: %w", Usagef("wrong flag")), 2},
		{&engine.Error{Kind: engine.KindInput, Err: errors.New("x")}, 2},
		{expert.Problems{{Message: "x"}}.Err(), 2},
		{fmt.Errorf("x: %w", expert.ErrNotFound), 2},
		{store.NotFound("j"), 2},
		{fmt.Errorf("x: %w", store.ErrLocked), 2},
		{store.CheckID("../x"), 2},
		{Exit(ExitLimit), 3},
		{Exit(ExitWaiting), 4},
		{Exit(Signal{syscall.SIGHUP}.ExitCode()), 129},
		{Exit(Signal{syscall.SIGINT}.ExitCode()), 130},
		{Exit(Signal{syscall.SIGTERM}.ExitCode()), 143},
	}
	for _, tt := range tests {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("ExitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain\n\ttext", "plain\n\ttext"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m"},
		{"\x1b]0;title\x07rest", "]0;titlerest"},
		{"c1 \u009b31m", "c1 31m"},
		{"back\b\b\r\x7f", "back"},
		{"left \u202egnp.exe\u202c", "left gnp.exe"},
		{"\u2066iso\u2069\u200e\u200f\u061c", "iso"},
		{"bad \xff bytes", "bad � bytes"},
		{"日本語 ok", "日本語 ok"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got, want := CleanLine("  a\n\tb\x1b \r c "), "a b c"; got != want {
		t.Errorf("CleanLine = %q, want %q", got, want)
	}
}

func TestStoragePath(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	tests := []struct{ flag, env, want string }{
		{"", "", filepath.Join(dir, "perstack")},
		{"", "history", filepath.Join(dir, "history")},
		{"", elsewhere, elsewhere},
		{"flag", elsewhere, filepath.Join(dir, "flag")},
	}
	for _, tt := range tests {
		h := &Host{Dir: dir, Environ: []string{"PERSTACK_STORAGE_PATH=" + tt.env}}
		if got := h.StoragePath(tt.flag); got != tt.want {
			t.Errorf("flag %q, variable %q: %q, want %q", tt.flag, tt.env, got, tt.want)
		}
	}
}
