package base

import (
	"context"
	"fmt"
	"runtime"
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

// heap returns the bytes of the heap that are used and reserved.
func heap() (used, total uint64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.HeapSys - m.HeapReleased
}

func mebibytes(n uint64) string { return fmt.Sprintf("%dMB", (n+1<<19)>>20) }
