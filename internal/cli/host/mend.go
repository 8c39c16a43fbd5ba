package host

import (
	"errors"
	"strings"
)

const install = "run: perstack install"

// Mend adds to the advice to install, wherever a text gives it, the --config that the
// command was called with: without it another file would be installed.
func Mend(text, config string) string {
	if config == "" {
		return text
	}
	return strings.ReplaceAll(text, install, install+" --config "+ShellJoin(config))
}

// MendError is [Mend] for an error, which keeps its exit code. One that gives no such
// advice stays as it is.
func MendError(err error, config string) error {
	text := Describe(err)
	mended := Mend(text, config)
	if mended == text {
		return err
	}
	return &ExitError{Code: ExitCode(err), Err: errors.New(mended)}
}
