package test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perstack-go/perstack/internal/testkit/containers"
)

// scriptContainers are the container registries of scripts, by the directory of the script.
type scriptContainers struct {
	t   *testing.T
	mu  sync.Mutex // scripts run at the same time
	all map[string]*containers.Registry
}

// run is the command containers, with a real container registry:
//
//	containers start          starts it; its host is $CONTAINERS
//	containers fill FILE…     writes the host into files, in the place of HOST
//	containers stop
func (s *scriptContainers) run(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: containers start | fill | stop")
	}
	at := ts.Getenv("WORK")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch args[0] {
	case "start":
		s.all[at] = containers.Start(s.t)
		ts.Setenv("CONTAINERS", s.all[at].Host)
	case "fill":
		for _, file := range args[1:] {
			text := strings.ReplaceAll(ts.ReadFile(file), "HOST", s.all[at].Host)
			ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
		}
	case "stop":
		s.all[at].Stop()
	default:
		ts.Fatalf("containers has no %s", args[0])
	}
}
