package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/internal/secret"
)

const listeners = `{"listeners":[{"name":"engine","address":"127.0.0.1:0","allow":[],"token":"kX82mQ0vT4nB7cLw9rJd"}]}` + "\n"

// What package inside and the command rely on. The tests of the command are about the rest.

// The end of the input is no error, even if it comes before anything listens.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	s := &Server{Stdout: &out, Secrets: &secret.Set{}, Ready: func(string) {}}
	if err := s.Run(t.Context(), strings.NewReader(listeners)); err != nil {
		t.Errorf("ended with %v", err)
	}
	if strings.Contains(out.String(), "kX82") {
		t.Errorf("it printed a token: %s", out.String())
	}
}

// The cause of a context that ends is returned as it is.
func TestRunReturnsTheCause(t *testing.T) {
	why := errors.New("received terminated")
	for name, input := range map[string]string{"before the listeners come": "", "later": listeners} {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		in, stdin := io.Pipe()
		s := &Server{Stdout: io.Discard, Secrets: &secret.Set{}, Ready: func(address string) {
			if !strings.HasPrefix(address, "127.0.0.1:") {
				t.Errorf("%s: it listens on %s", name, address)
			}
			cancel(why)
		}}
		if input == "" {
			cancel(why)
		} else {
			go func() { _, _ = io.WriteString(stdin, input) }()
		}
		if err := s.Run(ctx, in); !errors.Is(err, why) {
			t.Errorf("%s: ended with %v", name, err)
		}
	}
}

// What is wrong with the input is told apart from what is wrong with the machine.
func TestRunRefuses(t *testing.T) {
	for input, want := range map[string]string{
		listeners + "\n\nx":   "more than one line was sent",
		"":                    "the input ended before its first line did",
		"{}\n":                "",
		listeners + listeners: "more than one line was sent",
	} {
		err := (&Server{Stdout: io.Discard, Secrets: &secret.Set{}}).Run(t.Context(), strings.NewReader(input))
		if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: ended with %v, want %q", input, err, want)
		}
	}
}

// Empty lines say that the parent process is there. Where the first line says so, silence is
// the end: the input of a container stays open when its daemon is killed.
func TestRunEndsInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		in, stdin := io.Pipe()
		begin := time.Now()
		go func() {
			_, _ = io.WriteString(stdin, strings.Replace(listeners, `{"listeners"`, `{"maxSilence":10,"listeners"`, 1))
			for range 100 {
				time.Sleep(9 * time.Second)
				_, _ = io.WriteString(stdin, "\n")
			}
		}()
		if _, err := ReadConfig(ctx, in, cancel); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if took, want := time.Since(begin), 100*9*time.Second+10*time.Second; took != want || !strings.Contains(context.Cause(ctx).Error(), "said nothing for 10s") {
			t.Errorf("it ended after %s with %v, want %s", took, context.Cause(ctx), want)
		}
		_ = stdin.Close()
	})
}
