package host

import (
	"errors"
	"strings"

	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/internal/terminal"
)

const (
	install       = "run: perstack install"
	sharedSandbox = selftest.ShareSandbox + " with --shared-sandbox"
)

// inCommands maps what libraries advise, who know no commands and flags, to those of perstack. It
// leaves what it has written as it is.
var inCommands = strings.NewReplacer(lockfile.InstallAgain, install, manifest.SandboxAll, "--sandbox=auto",
	sharedSandbox, sharedSandbox, selftest.ShareSandbox, sharedSandbox,
	mcp.ChooseImage, "name an image that has it with --base-image, or with baseImage in [docker]")

// Advise writes what libraries advise as commands and flags.
func Advise(text string) string { return inCommands.Replace(text) }

// AddConfig adds the --config of this command to every advice to install in a text: without
// it the advice would be about another file.
func AddConfig(text, config string) string {
	text = Advise(text)
	if config == "" {
		return text
	}
	return strings.ReplaceAll(text, install, install+" --config "+terminal.ShellJoin(config))
}

// ForDocker adds --runtime docker to the same advice, for a file that does not name the
// runtime: without it images would not be pinned, and the advice would be given again.
func ForDocker(text string) string {
	const docker = install + " --runtime docker"
	return strings.ReplaceAll(strings.ReplaceAll(Advise(text), docker, install), install, docker)
}

// AddConfigToError is [AddConfig] for an error, and with docker also [ForDocker]. The error
// keeps its exit code. An error without such advice is returned as it is.
func AddConfigToError(err error, config string, docker bool) error {
	if err == nil {
		return nil
	}
	text := terminal.Clean(err.Error())
	changed := text
	if docker {
		changed = ForDocker(changed)
	}
	changed = AddConfig(changed, config)
	if changed == text {
		return err
	}
	return &ExitError{Code: ExitCode(err), Err: errors.New(changed)}
}
