package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

func newRotateLogKey(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate-log-key",
		Short: "Replace the key that signs the log",
		Long: `Make a new key for the log, and tell the log so. The entry is signed with both keys, so
that clients that know the old key take the new one. A client whose configuration names the
old key refuses the registry until it names the new one: publish the new key where users
can compare it.

Start a server that is running again afterwards; until then it refuses every change. If
several servers share a database, copy log.key to all of them. Witnesses need the new key,
too. Destroy the old key and its backups: with it, clients that have not seen the new one
can still be deceived.`,
		Example: `  perstackd registry admin rotate-log-key`,
		Args:    host.NoArgs("the key of the log is in the directory that --data names"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.rotateLogKey(cmd.Context()) },
	}
}

// nextKeyName is the file of a key that is to replace the one in use. It is written before the log names the
// key, and moved afterwards: whenever the program ends, the key that the log names is in one of two files.
const nextKeyName = "log.key.next"

func (p *place) rotateLogKey(ctx context.Context) (err error) {
	s, err := p.open(ctx, siteOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	next, err := makeKeyFile(filepath.Join(s.dir, nextKeyName), s.key.signer.Name())
	if err == nil {
		err = s.RotateLogKey(ctx, next.signer, next.public)
	}
	if err == nil {
		_, err = s.finishRotation(ctx)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.host.Stdout, "New log key: %s\nOld log key: %s\nStart perstackd registry again if it is running.\n", next.public, s.key.public)
	return nil
}

// finishRotation moves the key that the log names to its place, if it is still in the other file, and returns it. It
// returns nil if there is nothing to do.
func (s *site) finishRotation(ctx context.Context) (*logKey, error) {
	path := filepath.Join(s.dir, nextKeyName)
	next, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	named, err := s.LogKey(ctx)
	if err != nil || named != next.public {
		return nil, err // another process is about to use it
	}
	text, err := userfile.ReadOwn(path, maxLogKey)
	if err == nil {
		err = privatefile.ReplaceDurable(filepath.Join(s.dir, logKeyName), text)
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the new key of the log cannot be moved to its place: %w", err)
	}
	return &next, nil
}
