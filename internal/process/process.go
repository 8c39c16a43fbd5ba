// Package process prepares the process that perstack runs in, whether that is a command or
// the program in a container: what signals do, what stays in its environment, and when its
// memory is first collected.
//
// It reads no argument and no stream, and decides nothing about jobs. Start reading at
// [Interruptible].
package process

import (
	"runtime"
	"runtime/debug"
)

// DelayCollection lets the first garbage collection wait until 16 MB are in use. Go starts
// it at 4 MB, which a run has just before its first request, and then it costs a tenth of
// the time up to there. Afterwards the collector works as always.
func DelayCollection() {
	const usual = 100
	if set := debug.SetGCPercent(4 * usual); set != usual { // the user has set GOGC
		debug.SetGCPercent(set)
		return
	}
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
