package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perstack-go/perstack/skill"
)

// large is a call with arguments of 15 MiB. Four of them are open at once, a fifth is not.
func large(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{"x":"%s"}}}`, id, tool, strings.Repeat("x", 15<<20))
}

// A client that sends much before it is answered is told so: no more than 64 MiB of
// requests are kept.
func TestFloodOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tools{begun: make(chan string, 10)}
		var lines []string
		for i := range 5 {
			lines = append(lines, large(i+1, "wait"))
		}
		lines = append(lines, `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"wait"}}`) // the limit allows it
		all := converse(t, s, lines...)
		if len(all) != len(lines) {
			t.Fatalf("%d answers", len(all))
		}
		for _, a := range all {
			busy := a.Error != nil && a.Error.Code == -32000 && strings.Contains(a.Error.Message, "too many requests at once: 4 wait")
			if busy != (string(a.ID) == "5") {
				t.Errorf("request %s: %+v", a.ID, a.Error)
			}
		}
	})
}

// A request that was answered does not count.
func TestBytesAreFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t.Context(), t, &tools{}, skill.Filter{})
		out := bufio.NewReader(w.out)
		ask := func(text string) string {
			t.Helper()
			go func() { _, _ = io.WriteString(w.in, text) }()
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // until the server has counted the answer
			return line
		}
		ask(hello)
		for i := range 5 {
			if line := ask(large(i+1, "broken") + "\n"); strings.Contains(line, "-32000") {
				t.Fatalf("request %d: %s", i+1, line)
			}
		}
		_ = w.in.Close()
		if rest := read(t, out); len(rest) > 0 {
			t.Errorf("more answers than requests: %+v", rest)
		}
		if err := <-w.done; err != nil {
			t.Error(err)
		}
	})
}
