// Package postgres starts PostgreSQL for tests: Debian's package, as a user without rights, in a directory of
// its own, reachable by a socket there. Start reading at [Start].
package postgres

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// A Server is a running PostgreSQL.
type Server struct {
	dir   string
	count atomic.Int64
	run   func(t testing.TB, program string, args ...string)
}

// Database makes an empty database, and returns its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("db%d", s.count.Add(1))
	s.run(t, "createdb", "-h", s.dir, "-U", user, name)
	return s.address(name)
}

// Copy makes a copy of a database that is not open, and returns its address.
func (s *Server) Copy(t testing.TB, address string) string {
	t.Helper()
	name := fmt.Sprintf("db%d", s.count.Add(1))
	_, from, _ := strings.Cut(strings.TrimPrefix(address, "postgres://"), "/")
	from, _, _ = strings.Cut(from, "?")
	s.run(t, "createdb", "-h", s.dir, "-U", user, "-T", from, name)
	return s.address(name)
}

func (s *Server) address(name string) string {
	return "postgres://" + user + "@/" + name + "?host=" + url.QueryEscape(s.dir)
}

// user is the name that the database has for the tests.
const user = "perstack"
