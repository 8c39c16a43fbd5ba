// Package witness is the command perstackd witness: it cosigns the logs of registries that others run.
//
// The rules of a witness are in internal/registry/witness; this package turns flags into its parts, and keeps its
// key. Start reading at [New].
package witness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/witness"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/userfile"
)

// options are what the command can be told.
type options struct {
	host   *host.Host
	data   string
	listen string
	name   string
	logs   []string
}

const (
	defaultListen = "127.0.0.1:7422"
	defaultName   = "localhost/witness"
)

// New returns the command.
func New(h *host.Host) *cobra.Command {
	opts := &options{host: h}
	cmd := &cobra.Command{
		Use:   "witness",
		Short: "Cosign the logs of registries that others run",
		Long: `Serve a witness. A registry sends it each new checkpoint of its log, with a proof that the
log only grew. The witness remembers the newest checkpoint of each log, and signs one
history only. A registry that shows different histories to different clients does not
get the cosignatures that these clients ask for.

The first start makes a key, and prints it. The registry gets it with --witness, and
clients name it in their configuration. The protocol is tlog-witness of C2SP. Everything
that is sent is public and signed, so it needs no TLS; a proxy can add it.

The directory has the key and what was cosigned. Never copy it back from a backup: the
witness could sign a second history. If it is lost, start a witness with a new key.

Exit codes: 1 stopped by an error, 2 wrong usage, 129, 130 and 143 stopped by a signal.`,
		Example: `  perstackd witness --log registry.example.com/log+723924d0+ARcrrsdG…
  perstackd witness --listen :7422 --name example.com/w1 --log …`,
		Args:              host.NoArgs("it cosigns the logs that --log names"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			return opts.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.data, "data", "", "directory of the key and of what was cosigned (default $XDG_STATE_HOME/perstackd/witness)")
	flags.StringVar(&opts.listen, "listen", defaultListen, "address and port to listen on; port 0 means a free one")
	flags.StringVar(&opts.name, "name", defaultName, "name of the witness, when it is started for the first time")
	flags.StringArrayVar(&opts.logs, "log", nil, "public key of a log that is cosigned; can be repeated")
	return cmd
}

// The times that a request can take.
const (
	requestTimeout = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeader      = 16 << 10
	drainTimeout   = 5 * time.Second
)

// run serves until a signal comes.
func (o *options) run(ctx context.Context) (err error) {
	if len(o.logs) == 0 {
		return host.Usagef("name the key of at least one log with --log; perstackd registry prints it when it starts")
	}
	dir, err := o.dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data directory cannot be made: %w", err)
	}
	cosigner, err := o.cosigner(dir)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(o.host.Secrets.Writer(o.host.Stderr), nil))
	w, err := witness.Open(witness.Options{Dir: dir, Cosigner: cosigner, Logs: o.logs, Logger: logger})
	if err != nil {
		return host.Usagef("the witness cannot be started: %w", err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", o.listen, err)
	}
	if _, err := fmt.Fprintf(o.host.Stdout, "Witness: http://%s\nKey:     %s\n", listener.Addr(), cosigner.Witness); err != nil {
		return errors.Join(err, listener.Close())
	}
	served := &http.Server{
		Handler: w, ReadHeaderTimeout: requestTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(served.Shutdown(within), ctx.Err())
}

func (o *options) dir() (string, error) {
	if o.data != "" {
		return o.host.Path(o.data), nil
	}
	dir, err := state.Find(runtime.GOOS, o.host.Home, o.host.Getenv)
	if err != nil {
		return "", host.Usagef("the home directory is not known; name a directory with --data")
	}
	return filepath.Join(filepath.Dir(string(dir)), "perstackd", "witness"), nil
}

// The file of the key.
const (
	keyName = "witness.key"
	maxKey  = 4 << 10
)

// cosigner reads the key of the witness, and makes it at the first start.
func (o *options) cosigner(dir string) (*tlog.Cosigner, error) {
	path := filepath.Join(dir, keyName)
	data, err := userfile.ReadOwn(path, maxKey)
	if userfile.Absent(err) {
		_, secret, err := tlog.NewCosigner(rand.Reader, o.name, o.host.Source.Now)
		if err != nil {
			return nil, host.Usagef("--name: %w", err)
		}
		if err := privatefile.CreateDurable(path, []byte(secret+"\n")); err != nil && !errors.Is(err, fs.ErrExist) { // another process was first
			return nil, fmt.Errorf("the key of the witness cannot be stored: %w", err)
		}
		data, err = userfile.ReadOwn(path, maxKey)
		if err != nil {
			return nil, fmt.Errorf("the key of the witness cannot be read: %w", err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("the key of the witness cannot be read: %w", err)
	}
	c, err := tlog.ParseCosigner(strings.TrimSpace(string(data)), o.host.Source.Now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
