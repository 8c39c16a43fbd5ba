package quota_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/quota"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// disk is a workspace of which only the size is known, and a skill that fills it.
type disk struct {
	used     atomic.Int64
	measured atomic.Int64
	err      error
	took     time.Duration // by one measurement

	cancel   context.CancelFunc
	exceeded []int64
	failed   error
}

func (d *disk) quota(limit int64) *quota.Quota {
	return &quota.Quota{
		Max: limit,
		Measure: func(ctx context.Context, _ int64) (int64, error) {
			d.measured.Add(1)
			select {
			case <-time.After(d.took):
				return d.used.Load(), d.err
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		},
		Exceeded: func(used int64) { d.exceeded = append(d.exceeded, used); d.cancel() },
		Failed:   func(err error) { d.failed = err; d.cancel() },
	}
}

func (d *disk) Name() string { return "disk" }
func (d *disk) Close() error { return nil }
func (d *disk) Tools(context.Context) ([]skill.Tool, error) {
	return []skill.Tool{{Name: "look", ReadOnly: true}, {Name: "write"}, {Name: "fill"}, {Name: "wait"}}, nil
}

func (d *disk) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	switch call.ToolName {
	case "write":
		d.used.Add(10)
	case "wait":
		time.Sleep(10 * time.Second)
	case "fill": // until it is stopped
		for ctx.Err() == nil {
			d.used.Add(10)
			time.Sleep(100 * time.Millisecond)
		}
	}
	return event.ToolResult{ID: call.ID}, nil
}

// start returns the watched skill and the context of its run.
func start(t *testing.T, d *disk, limit int64) (context.Context, skill.Skill) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d.cancel = cancel
	t.Cleanup(cancel)
	s := d.quota(limit).Watch(d)
	if _, err := s.Tools(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx, s
}

func call(ctx context.Context, t *testing.T, s skill.Skill, tool string) {
	t.Helper()
	if _, err := s.Call(ctx, event.ToolCall{ID: "1", ToolName: tool}); err != nil {
		t.Fatal(err)
	}
}

func TestMeasuredAfterCallsWithEffects(t *testing.T) {
	d := &disk{}
	ctx, s := start(t, d, 20)
	call(ctx, t, s, "look")
	if d.measured.Load() != 0 {
		t.Error("a tool that only reads was measured")
	}
	call(ctx, t, s, "write")
	call(ctx, t, s, "write") // exactly as much as is allowed
	if d.measured.Load() != 2 || d.exceeded != nil || ctx.Err() != nil {
		t.Errorf("measured %d times, exceeded %v", d.measured.Load(), d.exceeded)
	}
	call(ctx, t, s, "write")
	if len(d.exceeded) != 1 || d.exceeded[0] != 30 || ctx.Err() == nil {
		t.Errorf("exceeded %v", d.exceeded)
	}
}

func TestStoppedWhileACallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		ctx, s := start(t, d, 1000)
		call(ctx, t, s, "fill") // returns only because it is stopped
		if len(d.exceeded) == 0 || d.exceeded[0] <= 1000 || d.exceeded[0] > 1200 {
			t.Errorf("exceeded %v, want it noticed within about a second", d.exceeded)
		}
	})
}

// Calls side by side share one watch, and a slow measurement leaves time for the work.
func TestWatchIsSharedAndModest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{took: time.Second}
		ctx, s := start(t, d, 1)
		done := make(chan bool)
		for range 16 {
			go func() {
				call(ctx, t, s, "wait")
				done <- true
			}()
		}
		for range 16 {
			<-done
		}
		// At 1 s, then 3 s after each end: three in ten seconds. One more a call.
		if got := d.measured.Load(); got != 3+16 {
			t.Errorf("measured %d times, want 19", got)
		}
		before := d.measured.Load()
		time.Sleep(time.Minute)
		if got := d.measured.Load(); got != before {
			t.Errorf("measured %d times after the last call", got-before)
		}
	})
}

// A workspace that cannot be measured stops the work: the limit would not hold.
func TestUnmeasurable(t *testing.T) {
	d := &disk{err: errors.New("no permission")}
	ctx, s := start(t, d, 100)
	call(ctx, t, s, "write")
	if !errors.Is(d.failed, d.err) || ctx.Err() == nil || d.exceeded != nil {
		t.Errorf("failed %v, exceeded %v", d.failed, d.exceeded)
	}
}

// A client that cancels its calls is measured all the same.
func TestCancelledCallIsMeasured(t *testing.T) {
	d := &disk{}
	ctx, s := start(t, d, 5)
	d.cancel()
	call(ctx, t, s, "write")
	if len(d.exceeded) != 1 {
		t.Errorf("exceeded %v", d.exceeded)
	}
	synctest.Test(t, func(t *testing.T) {
		d := &disk{took: time.Hour}
		ctx, s := start(t, d, 5)
		d.cancel()
		began := time.Now()
		call(ctx, t, s, "write")
		if took := time.Since(began); took != time.Second { // of the bubble's clock
			t.Errorf("stopping it takes %v", took)
		}
	})
}

func TestCheck(t *testing.T) {
	for used, want := range map[int64]bool{0: true, 100: true, 101: false} {
		d := &disk{cancel: func() {}}
		d.used.Store(used)
		if got := d.quota(100).Check(t.Context()); got != want {
			t.Errorf("%d of 100: %t, want %t", used, got, want)
		}
	}
}

// keeper is a skill that remembers.
type keeper struct {
	disk
	memory rawjson.Value
}

func (k *keeper) Memory() rawjson.Value { return k.memory }
func (k *keeper) Recall(m rawjson.Value) error {
	k.memory = m
	return nil
}

func TestMemoryGoesThrough(t *testing.T) {
	k := &keeper{}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: k.quota(1).Watch(k.quota(1).Watch(k))}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Recall(map[string]rawjson.Value{"disk": rawjson.Value(`7`)}); err != nil {
		t.Fatal(err)
	}
	if got := box.Memory("disk"); string(got) != `7` || string(k.memory) != `7` {
		t.Errorf("memory %s", got)
	}
	d := &disk{}
	box, err = skill.NewToolbox(t.Context(), []skill.Source{{Skill: d.quota(1).Watch(d)}}, slog.New(slog.DiscardHandler))
	if err != nil || box.Memory("disk") != nil {
		t.Errorf("a skill without memory: %s, %v", box.Memory("disk"), err)
	}
}
