package host

import (
	"errors"
	"strings"
)

const install = "run: perstack install"

// AddConfig adds the --config of this command to every advice to install in a text: without
// it the advice would be about another file.
func AddConfig(text, config string) string {
	if config == "" {
		return text
	}
	return strings.ReplaceAll(text, install, install+" --config "+ShellJoin(config))
}

// ForDocker adds --runtime docker to the same advice, for a file that does not name the
// runtime: without it images would not be pinned, and the advice would be given again.
func ForDocker(text string) string {
	const docker = install + " --runtime docker"
	return strings.ReplaceAll(strings.ReplaceAll(text, docker, install), install, docker)
}

// AddConfigToError is [AddConfig] for an error, and with docker also [ForDocker]. The error
// keeps its exit code. An error without such advice is returned as it is.
func AddConfigToError(err error, config string, docker bool) error {
	text := Describe(err)
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

// ShellJoin writes words so that a POSIX shell reads them back as they are.
func ShellJoin(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellQuote(w)
	}
	return strings.Join(quoted, " ")
}

func shellQuote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
