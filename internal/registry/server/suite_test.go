package server

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/registry/server/database"
	"github.com/perstack-go/perstack/internal/testkit/postgres"
)

// The suite is what every registry does, whatever database it has.
var suite = []struct {
	name string
	run  func(*testing.T, *site)
}{
	{"publish and resolve", testPublishAndResolve},
	{"publish refuses", testPublishRefuses},
	{"validate", testValidate},
	{"repeated publication", testRepeatedPublication},
	{"signed publication", testSignedPublication},
	{"publishers at once", testPublishersAtOnce},
	{"resolve refuses", testResolveRefuses},
	{"keys", testKeys},
	{"key rules", testKeyRules},
	{"bootstrap", testBootstrap},
	{"read only", testReadOnly},
	{"log", testLog},
	{"packages", testPackages},
	{"list", testList},
	{"search", testSearch},
	{"tags", testTags},
	{"status", testStatus},
	{"unpublish", testUnpublish},
	{"transfer", testTransfer},
	{"offers", testOffers},
	{"new names", testNewNames},
	{"policy", testPolicy},
	{"quarantine", testQuarantine},
	{"reports", testReports},
	{"audit trail", testAuditTrail},
	{"reads", testReads},
	{"bindings", testBindings},
	{"bindings of others", testBindingsOfOthers},
	{"large answers", testLargeAnswers},
	{"lists without contents", testListsWithoutContents},
	{"deep delegation", testDeepDelegation},
	{"wide delegation", testWideDelegation},
	{"texts that cannot be stored", testTextsThatCannotBeStored},
	{"keys of keys", testKeysOfKeys},
	{"private", testPrivate},
	{"private names", testPrivateNames},
	{"limited administrators", testLimitedAdministrators},
	{"closure", testClosure},
	{"cosignatures", testCosignatures},
	{"log keys", testLogKeys},
	{"verify", testVerify},
	{"rollback", testRollback},
}

func TestSQLite(t *testing.T) {
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newSite(t, filepath.Join(t.TempDir(), "registry.db")))
		})
	}
}

func TestPostgreSQL(t *testing.T) {
	server := postgres.Start(t)
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newSite(t, server.Database(t)))
		})
	}
}

const origin = "registry.example/log"

// A site is a registry with organizations.
type site struct {
	*Registry
	t        *testing.T
	address  string // of the database
	verifier note.Verifier
	mu       sync.Mutex
	ids      int
	time     time.Time
}

// newSite opens the registry in a database.
func newSite(t *testing.T, address string) *site {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	secret, public, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, address: address, time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if s.verifier, err = note.NewVerifier(public); err != nil {
		t.Fatal(err)
	}
	s.Registry, err = New(Options{Database: db, Origin: origin, Signer: signer, PublicKey: public, Now: func() time.Time { return s.time }, NewID: s.newID, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) newID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("id%022d", s.ids)
}
