//go:build unix

package sandbox

import (
	"os"
	"sync"
)

// A family knows the processes of one [Supervisor]. When one of them is killed, what it
// left to us is killed too; the others are children of ours as well and must be told
// from that.
type family struct {
	mu   sync.Mutex
	pids map[int]struct{}
}

// start starts one. Whoever sees the process can know that it is of the family: nobody
// gets an answer in between.
func (f *family) start(ended <-chan struct{}) (*os.Process, *os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	process, end, err := startSupervisor(ended)
	if err != nil {
		return nil, nil, err
	}
	if f.pids == nil {
		f.pids = make(map[int]struct{})
	}
	f.pids[process.Pid] = struct{}{}
	return process, end, nil
}

// forget is told when one has ended: its number can belong to others from now on.
func (f *family) forget(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pids, pid)
}

func (f *family) has(pid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.pids[pid]
	return ok
}
