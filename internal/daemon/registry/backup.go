package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/server/database"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
)

// tell says on a terminal that something takes its time.
func (p *place) tell(format string, args ...any) {
	if p.host.StderrIsTerminal {
		fmt.Fprintf(p.host.Stderr, format+"\n", args...)
	}
}

func newBackup(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIRECTORY",
		Short: "Copy a registry, while it is served or not",
		Long: `Copy the database and the key of the log into a new directory. The copy is one state,
whatever is published meanwhile. That of a PostgreSQL database is a file of SQLite too.

The key of the log signs for the registry: keep the copy as secret as the registry.`,
		Example: "  perstackd registry backup /backups/registry-2026-01-31",
		Args:    exactArgs("a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := p.host.Path(args[0])
			return p.with(cmd.Context(), func(s *site) error {
				p.tell("Copying the registry…")
				if err := os.Mkdir(to, 0o700); err != nil {
					return host.Usagef("the backup needs a directory that does not exist yet: %w", err)
				}
				if err := s.db.Backup(cmd.Context(), filepath.Join(to, databaseName)); err != nil {
					return err
				}
				key, err := userfile.ReadOwn(filepath.Join(s.dir, logKeyName), maxLogKey)
				if err != nil {
					return err
				}
				if err := privatefile.CreateDurable(filepath.Join(to, logKeyName), key); err != nil {
					return fmt.Errorf("the key of the log could not be copied: %w", err)
				}
				_, err = fmt.Fprintf(p.host.Stdout, "Copied the registry to %s.\n", to)
				return err
			})
		},
	}
}

func newRestore(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIRECTORY",
		Short: "Make a registry from a backup, and verify it",
		Long: `Make a registry from what perstackd registry backup has written. --data names its
directory, which must not have a registry yet, and --database a PostgreSQL database,
which must be empty. The kind of database can be another one than before.

Everything is verified before the registry can be served. Clients that have seen
newer states of the log refuse a registry that was restored from an older one.`,
		Example: `  perstackd registry restore /backups/registry-2026-01-31
  perstackd registry restore backup --database postgres://registry@db.example.com/registry`,
		Args: exactArgs("the directory of a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.restore(cmd.Context(), p.host.Path(args[0]))
		},
	}
}

// restore fills a new registry. The key of the log comes last: without it, nothing serves a part.
func (p *place) restore(ctx context.Context, from string) (err error) {
	dir, err := p.dir()
	if err != nil {
		return err
	}
	address, err := p.address(dir)
	if err != nil {
		return err
	}
	key, err := readLogKey(from)
	if err != nil {
		return host.Usagef("%s is not a backup of a registry: %w", from, err)
	}
	for _, name := range []string{logKeyName, databaseName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return host.Usagef("%s has a registry already; name another directory with --data", dir)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data directory cannot be made: %w", err)
	}
	p.tell("Copying the backup…")
	s, err := p.fill(ctx, from, dir, address, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p.tell("Verifying the registry…")
	if err := p.verify(ctx, s, false); err != nil {
		return err
	}
	text, err := userfile.ReadOwn(filepath.Join(from, logKeyName), maxLogKey)
	if err != nil {
		return err
	}
	if err := privatefile.CreateDurable(filepath.Join(dir, logKeyName), text); err != nil {
		return fmt.Errorf("the key of the log cannot be stored: %w", err)
	}
	_, err = fmt.Fprintf(p.host.Stdout, "Restored the registry to %s.\n", dir)
	return err
}

// fill copies the database of a backup into one that is empty.
func (p *place) fill(ctx context.Context, from, dir, address string, key logKey) (s *site, err error) {
	// A backup stays as it is: what is read is a copy, which can be brought up to date.
	temporary, err := os.MkdirTemp(dir, ".restore-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	copied := filepath.Join(temporary, databaseName)
	if err := copyFile(filepath.Join(from, databaseName), copied); err != nil {
		return nil, host.Usagef("%s is not a backup of a registry: %w", from, err)
	}
	source, err := database.Open(ctx, copied)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	db, err := database.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := source.CopyTo(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("the backup could not be copied: %w", err), db.Close())
	}
	return p.newSite(dir, db, key, siteOptions{})
}

func copyFile(from, to string) (err error) {
	in, err := userfile.OpenRegular(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func newVerify(p *place) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compute every digest and the whole log again",
		Long: `Compute every digest and every hash again, check all signatures of the log, and
compare the tables with what the log says. Everything that is damaged is printed.
The registry can be served meanwhile.

Exit codes: 0 nothing is damaged, 1 something is, or an error, 2 wrong usage.`,
		Example: "  perstackd registry verify",
		Args:    host.NoArgs("it verifies the whole registry"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd.Context(), func(s *site) error {
				p.tell("Verifying the registry…")
				return p.verify(cmd.Context(), s, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// A verdict is the JSON of a report.
type verdict struct {
	OK       bool      `json:"ok"`
	Logs     int64     `json:"logs"`
	Leaves   int64     `json:"leaves"`
	Versions int64     `json:"versions"`
	Contents int64     `json:"contents"`
	Problems []problem `json:"problems"`
}

type problem struct {
	What    string `json:"what"`
	Message string `json:"message"`
}

// verify prints what is damaged. The error says that something is.
func (p *place) verify(ctx context.Context, s *site, asJSON bool) error {
	verifier, err := note.NewVerifier(s.key.public)
	if err != nil {
		return err
	}
	report, err := s.Verify(ctx, verifier)
	if err != nil {
		return err
	}
	if asJSON {
		err = host.WriteJSON(p.host.Stdout, newVerdict(report))
	} else {
		err = p.printReport(report)
	}
	if err == nil && len(report.Problems) > 0 {
		err = fmt.Errorf("the registry is damaged: %s", wording.Count(len(report.Problems), "problem"))
	}
	return err
}

func newVerdict(r *server.Report) verdict {
	v := verdict{OK: len(r.Problems) == 0, Logs: r.Logs, Leaves: r.Leaves, Versions: r.Versions, Contents: r.Contents, Problems: []problem{}}
	for _, one := range r.Problems {
		v.Problems = append(v.Problems, problem(one))
	}
	return v
}

func (p *place) printReport(r *server.Report) error {
	for _, one := range r.Problems {
		if _, err := fmt.Fprintln(p.host.Stdout, one.String()); err != nil {
			return err
		}
	}
	outcome := "Everything is as the log says."
	if len(r.Problems) > 0 {
		outcome = "The registry is damaged."
	}
	_, err := fmt.Fprintf(p.host.Stdout, "Verified %d leaves, %d versions and %d contents. %s\n", r.Leaves, r.Versions, r.Contents, outcome)
	return err
}

func newMigrate(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the tables of the database up to date",
		Long: `Bring the tables of the database up to date without serving it. perstackd registry does
the same with --auto-migrate, and refuses to start on older tables without it. Tables of
a newer version are refused: there is no way back. Make a backup first.`,
		Example: `  perstackd registry migrate
  perstackd registry migrate --database postgres://registry@db.example.com/registry`,
		Args: host.NoArgs("it brings the whole database up to date"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withOptions(cmd.Context(), siteOptions{migrate: true}, func(*site) error {
				_, err := fmt.Fprintln(p.host.Stdout, "The database is up to date.")
				return err
			})
		},
	}
}
