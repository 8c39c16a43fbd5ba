package run

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/job"
)

// Tool calls are asked about where a person can read the question and answer it.
func TestApprover(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, tt := range map[string]struct {
		host         *host.Host
		runtime      string
		asks, stdout bool // and whether standard output waits
	}{
		"terminal":           {&host.Host{Stdin: file, StdinIsTerminal: true, StderrIsTerminal: true, StdoutIsTerminal: true}, job.Local, true, true},
		"output to a file":   {&host.Host{Stdin: file, StdinIsTerminal: true, StderrIsTerminal: true}, job.Local, true, false},
		"input from a pipe":  {&host.Host{Stdin: file, StderrIsTerminal: true, StdoutIsTerminal: true}, job.Local, false, false},
		"messages to a file": {&host.Host{Stdin: file, StdinIsTerminal: true, StdoutIsTerminal: true}, job.Local, false, false},
		"no file":            {&host.Host{Stdin: strings.NewReader(""), StdinIsTerminal: true, StderrIsTerminal: true}, job.Local, false, false},
		"container":          {&host.Host{Stdin: file, StdinIsTerminal: true, StderrIsTerminal: true}, job.Docker, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			h := tt.host
			h.Stdout, h.Stderr = &out, &errs
			approver := (&Options{Host: h}).approver(tt.runtime, nil)
			if (approver != nil) != tt.asks || (h.Stderr != io.Writer(&errs)) != tt.asks || (h.Stdout != io.Writer(&out)) != tt.stdout {
				t.Errorf("approver %v, standard error %T, standard output %T", approver, h.Stderr, h.Stdout)
			}
		})
	}
}
