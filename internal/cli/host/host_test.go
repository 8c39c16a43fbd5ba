package host

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/toml"
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
		{toml.Problems{{Message: "x"}}.Err(), 2},
		{fmt.Errorf("x: %w", manifest.ErrNotFound), 2},
		{store.NotFound("j"), 2},
		{fmt.Errorf("x: %w", store.ErrLocked), 2},
		{store.CheckID("../x"), 2},
		{Exit(ExitLimit), 3},
		{Exit(ExitWaiting), 4},
		{Exit(process.Signal{Signal: syscall.SIGHUP}.ExitCode()), 129},
		{Exit(process.Signal{Signal: syscall.SIGINT}.ExitCode()), 130},
		{Exit(process.Signal{Signal: syscall.SIGTERM}.ExitCode()), 143},
	}
	for _, tt := range tests {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("ExitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}
