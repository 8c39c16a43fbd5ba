//go:build unix

package base_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/workspace"
)

// The beginnings of files, enough to tell what they are.
const (
	pngFile  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	jpegFile = "\xff\xd8\xff\xe0\x00\x10JFIF\x00"
	gifFile  = "GIF89a\x01\x00\x01\x00"
	webpFile = "RIFF\x24\x00\x00\x00WEBPVP8 "
	pdfFile  = "%PDF-1.7\n"
)

// What is below .git is read and not changed: a hook there runs with the user's next git
// command.
func TestGitDirectory(t *testing.T) {
	b := newBench(t)
	b.put(".git/config", "[core]\n")
	b.put(".git/hooks/old", "")
	b.put("repo/.git/config", "[core]\n")
	b.link(".git", "g")
	before := b.tree()
	for _, path := range []string{".git/config", ".Git/hooks/pre-commit", "g/hooks/pre-commit", "new/.git/config", "g/config", ".git", ".git/hooks"} {
		b.mustFail("writeTextFile", object{"path": path, "text": "planted"}, "protected")
		b.mustFail("moveFile", object{"source": "a.txt", "destination": path}, "protected")
		b.mustFail("createDirectory", object{"path": path}, "protected")
	}
	for _, path := range []string{".git/config", "g/config", ".GIT/config"} {
		if path == ".GIT/config" {
			b.mustFail("deleteFile", object{"path": path}, "protected")
			continue
		}
		b.mustFail("appendTextFile", object{"path": path, "text": "planted"}, "protected")
		b.mustFail("editTextFile", object{"path": path, "oldText": "core", "newText": "planted"}, "protected")
		b.mustFail("deleteFile", object{"path": path}, "protected")
		b.mustFail("moveFile", object{"source": path, "destination": "c"}, "protected")
	}
	for _, path := range []string{".git", ".git/hooks", "g/hooks", "repo"} {
		b.mustFail("deleteDirectory", object{"path": path, "recursive": true}, "protected")
	}
	b.unchanged(before)
	if got := b.mustDo("readTextFile", object{"path": "g/config"}); got["content"] != "[core]\n" {
		t.Error(got)
	}
}

// No tool completes what git would take for a repository, or changes one, wherever it lies.
func TestBareRepository(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"HEAD", "config", "objects/x", "refs/x", "hooks/old"} {
		b.put("made/lib.git/"+name, "x\n")
	}
	b.put("app/deep/.env.local", "x\n")
	b.link("made/lib.git", "lib")
	b.mustDo("writeTextFile", object{"path": "plan/config", "text": "x"})
	b.mustDo("createDirectory", object{"path": "plan/objects"})
	b.mustDo("writeTextFile", object{"path": "plan/HEAD", "text": "ref: refs/heads/main\n"})
	before := b.tree()
	for _, path := range []string{"plan/refs", "plan/Refs/heads/x", "plan/commondir", "made/lib.git/config", "lib/config", "lib/hooks/pre-commit", "lib/info/attributes"} {
		b.mustFail("writeTextFile", object{"path": path, "text": "planted"}, "protected")
		b.mustFail("moveFile", object{"source": "a.txt", "destination": path}, "protected")
		b.mustFail("createDirectory", object{"path": path}, "protected")
	}
	for _, path := range []string{"made/lib.git/config", "lib/HEAD", "lib/hooks/old"} {
		b.mustFail("appendTextFile", object{"path": path, "text": "planted"}, "protected")
		b.mustFail("editTextFile", object{"path": path, "oldText": "x", "newText": "planted"}, "protected")
		b.mustFail("deleteFile", object{"path": path}, "protected")
		b.mustFail("moveFile", object{"source": path, "destination": "c"}, "protected")
	}
	for _, path := range []string{"made", "made/lib.git", "lib/hooks", "app", "app/deep"} {
		b.mustFail("moveFile", object{"source": path, "destination": "c"}, "protected")
		b.mustFail("deleteDirectory", object{"path": path, "recursive": true}, "protected")
	}
	b.unchanged(before)
}

