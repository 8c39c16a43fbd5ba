//go:build !unix

package hostile

import (
	"errors"
	"syscall"
)

func signal(string) error { return errors.New("there are no signals on this system") }

func ownSession() *syscall.SysProcAttr { return nil }
