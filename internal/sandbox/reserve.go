package sandbox

import (
	"runtime"
	"sync"
)

// ReserveThreads makes sure that this process has so many threads, also if they have
// nothing to do yet. A Go program that cannot get a thread when it needs one ends at once;
// and a command that multiplies can take all that are to be had, until it is found.
func ReserveThreads(n int) {
	var there sync.WaitGroup
	free := make(chan struct{})
	for range n {
		there.Add(1)
		go func() {
			runtime.LockOSThread() // one each
			defer runtime.UnlockOSThread()
			there.Done()
			<-free
		}()
	}
	there.Wait()
	close(free) // they stay, and wait for work
}
