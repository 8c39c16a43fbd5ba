package calls

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/textdiff"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
)

// A command is what exec would run.
type command struct {
	program string // the file; the name if none was found
	dir     string // absolute
	env     []string
}

// readCommand reads the arguments of exec, and finds the program as exec does.
func (c *call) readCommand() {
	var args struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		Cwd     string            `json:"cwd"`
	}
	if json.Unmarshal(c.request.Call.Args, &args) != nil || args.Command == "" {
		return // the tool refuses it
	}
	q := &c.question
	q.Command = append([]string{args.Command}, args.Args...)
	q.Env = slices.Sorted(maps.Keys(args.Env))
	c.command = &command{dir: c.workspacePath(args.Cwd)}
	for _, name := range q.Env {
		c.command.env = append(c.command.env, name+"="+args.Env[name])
	}
	found := args.Command
	if c.Inside == "" { // the programs of a container are not those of this machine
		environ, _ := sandbox.Environment(c.Environ, args.Env)
		if file, err := sandbox.LookPath(args.Command, environ); err == nil {
			found = file
		}
	}
	if strings.ContainsAny(found, `/\`) && !filepath.IsAbs(found) {
		found = filepath.Join(c.command.dir, found)
	}
	c.command.program = found
	// A link in the workspace counts as a program of the workspace: the job can change where it leads.
	q.InWorkspace = c.relative(c.outside(found)) != "" || c.Inside == "" && c.leadsInside(found)
}

// leadsInside reports whether a program of the system is a link into the workspace.
func (c *call) leadsInside(program string) bool {
	real, err := filepath.EvalSymlinks(program)
	return err == nil && c.relative(real) != ""
}

// workspacePath returns a path that a call names as an absolute one on this machine.
func (c *call) workspacePath(name string) string {
	name = c.outside(filepath.FromSlash(name))
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Workspace.Path(), name)
	}
	return filepath.Clean(name)
}

// outside returns a path of the container as one of this machine, if it lies in the workspace.
func (c *call) outside(name string) string {
	if c.Inside == "" {
		return name
	}
	if rest, ok := strings.CutPrefix(path.Clean(name), c.Inside); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(c.Workspace.Path(), rest)
	}
	return name
}

// A fileArgs has the arguments of all file tools.
type fileArgs struct {
	Path        *string `json:"path"`
	Source      *string `json:"source"`
	Destination *string `json:"destination"`
	Recursive   bool    `json:"recursive"`
	Text        string  `json:"text"`
	OldText     string  `json:"oldText"`
	NewText     string  `json:"newText"`
}

func (c *call) fileArgs() (args fileArgs) {
	_ = json.Unmarshal(c.request.Call.Args, &args) // the tool refuses what is none
	return args
}

// resolvePaths returns the paths that a file tool names, relative to the workspace, with links
// resolved as far as they exist.
func (c *call) resolvePaths(ctx context.Context) (all []string) {
	args := c.fileArgs()
	for _, name := range []*string{args.Path, args.Source, args.Destination} {
		if name != nil {
			all = append(all, c.resolve(ctx, c.workspacePath(*name)))
		}
	}
	if len(all) == 0 && slices.Contains([]string{"glob", "grep", "listDirectory"}, c.request.Call.ToolName) {
		all = []string{"."} // what they look at if the call does not say
	}
	return all
}

// isWhole reports whether a file tool reaches everything below the directory that it names.
func (c *call) isWhole(ctx context.Context) bool {
	args := c.fileArgs()
	name := args.Path
	switch c.request.Call.ToolName {
	case "grep":
		if name == nil {
			return true
		}
	case "moveFile":
		name = args.Source
	case "deleteDirectory":
		return args.Recursive
	default:
		return false
	}
	if name == nil {
		return false
	}
	info, err := c.Workspace.Stat(ctx, c.workspacePath(*name))
	return err == nil && info.Dir
}

func (c *call) resolve(ctx context.Context, name string) string {
	rest := ""
	for at := name; ; at = filepath.Dir(at) {
		if info, err := c.Workspace.Stat(ctx, at); err == nil {
			return c.relative(filepath.Join(info.Path, rest))
		}
		if at == filepath.Dir(at) || c.relative(at) == "" {
			return c.relative(name)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// effect says what the call would do.
func (c *call) effect(ctx context.Context) event.Effect {
	switch {
	case c.command != nil:
		return event.Effect{Kind: event.CommandEffect, Program: c.command.program, Argv: c.question.Command, Dir: c.command.dir, Env: c.command.env, Opaque: c.question.Opaque()}
	case len(c.paths) > 0:
		return event.Effect{Kind: event.FileEffect, Path: strings.Join(c.paths, " -> "), Diff: c.diff(ctx)}
	}
	return event.Effect{Kind: event.ToolEffect}
}

// maxDiff is how many bytes of a file are compared. The arguments of a call are shown in any case.
const maxDiff = 1 << 20

// diff returns how a file tool would change its file; "" where it cannot be shown.
func (c *call) diff(ctx context.Context) string {
	args := c.fileArgs()
	if args.Path == nil {
		return ""
	}
	_, before, err := c.Workspace.ReadFile(ctx, c.workspacePath(*args.Path), maxDiff)
	var after []byte
	switch c.request.Call.ToolName {
	case "writeTextFile":
		after = []byte(args.Text)
	case "appendTextFile":
		after = slices.Concat(before, []byte(args.Text))
	case "editTextFile":
		if err != nil || bytes.Count(before, []byte(args.OldText)) != 1 { // the tool decides what it means
			before, after = []byte(args.OldText), []byte(args.NewText)
			break
		}
		after = bytes.Replace(before, []byte(args.OldText), []byte(args.NewText), 1)
	case "deleteFile":
	default:
		return ""
	}
	if len(after) > maxDiff || textdiff.IsBinary(before) || textdiff.IsBinary(after) {
		return ""
	}
	return textdiff.Hunks(before, after)
}

// digestOf returns the digest of everything that an answer is about: the tool, its arguments, the
// program, files of the workspace that the call names, the directory and the environment. Each part
// has its length before it, so that two calls with the same digest have the same parts.
func (c *call) digestOf(ctx context.Context) string {
	if c.digest != "" {
		return c.digest
	}
	sum := sha256.New()
	add := func(name, text string) { fmt.Fprintf(sum, "%s %d %s\n", name, len(text), text) }
	add("expert", c.question.Expert)
	add("skill", c.question.Skill)
	tool := c.request.Tool
	add("tool", c.question.Tool+"\n"+tool.Digest)
	if tool.Digest == "" && !tool.Ours {
		add("definition", tool.Description+"\n"+string(tool.InputSchema))
	}
	add("arguments", string(canonical(c.request.Call.Args)))
	add("sandbox", c.sandbox())
	if c.command != nil {
		add("program", c.command.program)
		add("directory", c.command.dir)
		for _, kv := range c.command.env {
			add("variable", kv)
		}
		if c.question.InWorkspace {
			c.addFile(ctx, sum, c.command.program)
		}
		for _, word := range c.question.Command[1:] {
			c.addNamed(ctx, sum, c.command.dir, word)
		}
		if c.question.Opaque() {
			names, all := innerNames(c.question.Command[1:])
			for _, name := range append(names, unnamed...) {
				c.addNamed(ctx, sum, c.command.dir, name)
			}
			if !all {
				add("call", c.request.RunID+"/"+c.request.Call.ID) // the answer is for this call alone
			}
		}
	} else {
		for _, text := range texts(c.request.Call.Args) {
			c.addNamed(ctx, sum, c.Workspace.Path(), text)
		}
	}
	c.digest = hex.EncodeToString(sum.Sum(nil))
	return c.digest
}

// unnamed are files that programs which run others read without being told their names. The list is
// not complete, and these files can lead to others.
var unnamed = strings.Fields(`
	Makefile makefile GNUmakefile build.ninja CMakeLists.txt justfile Justfile .justfile Taskfile.yml Taskfile.yaml
	package.json Cargo.toml build.rs go.mod deno.json deno.jsonc pyproject.toml setup.py setup.cfg conftest.py tox.ini noxfile.py
	Rakefile Gemfile build.xml pom.xml build.gradle build.gradle.kts settings.gradle composer.json
	Dockerfile compose.yml compose.yaml docker-compose.yml docker-compose.yaml`)

// maxInnerNames is how many words of a script are taken for names of files.
const maxInnerNames = 10_000

// innerNames returns the words of scripts in arguments that can be names of files, as in
// sh -c "sh run.sh". all is false if there are too many.
func innerNames(args []string) (names []string, all bool) {
	seen := make(map[string]bool)
	for _, arg := range args {
		for name := range strings.FieldsFuncSeq(arg, func(c rune) bool { return c <= ' ' || strings.ContainsRune("\"'`$;|&<>(){}[],=", c) }) {
			switch {
			case name == arg || seen[name]:
			case len(names) == maxInnerNames:
				return names, false
			default:
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names, true
}

// addNamed adds the files that a word of a call can name, as in FILE and --option=FILE.
func (c *call) addNamed(ctx context.Context, sum hash.Hash, dir, word string) {
	names := []string{word}
	if _, value, ok := strings.Cut(word, "="); ok {
		names = append(names, value)
	}
	for _, name := range names {
		if name == "" || len(name) > maxName || strings.ContainsRune(name, 0) {
			continue
		}
		name = c.outside(filepath.FromSlash(name))
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if c.relative(name) != "" {
			c.addFile(ctx, sum, name)
		}
	}
}

// maxName is how long a word can be to be the name of a file. The text of a file is longer.
const maxName = 4096

// maxHashed is how many bytes of files are read to decide about one call: about a second of work. A
// model can name any number of files, of any size.
const maxHashed = 256 << 20

// addFile adds the content of a regular file in the workspace. Everything else counts as missing.
func (c *call) addFile(ctx context.Context, sum hash.Hash, name string) {
	f, err := c.Workspace.OpenFile(ctx, name)
	if err != nil {
		return
	}
	defer f.Close()
	digest, ok := c.files[f.Path]
	if !ok { // a call can name a large file many times
		digest = c.fileDigest(ctx, f)
		c.files[f.Path] = digest
	}
	fmt.Fprintf(sum, "file %d %s %s\n", len(f.Path), f.Path, digest)
}

// fileDigest returns the digest of the content of a file. If too much would be read, it is that of
// what changes with the content.
func (c *call) fileDigest(ctx context.Context, f *workspace.File) string {
	content := sha256.New()
	var err error
	if f.Size <= maxHashed-c.hashed {
		var n int64
		n, err = io.Copy(content, io.LimitReader(stoppable{ctx, f}, f.Size)) // it can grow
		c.hashed += n
	} else {
		c.unread = true
		stamp, failed := f.Stamp()
		fmt.Fprintf(content, "stamp: %d %+v", f.Size, stamp)
		err = cmp.Or(failed, ctx.Err())
	}
	if err != nil {
		fmt.Fprintf(content, "unreadable: %v", err)
	}
	return hex.EncodeToString(content.Sum(nil))
}

// A stoppable ends when its context does: a file can be large.
type stoppable struct {
	ctx context.Context
	io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

// texts returns all texts in arguments, in order.
func texts(args rawjson.Value) (all []string) {
	var text string
	var members map[string]rawjson.Value
	var items []rawjson.Value
	switch {
	case json.Unmarshal(args, &text) == nil:
		return []string{text}
	case json.Unmarshal(args, &items) == nil:
		for _, item := range items {
			all = append(all, texts(item)...)
		}
	case json.Unmarshal(args, &members) == nil:
		for _, name := range slices.Sorted(maps.Keys(members)) {
			all = append(all, texts(members[name])...)
		}
	}
	return all
}
