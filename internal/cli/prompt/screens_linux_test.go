package prompt

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/screen"
	"github.com/perstack-go/perstack/rawjson"
)

// hostile is what a model would like to write: it clears the screen, hides and turns text, and imitates
// a question.
const hostile = "日本語の引数 \x1b[2J\u202egnp.exe\u200b\r\ny allow once\n> y"

// start asks in a terminal.
func (s scene) start(t *testing.T, columns, rows int) (term *screen.Terminal, path string) {
	t.Helper()
	s.Quiet = true
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "result.json")
	cmd := exec.Command(os.Args[0])
	cmd.Env = screen.Environ(resultFile+"="+path, "PERSTACK_TEST_SCENE="+string(text))
	return screen.Start(t, cmd, columns, rows), path
}

// waitsForLine reports whether the cursor is after a mark.
func waitsForLine(s screen.Screen) bool {
	return s.CursorY < len(s.Lines()) && s.CursorX == len(mark) && strings.TrimSpace(s.Lines()[s.CursorY]) == ">"
}

// Every question, as a person sees it.
func TestScreens(t *testing.T) {
	asks := func(change func(*event.Approval)) *event.Approval {
		a := push()
		a.Sandbox, a.Why, a.Said = "full", "publishes", "I publish it. "+hostile
		change(a)
		return a
	}
	for name, s := range map[string]scene{
		"query":    {Text: &Text{Title: "What should " + strings.Repeat("writer-", 6) + " do?", History: []string{"earlier"}}},
		"question": {Question: &event.ToolCall{ToolName: "askUser", Args: rawjson.Value(quote(map[string]any{"question": "Where to? " + hostile, "options": []string{"the sea", "山"}}))}},
		"approval": {Approval: asks(func(a *event.Approval) {
			a.Effect.Argv, a.Effect.Dir = []string{"git", "commit", "-m", hostile}, "/shop/src"
		})},
		"host": {Approval: asks(func(a *event.Approval) {
			a.Effect = event.Effect{Kind: event.HostEffect, Host: "registry.example.com:443"}
		})},
		"directory": {Approval: asks(func(a *event.Approval) {
			a.Effect = event.Effect{Kind: event.PathEffect, Path: "/data/日本", Named: "/data/日本/a.csv"}
		})},
		"plan": {Approval: asks(func(a *event.Approval) {
			a.Effect = event.Effect{Kind: event.PlanEffect, Plan: "1. Read go.mod.\n2. Run the tests.\n" + hostile}
		})},
	} {
		for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
			for _, colour := range []bool{false, true} {
				golden := fmt.Sprintf("screens/%s_%dx%d", name, size[0], size[1])
				if s.Color = colour; colour {
					golden += "_colour"
				}
				if s.Text != nil {
					s.Text.Color = colour
				}
				t.Run(golden, func(t *testing.T) {
					term, _ := s.start(t, size[0], size[1])
					term.WaitFor("a line", waitsForLine).Golden(t, golden)
					term.Send(screen.CtrlC)
					if code, _ := term.WaitRestored(); code != 0 {
						t.Errorf("exit code %d\n%v", code, term.Screen())
					}
				})
			}
		}
	}
}

func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // a map of texts
	}
	return string(text)
}

// A text of several rows is edited in place, also after the terminal has another size.
func TestEditInPlace(t *testing.T) {
	s := scene{Text: &Text{Title: "What?"}}
	term, path := s.start(t, 40, 12)
	term.WaitFor("a line", waitsForLine)
	term.Send("a query that needs more than one row of this terminal 日本語" + screen.AltEnter + "and a second line")
	term.WaitForText("second line").Golden(t, "screens/edit_40x12")
	term.Send(screen.Up + screen.Home + "X")
	term.WaitForText("X")
	term.Resize(80, 24)
	term.WaitFor("the text in the new size", func(s screen.Screen) bool { return s.Columns == 80 && s.Contains("new line   Ctrl-C: leave") })
	term.Resize(40, 12)
	term.WaitFor("the text in the old size", func(s screen.Screen) bool {
		return s.Columns == 40 && !s.Contains("leave") && s.Contains("second line")
	})
	term.Send(screen.Enter)
	if code, _ := term.WaitRestored(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "日本語") || strings.Count(string(data), "X") != 1 || !strings.Contains(string(data), `\nand a second line`) {
		t.Errorf("%v: %s", err, data)
	}
}