// unchanged checks that nothing is different from what tree returned before.
func (b *bench) unchanged(before map[string]string) {
	b.t.Helper()
	after := b.tree()
	for name, was := range before {
		if after[name] != was {
			b.t.Errorf("%s was %q and is %q", name, was, after[name])
		}
	}
	for name, is := range after {
		if before[name] == "" {
			b.t.Errorf("%s is new: %q", name, is)
		}
	}
}

// B10: a link inside leads to its target; deleting and moving act on the link.
func TestB10LinkInside(t *testing.T) {
	b := newBench(t)
	b.put("i.png", pngFile)
	b.put("d/x", "x")
	b.link("a.txt", "l")
	b.link("i.png", "li")
	b.link("d", "ld")
	if got := b.mustDo("readTextFile", object{"path": "l"}); got["content"] != "alpha\nbeta\n" {
		t.Error(got)
	}
	if got := b.mustDo("getFileInfo", object{"path": "l"}); got["path"] != filepath.Join(b.dir, "a.txt") || got["link"] != true || got["size"] != 11.0 {
		t.Error(got)
	}
	if got := b.mustDo("readImageFile", object{"path": "li"}); got["path"] != filepath.Join(b.dir, "i.png") {
		t.Error(got)
	}
	if got := b.mustDo("writeTextFile", object{"path": "l", "text": "new"}); got["path"] != filepath.Join(b.dir, "a.txt") {
		t.Error(got)
	}
	b.mustDo("appendTextFile", object{"path": "l", "text": "er"})
	b.mustDo("editTextFile", object{"path": "l", "oldText": "new", "newText": "old"})
	b.holds("a.txt", "older")
	b.mustDo("writeTextFile", object{"path": "ld/y", "text": "y"})
	b.holds("d/y", "y")

	b.mustDo("moveFile", object{"source": "l", "destination": "m"})
	if target, err := os.Readlink(filepath.Join(b.dir, "m")); err != nil || target != "a.txt" {
		t.Errorf("the moved link leads to %q, %v", target, err)
	}
	b.mustDo("deleteFile", object{"path": "m"})
	b.lacks("m")
	b.holds("a.txt", "older")
	b.mustDo("deleteFile", object{"path": "ld"})
	b.holds("d/x", "x")
}

// B12: who reads is told; who makes something gets the directories, too.
func TestB12MissingParent(t *testing.T) {
	b := newBench(t)
	const path = "nonexistent/dir/file.txt"
	before := b.tree()
	for tool, args := range map[string]object{
		"readTextFile":    {"path": path},
		"readImageFile":   {"path": path},
		"readPdfFile":     {"path": path},
		"getFileInfo":     {"path": path},
		"appendTextFile":  {"path": path, "text": "x"},
		"editTextFile":    {"path": path, "oldText": "x", "newText": "y"},
		"deleteFile":      {"path": path},
		"deleteDirectory": {"path": path},
		"listDirectory":   {"path": path},
		"glob":            {"pattern": "*", "path": path},
		"moveFile":        {"source": path, "destination": "x/y"},
		"exec":            {"command": "pwd", "cwd": path},
	} {
		b.mustFail(tool, args, "not_found")
	}
	b.unchanged(before)
	b.mustDo("writeTextFile", object{"path": path, "text": "x"})
	b.holds(path, "x")
	b.mustDo("moveFile", object{"source": "a.txt", "destination": "other/dir/b.txt"})
	b.holds("other/dir/b.txt", "alpha\nbeta\n")
	b.mustDo("createDirectory", object{"path": "third/dir/d"})
	b.mustDo("listDirectory", object{"path": "third/dir/d"})
}

func TestB13Root(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"", ".", b.dir, "./."} {
		if got := b.mustDo("listDirectory", object{"path": path}); got["path"] != b.dir {
			t.Error(got)
		}
		if got := b.mustDo("getFileInfo", object{"path": path}); got["path"] != b.dir || got["type"] != "directory" || got["mimeType"] != nil {
			t.Error(got)
		}
		if got := b.mustDo("exec", object{"command": "pwd", "cwd": path}); got["output"] != b.dir+"\n" {
			t.Error(got)
		}
	}
}

// B14: the owner's bit counts, also for root.
func TestB14ReadOnly(t *testing.T) {
	b := newBench(t)
	if err := os.Chmod(filepath.Join(b.dir, "a.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	before := b.tree()
	b.mustFail("writeTextFile", object{"path": "a.txt", "text": "x"}, "not_writable")
	b.mustFail("appendTextFile", object{"path": "a.txt", "text": "x"}, "not_writable")
	b.mustFail("editTextFile", object{"path": "a.txt", "oldText": "alpha", "newText": "x"}, "not_writable")
	b.mustFail("deleteFile", object{"path": "a.txt"}, "not_writable")
	b.mustFail("moveFile", object{"source": "a.txt", "destination": "b.txt"}, "not_writable")
	b.unchanged(before)
	got := b.mustDo("getFileInfo", object{"path": "a.txt"})
	if p, _ := got["permissions"].(object); p["writable"] != false || p["readable"] != true || p["executable"] != false {
		t.Errorf("permissions %v", got["permissions"])
	}
}

// B15: nothing is made, moved or deleted in a directory that is not to be changed.
func TestB15ReadOnlyDirectory(t *testing.T) {
	b := newBench(t)
	b.put("fixed/f.txt", "x")
	b.put("fixed/empty/x", "")
	if err := os.Remove(filepath.Join(b.dir, "fixed/empty/x")); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o555, 0o444} {
		if err := os.Chmod(filepath.Join(b.dir, "fixed"), mode); err != nil {
			t.Fatal(err)
		}
		for tool, args := range map[string]object{
			"createDirectory": {"path": "fixed/new"},
			"writeTextFile":   {"path": "fixed/new", "text": "x"},
			"moveFile":        {"source": "a.txt", "destination": "fixed/new"},
			"deleteFile":      {"path": "fixed/f.txt"},
			"deleteDirectory": {"path": "fixed/empty"},
			"editTextFile":    {"path": "fixed/f.txt", "oldText": "x", "newText": "y"},
		} {
			text, r := b.call(tool, args)
			// Without the bit to enter it, only root can tell what is in it.
			code := fields(t, text)["code"]
			if !r.IsError || code != "not_writable" && (mode != 0o444 || code != "not_readable") {
				t.Errorf("%s in a directory of mode %o: %s", tool, mode, text)
			}
		}
		if err := os.Chmod(filepath.Join(b.dir, "fixed"), 0o755); err != nil {
			t.Fatal(err)
		}
		b.holds("fixed/f.txt", "x")
		b.lacks("fixed/new")
		if _, err := os.Stat(filepath.Join(b.dir, "fixed/empty")); err != nil {
			t.Error(err)
		}
	}
}

func TestB16WrongKind(t *testing.T) {
	b := newBench(t)
	b.put("d/x", "")
	before := b.tree()
	b.mustFail("deleteFile", object{"path": "d"}, "is_a_directory")
	b.mustFail("readTextFile", object{"path": "d"}, "is_a_directory")
	b.mustFail("readImageFile", object{"path": "d"}, "is_a_directory")
	b.mustFail("readPdfFile", object{"path": "d"}, "is_a_directory")
	b.mustFail("writeTextFile", object{"path": "d", "text": ""}, "is_a_directory")
	b.mustFail("appendTextFile", object{"path": "d", "text": ""}, "is_a_directory")
	b.mustFail("editTextFile", object{"path": "d", "oldText": "a", "newText": ""}, "is_a_directory")
	b.mustFail("deleteDirectory", object{"path": "a.txt"}, "not_a_directory")
	b.mustFail("deleteDirectory", object{"path": "a.txt", "recursive": true}, "not_a_directory")
	b.mustFail("listDirectory", object{"path": "a.txt"}, "not_a_directory")
	b.mustFail("exec", object{"command": "pwd", "cwd": "a.txt"}, "not_a_directory")
	b.unchanged(before)
}

func TestB17NotEmpty(t *testing.T) {
	b := newBench(t)
	b.put("d/e/x", "x")
	before := b.tree()
	b.mustFail("deleteDirectory", object{"path": "d"}, "not_empty")
	b.mustFail("deleteDirectory", object{"path": "d", "recursive": false}, "not_empty")
	b.unchanged(before)
	b.mustDo("deleteDirectory", object{"path": "d", "recursive": true})
	b.lacks("d")
}

func TestB18MoveOntoSomething(t *testing.T) {
	b := newBench(t)
	b.put("b.txt", "b")
	b.put("d/x", "x")
	b.put("e/x", "")
	b.link("nowhere", "dangling")
	before := b.tree()
	for _, destination := range []string{"b.txt", "d", "dangling", "a.txt", ".", "d/"} {
		b.mustFail("moveFile", object{"source": "a.txt", "destination": destination}, "already_exists")
	}
	b.mustFail("moveFile", object{"source": "d", "destination": "e"}, "already_exists")
	b.mustFail("createDirectory", object{"path": "b.txt"}, "already_exists")
	b.mustFail("createDirectory", object{"path": "d"}, "already_exists")
	b.mustFail("createDirectory", object{"path": "."}, "already_exists")
	b.unchanged(before)
}

// B19: one byte too many is refused, the exact limit is not.
func TestB19TooLarge(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		tool, begin string
		limit       int64
	}{
		{"readImageFile", pngFile, 15 << 20},
		{"readPdfFile", pdfFile, 30 << 20},
	} {
		b.put("big", tt.begin)
		if err := os.Truncate(filepath.Join(b.dir, "big"), tt.limit); err != nil {
			t.Fatal(err)
		}
		if got := b.mustDo(tt.tool, object{"path": "big"}); got["size"] != float64(tt.limit) {
			t.Error(got)
		}
		if err := os.Truncate(filepath.Join(b.dir, "big"), tt.limit+1); err != nil {
			t.Fatal(err)
		}
		b.mustFail(tt.tool, object{"path": "big"}, "too_large")
	}
	b.put("big", "")
	if err := os.Truncate(filepath.Join(b.dir, "big"), 64<<20+1); err != nil {
		t.Fatal(err)
	}
	b.mustFail("editTextFile", object{"path": "big", "oldText": "x", "newText": "y"}, "too_large")
}

// B20 and N14: what a file is, is seen in its bytes, and the bytes are what is handed over.
func TestB20N14TypeByContent(t *testing.T) {
	tests := []struct{ name, content, image, pdf string }{
		{"a.png", pngFile, "image/png", ""},
		{"a.jpg", jpegFile, "image/jpeg", ""},
		{"a.gif", gifFile, "image/gif", ""},
		{"a.webp", webpFile, "image/webp", ""},
		{"a.pdf", pdfFile, "", "application/pdf"},
		{"jpeg-named.png", jpegFile, "image/jpeg", ""},
		{"image-without-extension", gifFile, "image/gif", ""},
		{"pdf-named.png", pdfFile, "", "application/pdf"},
		{"image-named.pdf", pngFile, "", ""},
		{"text.png", "just text", "", ""},
		{"text.pdf", "just text", "", ""},
		{"key.png", "-----BEGIN PRIVATE KEY-----", "", ""},
		{"svg.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", "", ""},
		{"sound.webp", "RIFF\x24\x00\x00\x00WAVEfmt ", "", ""},
		{"late.pdf", "\n" + pdfFile, "", ""},
		{"empty.png", "", "", ""},
		{"short.png", pngFile[:5], "", ""},
	}
	b := newBench(t)
	for _, tt := range tests {
		b.put(tt.name, tt.content)
		for tool, want := range map[string]string{"readImageFile": tt.image, "readPdfFile": tt.pdf} {
			if tt.name == "image-named.pdf" && tool == "readImageFile" {
				want = "image/png"
			}
			if want == "" {
				b.mustFail(tool, object{"path": tt.name}, "unsupported_type")
				continue
			}
			text, r := b.call(tool, object{"path": tt.name})
			got := fields(t, text)
			if r.IsError || got["path"] != filepath.Join(b.dir, tt.name) || got["mimeType"] != want || got["size"] != float64(len(tt.content)) {
				t.Errorf("%s %s: %s", tool, tt.name, text)
				continue
			}
			kind := event.ImageInlinePart
			if tool == "readPdfFile" {
				kind = event.FileInlinePart
			}
			part := r.Result[1]
			data, err := base64.StdEncoding.DecodeString(part.EncodedData)
			if err != nil || part.Type != kind || part.MIMEType != want || string(data) != tt.content {
				t.Errorf("%s %s: part %+v, %v", tool, tt.name, part, err)
			}
		}
	}
}

func TestB21TextNotThere(t *testing.T) {
	b := newBench(t)
	before := b.tree()
	b.mustFail("editTextFile", object{"path": "a.txt", "oldText": "gamma", "newText": "x"}, "no_match")
	b.mustFail("editTextFile", object{"path": "a.txt", "oldText": "", "newText": "x"}, "invalid_arguments")
	got := b.mustFail("editTextFile", object{"path": "a.txt", "oldText": "a", "newText": "x"}, "ambiguous")
	if got["matches"] != 3.0 {
		t.Errorf("matches %v", got["matches"])
	}
	b.unchanged(before)
}

// N2: a listing shows a link that leads out, and nothing of where it leads.
func TestN2LinksInListings(t *testing.T) {
	b := hostileBench(t)
	got := b.mustDo("listDirectory", nil)
	seen := 0
	for _, raw := range got["items"].([]any) {
		item := raw.(object)
		switch item["name"] {
		case "leak.txt", "leak.png", "out", "abs", "abs.txt", "rootdir", "up", "sneaky", "chain", "chain2", "nowhere", "p", "j", "e", "loop":
			seen++
			if item["link"] != true || item["size"] != nil || item["modified"] != nil || item["type"] != "file" {
				t.Errorf("%v", item)
			}
		case "perstack", ".env", "hard":
			t.Errorf("%v is shown", item["name"])
		}
	}
	if seen != 15 {
		t.Errorf("%d links of 15 are shown", seen)
	}
}

// N6: the workspace itself, and what would take protected things along, stay.
func TestN6Root(t *testing.T) {
	b := hostileBench(t)
	before := b.tree()
	for _, path := range []string{".", "", b.dir, "sub/..", "sub/deep/../..", "./"} {
		for _, recursive := range []bool{true, false} {
			b.mustFail("deleteDirectory", object{"path": path, "recursive": recursive}, "protected")
		}
		b.mustFail("moveFile", object{"source": path, "destination": "inside"}, "protected")
		text, r := b.call("deleteFile", object{"path": path})
		if code := fields(t, text)["code"]; !r.IsError || code != "protected" && code != "is_a_directory" {
			t.Error(text)
		}
	}
	b.mustFail("deleteDirectory", object{"path": "sub", "recursive": true}, "protected") // it holds an env file
	b.unchanged(before)
	// A directory must not be moved into itself, nor over what it lies in.
	text, r := b.call("moveFile", object{"source": "sub/deep", "destination": "sub/deep/er"})
	if !r.IsError {
		t.Error(text)
	}
	b.mustFail("moveFile", object{"source": "sub/deep", "destination": "sub"}, "already_exists")
	b.unchanged(before)
}

// Moving a directory must not bring what is in it out of sight of the guard.
func TestMovingProtectedAlong(t *testing.T) {
	b := hostileBench(t)
	before := b.tree()
	b.mustFail("moveFile", object{"source": "perstack", "destination": "visible"}, "protected")
	b.mustFail("moveFile", object{"source": ".env", "destination": "visible"}, "protected")
	b.mustFail("moveFile", object{"source": "a.txt", "destination": "perstack/a.txt"}, "protected")
	b.mustFail("moveFile", object{"source": "a.txt", "destination": "sub/.env"}, "protected")
	b.unchanged(before)
	// An env file keeps its name when its directory moves, and so stays protected.
	text, r := b.call("moveFile", object{"source": "sub", "destination": "other"})
	if r.IsError && fields(t, text)["code"] != "protected" {
		t.Error(text)
	}
	for _, dir := range []string{"sub", "other"} {
		text, r := b.call("readTextFile", object{"path": dir + "/.env.local"})
		if !r.IsError || strings.Contains(text, canary) {
			t.Error(text)
		}
	}
}

// A directory that holds a file which the user named as an env file stays where it is:
// under another path the file could not be recognised by its name.
func TestMovingNamedEnvFileAlong(t *testing.T) {
	b := newBench(t)
	b.put("config/deep/keys.txt", canary)
	ws, err := workspace.Open(b.dir, workspace.Options{Protected: []string{filepath.Join(b.dir, "config/deep/keys.txt")}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	b.Skill = newSkill(ws)
	before := b.tree()
	for _, dir := range []string{"config", "config/deep", "config/deep/keys.txt"} {
		b.mustFail("moveFile", object{"source": dir, "destination": "visible"}, "protected")
	}
	for _, dir := range []string{"config", "config/deep"} {
		b.mustFail("deleteDirectory", object{"path": dir, "recursive": true}, "protected")
	}
	b.mustFail("readTextFile", object{"path": "config/deep/keys.txt"}, "protected")
	b.unchanged(before)
}

// N10: a pipe does not hang a tool, however often it is tried.
func TestN10Pipe(t *testing.T) {
	b := newBench(t)
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	b.link("pipe", "l")
	for range 4 {
		for _, path := range []string{"pipe", "l"} {
			b.mustFail("readTextFile", object{"path": path}, "not_regular")
			b.mustFail("readImageFile", object{"path": path}, "not_regular")
			b.mustFail("readPdfFile", object{"path": path}, "not_regular")
			b.mustFail("writeTextFile", object{"path": path, "text": "x"}, "not_regular")
			b.mustFail("appendTextFile", object{"path": path, "text": "x"}, "not_regular")
			b.mustFail("editTextFile", object{"path": path, "oldText": "x", "newText": "y"}, "not_regular")
			b.mustFail("exec", object{"command": "pwd", "cwd": path}, "not_a_directory")
			b.mustFail("deleteDirectory", object{"path": path}, "not_a_directory")
		}
		if got := b.mustDo("getFileInfo", object{"path": "pipe"}); got["type"] != "other" {
			t.Error(got)
		}
	}
	if text, r := b.call("listDirectory", nil); r.IsError || !strings.Contains(text, "pipe") {
		t.Error(text)
	}
	b.mustDo("moveFile", object{"source": "pipe", "destination": "pipe2"})
	b.mustDo("deleteFile", object{"path": "pipe2"})
	b.lacks("pipe2")
}

// N13: an edit changes the bytes of the match and no others, and means what it says.
func TestN13Edit(t *testing.T) {
	tests := []struct{ content, oldText, newText, want string }{
		{"caf\xe9 one \xff\xfe", "one", "two", "caf\xe9 two \xff\xfe"},
		{"price: x\n", "x", "$& $1 $$ $`", "price: $& $1 $$ $`\n"},
		{"a\r\nb\r\nc\r\n", "b\nc", "x\ny", "a\r\nx\r\ny\r\n"},
		{"a\r\nb\nc\n", "b\nc", "x", "a\r\nx\n"},
	}
	b := newBench(t)
	for _, tt := range tests {
		b.put("e.txt", tt.content)
		got := b.mustDo("editTextFile", object{"path": "e.txt", "oldText": tt.oldText, "newText": tt.newText})
		if got["sizeBefore"] != float64(len(tt.content)) || got["size"] != float64(len(tt.want)) {
			t.Error(got)
		}
		b.holds("e.txt", tt.want)
	}
	b.put("bin", "one\x00two")
	b.mustFail("editTextFile", object{"path": "bin", "oldText": "one", "newText": "1"}, "binary")
	b.holds("bin", "one\x00two")
}
