package docker

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
)

// The container hears from us all the time, also while the session is held up.
func TestTalkHasAPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		talk := newTalk(&Container{Stdin: stdin, Stdout: strings.NewReader(""), Stderr: strings.NewReader("")}, [][]byte{[]byte("document")})
		lines := hostlink.NewReader(in)
		begin := time.Now()
		for i, want := range []string{"document", `{"alive":true}`, `{"alive":true}`} {
			line, err := lines.Line()
			if took := time.Since(begin); err != nil || string(line) != want || took != time.Duration(i)*hostlink.Pulse {
				t.Errorf("%q after %s, %v", line, took, err)
			}
		}
		talk.hangUp()
		if _, err := lines.Line(); err == nil {
			t.Error("lines follow the end")
		}
	})
}
