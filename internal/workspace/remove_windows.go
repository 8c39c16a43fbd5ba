package workspace

import (
	"errors"

	"golang.org/x/sys/windows"
)

// noFollow is not needed: what was opened is compared with the name afterwards.
const noFollow = 0

func isNotEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }
