//go:build !linux

package workspace

import "runtime"

// hasShortNames reports whether a file may have a second, short name in the folder. On
// macOS disks of Windows have them too, which nobody asks about here.
func (d folder) hasShortNames() bool { return runtime.GOOS == "windows" }
