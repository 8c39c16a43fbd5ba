package base

import (
	"context"
	_ "embed"
	"fmt"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed healthCheck.md
var healthCheckText string

type healthBody struct {
	Status    string       `json:"status"`
	Workspace string       `json:"workspace"`
	Uptime    string       `json:"uptime"`
	Memory    healthMemory `json:"memory"`
	PID       int          `json:"pid,omitzero"`
}

type healthMemory struct {
	HeapUsed  string `json:"heapUsed"`
	HeapTotal string `json:"heapTotal"`
}

func (s *Skill) healthCheck() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "healthCheck",
			Title:       "Health check",
			Description: strings.TrimSpace(healthCheckText),
			InputSchema: jsontext.Value(nothing),
			Repeatable:  true, // it only looks
			ReadOnly:    true,
		},
		run: s.runHealthCheck,
	}
}

func (s *Skill) runHealthCheck(_ context.Context, call event.ToolCall) answer {
	if _, err := decode[noArgs](call.Args); err != nil {
		return refuseError(err)
	}
	used, total := heap()
	return answer{body: healthBody{
		Status:    "ok",
		Workspace: clean(s.opts.Workspace.Path()),
		Uptime:    fmt.Sprintf("%ds", max(0, s.opts.Now().Sub(s.started)/time.Second)),
		Memory:    healthMemory{HeapUsed: mebibytes(used), HeapTotal: mebibytes(total)},
		PID:       s.opts.PID,
	}}
}

// heap returns the bytes of the heap that are in use and that are held. It does not
// stop the other goroutines, as reading all statistics would.
func heap() (used, total uint64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			total += s.Value.Uint64()
		}
	}
	if samples[0].Value.Kind() == metrics.KindUint64 {
		used = samples[0].Value.Uint64()
	}
	return used, total
}

func mebibytes(n uint64) string { return fmt.Sprintf("%dMB", (n+1<<19)>>20) }
