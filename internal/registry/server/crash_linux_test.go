package server

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server/database"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/postgres"
)

// Tests of crashes need a second process: they start the test binary again as a publisher.
const publisherVariable = "PERSTACK_TEST_PUBLISHER"

func TestMain(m *testing.M) {
	if os.Getenv(publisherVariable) == "" {
		os.Exit(m.Run())
	}
	if err := publishForever(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// publishForever publishes versions of several Experts at once, and prints each when it was published. With
// a number of versions it ends after them.
func publishForever(address, secret, round string) error {
	ctx := context.Background()
	db, err := database.Open(ctx, address)
	if err != nil {
		return err
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return err
	}
	r, err := New(Options{Database: db, Origin: origin, Signer: signer, PublicKey: signer.Name(), Now: time.Now, NewID: engine.SystemSource().NewID, Random: rand.Reader})
	if err != nil {
		return err
	}
	org, err := r.Organization(ctx, "acme")
	if err != nil {
		return err
	}
	by := Actor{OrgID: org.ID, OrgName: org.Name, OrgType: Team, KeyID: "key", Scopes: Scopes()}
	publishers, versions := 4, 1<<20
	if strings.HasPrefix(round, "once") {
		publishers, versions = 1, 24
	}
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for p := range publishers {
		all.Go(func() {
			for n := range versions {
				name, version := fmt.Sprintf("@acme/expert-%d", p), fmt.Sprintf("1.%s.%d", strings.TrimPrefix(round, "once"), n)
				if _, err := r.Publish(ctx, by, api.Publish{Content: content(name, version), Tags: []string{"stable"}}, PublishOptions{}); err != nil {
					failed.Store(&err)
					return
				}
				fmt.Println("published " + name + "@" + version)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return db.Close()
}

// A crashSite is a registry in a database whose processes die.
type crashSite struct {
	t               *testing.T
	address, secret string
	verifier        note.Verifier
}

func newCrashSite(t *testing.T, address string) *crashSite {
	t.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	c := &crashSite{t, address, secret, verifier}
	c.open(func(r *Registry) {
		if _, err := r.CreateOrganization(t.Context(), Operator(), "acme", Team); err != nil {
			t.Fatal(err)
		}
	})
	return c
}

// open opens the registry for a moment.
func (c *crashSite) open(use func(*Registry)) {
	c.t.Helper()
	c.openAt(c.address, use)
}

func (c *crashSite) openAt(address string, use func(*Registry)) {
	c.t.Helper()
	db, err := database.Open(c.t.Context(), address)
	if err != nil {
		c.t.Fatal(err)
	}
	signer, err := note.NewSigner(c.secret)
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := New(Options{Database: db, Origin: origin, Signer: signer, PublicKey: signer.Name(), Now: time.Now, NewID: engine.SystemSource().NewID, Random: rand.Reader})
	if err != nil {
		c.t.Fatal(err)
	}
	use(r)
	if err := db.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// check finds versions without a leaf, leaves without a version, and everything else that a crash can leave
// behind. What was published before must still be there.
func (c *crashSite) check(address string, published []string) {
	c.t.Helper()
	c.openAt(address, func(r *Registry) {
		report, err := r.Verify(c.t.Context(), c.verifier)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, p := range report.Problems {
			c.t.Errorf("damaged: %s: %s", p.What, p.Message)
		}
		for _, key := range published {
			if _, err := r.Get(c.t.Context(), Actor{}, key); err != nil {
				c.t.Errorf("%s was published, and is lost: %v", key, err)
			}
		}
	})
}

// command starts this binary as a publisher.
func (c *crashSite) command(wrapper []string, round string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	args := append(wrapper, self, c.address, c.secret, round)
	cmd := exec.CommandContext(c.t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), publisherVariable+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// kill kills publishers, each at another moment. The next one starts with what the last one has left.
func (c *crashSite) kill(rounds int) {
	c.t.Helper()
	var published []string
	random := testkit.Random(c.t)
	for round := range rounds {
		cmd := c.command(nil, fmt.Sprint(round))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			c.t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for left := random.IntN(20); lines.Scan(); left-- {
			key, ok := strings.CutPrefix(lines.Text(), "published ")
			if !ok {
				c.t.Fatalf("the publisher says %q", lines.Text())
			}
			published = append(published, key)
			if left == 0 {
				if err := cmd.Process.Kill(); err != nil {
					c.t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		if len(published) == 0 {
			c.t.Fatal("nothing was published")
		}
		c.check(c.address, published)
	}
}

// Publishers that are killed leave whole versions, and none that is half there.
func TestKilledPublishers(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes are started and killed")
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		newCrashSite(t, filepath.Join(t.TempDir(), "registry.db")).kill(20)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		newCrashSite(t, postgres.Start(t).Database(t)).kill(10)
	})
}

// A power cut at any moment of a publication leaves a whole registry: what the program wrote to the files is
// recorded, and carried out again up to a moment; of what was not synchronised by then, a part is lost.
func TestPowerCut(t *testing.T) {
	if testing.Short() {
		t.Skip("many copies of a database are verified")
	}
	testkit.Need(t, "strace")
	dir := t.TempDir()
	c := newCrashSite(t, filepath.Join(dir, "registry.db"))
	before, err := os.ReadFile(c.address)
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(dir, "trace")
	cmd := c.command([]string{"strace", "-f", "-y", "-xx", "-s", "1000000", "-e", "trace=write,pwrite64,ftruncate,fsync,fdatasync,unlink,unlinkat", "-o", trace}, "once1")
	if out, err := cmd.Output(); err != nil || strings.Count(string(out), "published ") != 24 {
		t.Fatalf("%v\n%s", err, out)
	}
	steps := readTrace(t, trace, c.address)
	syncs := 0
	for _, s := range steps {
		if s.kind == synced {
			syncs++
		}
	}
	if syncs < 24 {
		t.Fatalf("%d of 24 publications were synchronised", syncs)
	}
	random := testkit.Random(t)
	for range 60 {
		at := random.IntN(len(steps) + 1)
		address := filepath.Join(t.TempDir(), "registry.db")
		files, published := replay(steps[:at], before, random)
		for suffix, content := range files {
			if err := os.WriteFile(address+suffix, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c.check(address, published)
		if t.Failed() {
			t.Fatalf("at step %d of %d", at, len(steps))
		}
	}
}
