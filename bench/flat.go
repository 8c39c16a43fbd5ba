//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// flatCost compares the CPU of the steps 180 to 200 of a job with that of the steps 10
// to 30. Of several jobs the cheapest stretch counts.
func flatCost(ctx context.Context, dir string) ([]figure, error) {
	early, late := time.Hour, time.Hour
	for range 7 {
		storage, err := os.MkdirTemp(dir, "flat-")
		if err != nil {
			return nil, err
		}
		var marks []time.Duration
		if err := drive(ctx, storage, 200, func() { marks = append(marks, cpuTime()) }); err != nil {
			return nil, err
		}
		if len(marks) != 200 {
			return nil, fmt.Errorf("the job took %d steps, want 200", len(marks))
		}
		early, late = min(early, marks[29]-marks[9]), min(late, marks[199]-marks[179])
	}
	return []figure{{"CPU of steps 180 to 200, to steps 10 to 30", float64(late) / float64(early), 1.3, "%.2f"}}, nil
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
