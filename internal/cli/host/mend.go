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

// ForDocker adds to the same advice that the lockfile is for the runtime docker, where the
// file does not say so: without it images would stay without a pin, and the advice would
// be given again.
func ForDocker(text string) string {
	const docker = install + " --runtime docker"
	return strings.ReplaceAll(strings.ReplaceAll(text, docker, install), install, docker)
}

// MendError is [Mend] for an error, which keeps its exit code, or with docker [ForDocker]
// as well. One that gives no such advice stays as it is.
func MendError(err error, config string, docker bool) error {
	text := Describe(err)
	mended := text
	if docker {
		mended = ForDocker(mended)
	}
	mended = Mend(mended, config)
	if mended == text {
		return err
	}
	return &ExitError{Code: ExitCode(err), Err: errors.New(mended)}
}
