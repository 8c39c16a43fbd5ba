//go:build unix

package rewind

import (
	"errors"
	"syscall"
)

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}
