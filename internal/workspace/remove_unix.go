//go:build unix

package workspace

import (
	"errors"
	"syscall"
)

// noFollow lets a link at the end of a path not be opened.
const noFollow = syscall.O_NOFOLLOW

func isNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }
