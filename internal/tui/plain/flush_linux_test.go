package plain

import (
	"bufio"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// TestFlush drops the beginning of a word that was typed before a question.
func TestFlush(t *testing.T) {
	master, tty, err := testkit.OpenTerminal()
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	defer tty.Close()
	lines := bufio.NewReader(tty)
	for _, c := range []struct {
		flush bool
		want  string
	}{{false, "allow\n"}, {true, "ow\n"}} {
		if _, err := master.WriteString("all"); err != nil {
			t.Fatal(err)
		}
		echo := make([]byte, 3) // the terminal has it
		if _, err := master.Read(echo); err != nil || string(echo) != "all" {
			t.Fatalf("%q, %v", echo, err)
		}
		if c.flush {
			flush(tty)
		}
		if _, err := master.WriteString("ow\n"); err != nil {
			t.Fatal(err)
		}
		got, err := lines.ReadString('\n')
		if err != nil || got != c.want {
			t.Errorf("flushed %t: %q, %v, want %q", c.flush, got, err, c.want)
		}
		rest := make([]byte, 64)
		if _, err := master.Read(rest); err != nil {
			t.Fatal(err)
		}
	}
}
