package rewind

import (
	"errors"

	"golang.org/x/sys/windows"
)

func isNotEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }
