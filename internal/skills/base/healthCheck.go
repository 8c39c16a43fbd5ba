package base

import (
	"context"
	"fmt"
	"runtime/metrics"
	"time"
)

var _ = tools.add(define("healthCheck", (*Skill).healthCheck, readOnly))

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

func (s *Skill) healthCheck(context.Context, noArgs) answer {
	used, total := heap()
	return answer{body: healthBody{
		Status:    "ok",
		Workspace: clean(s.opts.Workspace.Path()),
		Uptime:    fmt.Sprintf("%ds", max(0, s.opts.Now().Sub(s.started)/time.Second)),
		Memory:    healthMemory{HeapUsed: mebibytes(used), HeapTotal: mebibytes(total)},
		PID:       s.opts.PID,
	}}
}

// heap returns the bytes of the heap that are used and reserved. Unlike runtime.ReadMemStats it
// does not stop other goroutines.
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
