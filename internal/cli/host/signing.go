package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/terminal"
)

// SigningKeys returns the SSH keys of the user. If there is a terminal, the passphrase of a file is
// asked for there.
func (h *Host) SigningKeys() *signature.Keys {
	keys := &signature.Keys{Socket: h.Getenv("SSH_AUTH_SOCK")}
	if h.Home != "" {
		keys.Dir = filepath.Join(h.Home, ".ssh")
	}
	if h.CanAsk() {
		keys.Passphrase = func(ctx context.Context, path string) ([]byte, error) {
			return h.ReadHidden(ctx, "Passphrase of "+terminal.CleanLine(path)+": ")
		}
	}
	return keys
}

// SigningKey returns the name of a key as [signature.Keys.Signer] takes it: paths are those of this
// directory or, with a tilde, of the home directory.
func (h *Host) SigningKey(name string) string {
	rest, home := strings.CutPrefix(name, "~/")
	switch {
	case name == "" || strings.HasPrefix(name, "SHA256:"):
		return name
	case home && h.Home != "":
		return filepath.Join(h.Home, rest)
	}
	return h.Path(name)
}

// maxHidden bounds a line that is not shown, such as a key.
const maxHidden = 64 << 10

// ReadHidden asks for a line on the terminal, and does not show what is typed. [Host.CanAsk] says
// whether there is one.
func (h *Host) ReadHidden(ctx context.Context, question string) ([]byte, error) {
	in, ok := h.Stdin.(*os.File)
	if !ok {
		return nil, errors.New("standard input is not a terminal")
	}
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("ask on the terminal: %w", err)
	}
	fmt.Fprint(h.Stderr, question)
	type line struct {
		text []byte
		err  error
	}
	done := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		done <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		// The reader still waits, and has switched the echo off.
		err := term.Restore(fd, before)
		fmt.Fprintln(h.Stderr)
		return nil, errors.Join(context.Cause(ctx), err)
	case read := <-done:
		fmt.Fprintln(h.Stderr)
		if errors.Is(read.err, io.EOF) {
			read.err = errors.New("nothing was typed")
		}
		if read.err == nil && len(read.text) > maxHidden {
			read.err = fmt.Errorf("the line has more than %d KiB", maxHidden>>10)
		}
		return read.text, read.err
	}
}
