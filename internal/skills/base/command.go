package base

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/wording"
)

// refuseStart says why a command did not start. The kernel says "not found" if the file exists
// and the interpreter in its #! line does not.
func (s *Skill) refuseStart(command string, err error, exists bool) answer {
	name := wording.Cut(command, 200)
	switch {
	case errors.Is(err, sandbox.ErrNotFound) && exists:
		return refuse("command_not_found", fmt.Sprintf("command %q cannot be run: the file exists, but its interpreter (the program in its #! line), "+
			"or a library that it needs, does not exist", name))
	case errors.Is(err, sandbox.ErrNotFound) && s.opts.NoPrograms:
		return refuse("command_not_found", fmt.Sprintf("command %q does not exist: there are no programs here at all. "+
			"The user can name an image that has some, with baseImage in [docker] of perstack.toml", name))
	case errors.Is(err, sandbox.ErrNotFound):
		return refuse("command_not_found", fmt.Sprintf("command %q does not exist: it is not in PATH or not in the directory%s", name, shellHint(command)))
	case errors.Is(err, sandbox.ErrPermission):
		return refuse("command_not_executable", fmt.Sprintf("command %q is not executable", name))
	case errors.Is(err, sandbox.ErrInvalid):
		return refuse(codeInvalidArguments, fmt.Sprintf("command %q cannot be run: batch files and NUL characters are not accepted", name))
	case errors.Is(err, sandbox.ErrLost):
		return refuse(codeIO, fmt.Sprintf("command %q: the process that supervises commands was killed or stopped while it ran; "+
			"what it had done by then is unknown, and what was found of it was killed", name))
	}
	why := strings.TrimPrefix(err.Error(), fmt.Sprintf("start %q: ", command)) // the name is said already
	if errors.Is(err, sandbox.ErrFormat) {
		why = "it has no #! line, or is not a program for this machine; run a script with its interpreter, as in \"sh\" with [\"./script\"]"
	}
	return refuse("start_failed", fmt.Sprintf("command %q could not be started: %s%s", name, wording.Cut(why, 500), shellHint(command)))
}

// fileExists reports whether command is the path of a file in the workspace. No tool looks outside
// of it.
func (s *Skill) fileExists(ctx context.Context, cwd, command string) bool {
	if filepath.Base(command) == command {
		return false // a name, which is searched in PATH
	}
	if !filepath.IsAbs(command) {
		command = filepath.Join(cwd, command)
	}
	exists := false
	failed := s.onRestrictedThread(func() {
		info, err := s.opts.Workspace.Stat(ctx, command)
		exists = err == nil && !info.Dir
	})
	return failed == nil && exists
}

// shellHint helps a model that wrote a shell command.
func shellHint(command string) string {
	switch command {
	case "cd", "pushd", "popd":
		return "; \"cwd\" says where a command starts"
	case "alias", "eval", "export", "set", "source", ".", "type", "ulimit", "umask", "unset":
		return "; only a shell knows it: run \"sh\" with [\"-c\", \"…\"]"
	}
	if strings.ContainsAny(command, " \t\n|&;<>()$`*?\"'") {
		return "; arguments go into \"args\", and a pipe or another sign of the shell needs \"sh\" with [\"-c\", \"…\"]"
	}
	return ""
}

const (
	maxNotes     = 100                    // notes of one call
	freeNotes    = 10                     // notes before the interval applies
	noteInterval = 250 * time.Millisecond // between the others
	maxNote      = 500                    // bytes
)

// A progress reports lines of a running command as notes. A command can print fast and for ever,
// so length, rate and number are limited.
type progress struct {
	now    func() time.Time
	report func(string)

	lines [2][]byte // the unfinished line of each stream
	sent  int
	last  time.Time
}

func (p *progress) write(from sandbox.Stream, chunk []byte) {
	line := &p.lines[from]
	for piece := range bytes.Lines(chunk) {
		if p.sent == maxNotes {
			return
		}
		text, ended := bytes.CutSuffix(piece, []byte("\n"))
		if space := maxNote - len(*line); space > 0 {
			*line = append(*line, text[:min(space, len(text))]...)
		}
		if ended {
			p.note(bytes.TrimSpace(bytes.ToValidUTF8(*line, nil)))
			*line = (*line)[:0]
		}
	}
}

func (p *progress) note(line []byte) {
	if len(line) == 0 {
		return
	}
	now := p.now()
	if p.sent >= freeNotes && now.Sub(p.last) < noteInterval {
		return
	}
	p.sent++
	p.last = now
	p.report(string(line))
}

// redactOutput removes secrets from the two parts of an output before they are joined: a secret
// that was cut is not recognized in the middle of a text.
func (s *Skill) redactOutput(o sandbox.Output) sandbox.Output {
	o.Head, o.Tail = []byte(s.opts.Redact(string(o.Head))), []byte(s.opts.Redact(string(o.Tail)))
	return o
}
