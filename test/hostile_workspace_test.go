//go:build unix

package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/rawjson"
)

// An approach is a tool that takes a path. The first of each class is held to all that
// the attacks expect; the others have reasons of their own to refuse, so they are held
// to the refusals of the path checks.
type approach struct {
	tool  string
	op    evil.Op
	first bool
	args  func(path string, n int) map[string]any
}

func path(path string, _ int) map[string]any { return map[string]any{"path": path} }

// looking changes nothing; its tools share a workspace.
var looking = []approach{
	{"readTextFile", evil.Read, true, path},
	{"readImageFile", evil.Read, false, path},
	{"readPdfFile", evil.Read, false, path},
	{"getFileInfo", evil.Info, true, path},
	{"listDirectory", evil.List, true, path},
	{"glob", evil.List, true, func(path string, _ int) map[string]any {
		return map[string]any{"pattern": "*", "path": path, "ignored": true}
	}},
	{"grep", evil.Read, false, func(path string, _ int) map[string]any {
		return map[string]any{"pattern": ".", "path": path, "ignored": true}
	}},
	{"exec", evil.Cwd, true, func(path string, _ int) map[string]any { return map[string]any{"command": "pwd", "cwd": path} }},
}

// changing tools get a workspace each.
var changing = []approach{
	{"writeTextFile", evil.Write, true, func(path string, _ int) map[string]any { return map[string]any{"path": path, "text": "planted"} }},
	{"appendTextFile", evil.Write, false, func(path string, _ int) map[string]any { return map[string]any{"path": path, "text": "planted"} }},
	{"editTextFile", evil.Write, false, func(path string, _ int) map[string]any {
		return map[string]any{"path": path, "oldText": "canary", "newText": "planted"}
	}},
	{"createDirectory", evil.Create, true, path},
	{"deleteFile", evil.Delete, true, path},
	{"deleteDirectory", evil.Delete, false, func(path string, _ int) map[string]any { return map[string]any{"path": path, "recursive": true} }},
	{"moveFile", evil.From, true, func(path string, n int) map[string]any {
		return map[string]any{"source": path, "destination": fmt.Sprintf("moved/%d", n)}
	}},
	{"moveFile", evil.To, true, func(path string, n int) map[string]any {
		return map[string]any{"source": fmt.Sprintf("sources/%d", n), "destination": path}
	}},
}

// Every tool tries every path of a hostile workspace in a whole run: each ends with the
// code that the attack expects, nothing outside changes, and no secret is in any event,
// in the journal or on a screen.
func TestHostileWorkspace(t *testing.T) {
	t.Run("looking", func(t *testing.T) { storm(t, looking) })
	for _, a := range changing {
		t.Run(a.tool+" "+string(a.op), func(t *testing.T) { storm(t, []approach{a}) })
	}
}

func storm(t *testing.T, approaches []approach) {
	t.Parallel()
	tree := evil.Workspace(t)
	attacks := tree.Attacks()
	project, storage := t.TempDir(), filepath.Join(t.TempDir(), "storage")
	var cassette strings.Builder
	for _, a := range approaches {
		cassette.WriteString("[[turn]]\n")
		for i, attack := range attacks {
			if attack.Raw() {
				continue // a model has no words for it
			}
			write(t, filepath.Join(tree.Root, "sources", fmt.Sprint(i)), "source")
			fmt.Fprintf(&cassette, "[[turn.call]]\nid = %q\ntool = %q\nargsText = %s\n", id(a, attack), a.tool, quoted(t, string(encoded(t, a.args(attack.Path, i)))))
		}
	}
	cassette.WriteString("[[turn]]\ntext = \"Tried.\"\n")
	write(t, filepath.Join(project, "perstack.toml"), slow["perstack.toml"])
	write(t, filepath.Join(project, "cassette.toml"), cassette.String())

	cmd := exec.CommandContext(t.Context(), "perstack", "run", "writer", "go", "--workspace", tree.Root, "--storage", storage, "--events", "lean")
	cmd.Dir = project
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %.2000s", err, log.String())
	}
	results := toolResults(t, out.Bytes())
	for _, a := range approaches {
		for _, attack := range attacks {
			if attack.Raw() {
				continue
			}
			got, ok := results[id(a, attack)]
			want := attack.Expect[a.op]
			switch {
			case !ok:
				t.Errorf("%s %s was not answered", a.tool, attack.ID)
			case want == "" || !a.first && (attack.What == "nothing" || want != "outside_workspace" && want != "protected" && want != "invalid_path"):
			case got != want:
				t.Errorf("%s %s (%.60q): %s, want %s", a.tool, attack.ID, attack.Path, got, want)
			}
		}
	}
	tree.Check(t)
	for place, text := range map[string]string{"events": out.String(), "standard error": log.String()} {
		if leaked := tree.Leaked(text); leaked != nil {
			t.Errorf("%s give away %v", place, leaked)
		}
	}
	journal := read(t, filepath.Join(storage, "jobs")) // beside it are stored states of the workspace
	if leaked := tree.Leaked(journal); leaked != nil || journal == "" {
		t.Errorf("the history (%d bytes) gives away %v", len(journal), leaked)
	}
}

func id(a approach, attack evil.Attack) string { return a.tool + "." + string(a.op) + "." + attack.ID }

// toolResults returns, by the id of the call, the code of the refusal, or ok.
func toolResults(t *testing.T, lines []byte) map[string]string {
	t.Helper()
	results := map[string]string{}
	for line := range bytes.Lines(lines) {
		var record struct {
			Event rawjson.Value `json:"event"`
		}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		e, err := event.Unmarshal(record.Event)
		if err != nil {
			t.Fatal(err)
		}
		end, ok := e.Body.(event.EndToolCall)
		if !ok {
			continue
		}
		r := end.ToolResult
		var refusal struct {
			Code string `json:"code"`
		}
		if len(r.Result) == 0 {
			t.Fatalf("%s has no result", r.ID)
		}
		if err := json.Unmarshal([]byte(r.Result[0].Text), &refusal); err != nil {
			t.Fatalf("%s: %v in %.200q", r.ID, err, r.Result[0].Text)
		}
		switch {
		case r.IsError && refusal.Code == "":
			t.Errorf("%s failed without a code: %s", r.ID, r.Result[0].Text)
		case !r.IsError:
			refusal.Code = evil.Works
		}
		results[r.ID] = refusal.Code
	}
	return results
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// quoted writes a text as TOML does: as JSON, but for one character.
func quoted(t *testing.T, text string) string {
	t.Helper()
	return strings.ReplaceAll(string(encoded(t, text)), "\x7f", `\u007f`)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read returns all files below a directory in one text.
func read(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
