//go:build !linux && !darwin && !windows

package workspace

import (
	"io/fs"
	"time"
)

// times are not known here.
func times(fs.FileInfo) (created, accessed time.Time) { return time.Time{}, time.Time{} }

func (p *place) created() (time.Time, bool) { return time.Time{}, false }
