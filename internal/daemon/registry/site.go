package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/server/database"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/state"
)

// A place says where a registry is kept. All commands have its flags.
type place struct {
	host     *host.Host
	data     string
	database string
}

const databaseVariable = "PERSTACKD_DATABASE"

func (p *place) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.data, "data", "", "directory of the database and the key of the log (default $XDG_STATE_HOME/perstackd/registry)")
	flags.StringVar(&p.database, "database", "", "postgres://user@host/name instead of SQLite; $"+databaseVariable+" keeps a password out of the list of processes")
}

// dir returns the data directory.
func (p *place) dir() (string, error) {
	if p.data != "" {
		return p.host.Path(p.data), nil
	}
	dir, err := state.Find(runtime.GOOS, p.host.Home, p.host.Getenv)
	if err != nil {
		return "", host.Usagef("the home directory is not known; name a directory with --data")
	}
	return filepath.Join(filepath.Dir(string(dir)), "perstackd", "registry"), nil
}

// databaseName is the file of the database in the data directory.
const databaseName = "registry.db"

// address returns where the database is.
func (p *place) address(dir string) (string, error) {
	address := p.database
	if address == "" {
		address = p.host.Getenv(databaseVariable)
	}
	if address == "" {
		return filepath.Join(dir, databaseName), nil
	}
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return "", host.Usagef("--database must be like postgres://user@host/name; --data names the directory of an SQLite database")
	}
	if u, err := url.Parse(address); err == nil {
		if password, ok := u.User.Password(); ok {
			p.host.Secrets.Add(databaseVariable, password)
		}
	}
	return address, nil
}

// A site is an open registry.
type site struct {
	*server.Registry

	dir string
	db  *database.DB
	key logKey
}

// options change how a site is opened.
type siteOptions struct {
	origin   string // of a log that does not exist yet; if it is empty, the registry must exist
	rules    rules
	readOnly bool
	migrate  bool   // bring the tables up to date
	grew     func() // is called when the log grew; it can be nil
}

// rules are what a registry asks of publications.
type rules struct {
	strict, latestByTime, allScoped bool
	newNamesPerDay                  int
}

// open opens a registry.
func (p *place) open(ctx context.Context, opts siteOptions) (s *site, err error) {
	dir, err := p.dir()
	if err != nil {
		return nil, err
	}
	address, err := p.address(dir)
	if err != nil {
		return nil, err
	}
	made := false
	key, err := readLogKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if opts.origin == "" {
			return nil, host.Usagef("there is no registry in %s; start one with perstackd registry, or name its directory with --data", dir)
		}
		if err = os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("the data directory cannot be made: %w", err)
		}
		key, err = makeLogKey(dir, opts.origin)
		made = true
	}
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, address, opts.migrate)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if s, err = p.newSite(dir, db, key, opts); err != nil {
		return nil, err
	}
	if rotated, err := s.finishRotation(ctx); err != nil {
		return nil, err
	} else if rotated != nil {
		if s, err = p.newSite(dir, db, *rotated, opts); err != nil {
			return nil, err
		}
	}
	if err = s.checkLog(ctx); err != nil {
		if made { // it must not be taken for the right one
			err = errors.Join(err, os.Remove(filepath.Join(dir, logKeyName)))
		}
		return nil, err
	}
	return s, nil
}

// openDatabase opens the database of a registry. Tables of an older version are changed only if the operator says so:
// there is no way back.
func openDatabase(ctx context.Context, address string, migrate bool) (*database.DB, error) {
	open := database.OpenCurrent
	if migrate {
		open = database.Open
	}
	db, err := open(ctx, address)
	if other, ok := errors.AsType[*database.VersionError](err); ok {
		hint := "use the newer version of perstackd"
		if other.Have < other.Want {
			hint = "make a backup with the version that you had, then run perstackd registry migrate, or start with --auto-migrate"
		}
		return nil, host.Usagef("%w; %s", err, hint)
	}
	return db, err
}

// newSite puts the parts of a registry together.
func (p *place) newSite(dir string, db *database.DB, key logKey, opts siteOptions) (*site, error) {
	core, err := server.New(server.Options{
		Database: db, Origin: key.signer.Name(), Signer: key.signer, PublicKey: key.public, Random: rand.Reader, Strict: opts.rules.strict, ReadOnly: opts.readOnly,
		LatestByTime: opts.rules.latestByTime, AllScoped: opts.rules.allScoped, NewNamesPerDay: opts.rules.newNamesPerDay,
		Grew: opts.grew,
		Now:  p.host.Source.Now, NewID: p.host.Source.NewID,
	})
	if err != nil {
		return nil, err
	}
	return &site{Registry: core, dir: dir, db: db, key: key}, nil
}

// checkLog refuses a key of the log that is not the one of the database: with it, the log would begin a second
// time, and every client would take the registry for one that lies.
func (s *site) checkLog(ctx context.Context) error {
	all, err := s.Organizations(ctx, server.Operator())
	if err != nil || len(all) == 0 {
		return err
	}
	signed, err := s.Checkpoint(ctx)
	if err != nil {
		return err
	}
	verifier, err := note.NewVerifier(s.key.public)
	if err != nil {
		return err
	}
	head, _, err := tlog.OpenCheckpoint(signed, s.key.signer.Name(), verifier)
	if err != nil || head.Size == 0 {
		return fmt.Errorf("the log of this database was signed with another key than %s; restore that one from a backup", filepath.Join(s.dir, logKeyName))
	}
	return nil
}

func (s *site) Close() error { return s.db.Close() }
