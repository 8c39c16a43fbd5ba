package programs

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// project makes a directory with files, by path. A text that begins with "->" makes a link.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func find(t *testing.T, dir string, argv ...string) *Program {
	t.Helper()
	p, err := Find(dir, argv)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	dir := project(t, map[string]string{
		"server.js": "a", "package.json": "{}", "data.db": "x", ".env": "KEY=1", "tool": "#!/bin/sh\n",
		"srv/package.json": "{}", "srv/dist/index.js": "b", "srv/lib/c.js": "c",
		"tools/one.py": "d", "tools/two.py": "e", "py/pyproject.toml": "", "py/src/main.py": "f",
		"link.js": "->srv/dist/index.js", "away": "->/usr/bin/env", "mod/__main__.py": "g", "deep/src/app.js": "h",
		"py/app.py": "k", "dir": "->srv/lib", "Makefile": "l", "build/x.mk": "m", "main.go": "n", "cmd/x/main.go": "o", "crate/src/main.rs": "p", "crate/Cargo.toml": "q",
		"mono/package.json": "{}", "mono/a/package.json": "{}", "mono/a/index.js": "i", "mono/a/node_modules/b": "->../../b", "mono/b/index.js": "j",
	})
	tests := []struct {
		argv  string
		files string
		dirs  string
		links string
		bare  int
	}{
		{"node server.js", "server.js", "", "", 1},
		{"node server", "server.js", "", "", 1},
		{"./tool", "tool", "", "", 1},
		{"node srv/dist/index.js", "srv/dist/index.js", "srv", "", 0},
		{"node srv", "", "srv", "", 0},
		{"node ./srv/dist/missing.js", "srv/dist/missing.js", "srv", "", 0},
		{"node missing.js", "missing.js", "", "", 1},
		{"node --require=./srv/lib/c.js server.js", "server.js srv/lib/c.js", "srv", "", 1},
		{"node --import ./srv/lib/c.js server", "server.js srv/lib/c.js", "srv", "", 1},
		{"node -r dotenv/config server data.db", "server.js", "", "", 1},
		{"node --env-file .env server", "server.js", "", "", 1},
		{"node link.js", "srv/dist/index.js", "srv", "link.js", 0},
		{"./away", "", "", "away", 0},
		{"node deep/src/app.js", "deep/src/app.js", "deep/src", "", 0}, // the package is the workspace
		{"node mono/a/index.js", "mono/a/index.js", "mono/a mono/b", "", 0},
		{"python3.12 -m mod", "mod/__main__.py", "mod", "", 0},
		{"python3 py/src/main.py", "py/src/main.py", "py", "", 0},
		{"uv --directory py run src/main.py", "py/src/main.py", "py", "", 0},
		{"env FOO=1 node server.js data.db", "server.js", "", "", 1},
		{"mcp-sqlite data.db", "", "", "", 0},
		{"mcp-files srv", "", "", "", 0},
		{"mcp-plugins srv/lib/c.js", "srv/lib/c.js", "srv", "", 0},
		{"/usr/bin/env node", "", "", "", 0},
		{dir + "/srv/dist/index.js", "srv/dist/index.js", "srv", "", 0},
		{"./srv/../tool", "tool", "", "", 1},
		{"node dir/../dist/index.js", "srv/dist/index.js", "srv", "dir", 0},

		// What only starts another program is looked through.
		{"env NODE_ENV=x node server", "server.js", "", "", 1},
		{"env -i -u HOME NODE_OPTIONS=--require=./srv/lib/c.js node server", "server.js srv/lib/c.js", "srv", "", 1},
		{"env PYTHONPATH=tools python3 py/src/main.py", "py/src/main.py", "py tools", "", 0},
		{"env -C srv node dist/index.js", "srv/dist/index.js", "srv", "", 0},
		{"env --chdir=srv node dist/index", "srv/dist/index srv/dist/index.js", "srv", "", 0},
		{"env -S node server", "server.js", "", "", 1},
		{"timeout -k 5 10 node server", "server.js", "", "", 1},
		{"nice -n 5 nohup setsid -w stdbuf -o L node server", "server.js", "", "", 1},
		{"/usr/bin/env ./tool", "tool", "", "", 1},

		// What follows a script is for the script, and what an unknown program gets is data.
		{"node server.js --dir srv -r data.db --run x", "server.js", "", "", 1},
		{"python3 py/src/main.py -m mod", "py/src/main.py", "py", "", 0},
		{"mcp-notes --directory srv --dir=mod", "", "", "", 0},
		{"npm run x -- --prefix srv", "", "", "", 0},
		{"python3 -Im mod", "mod/__main__.py", "mod", "", 0},
		{"python3 -mmod", "mod/__main__.py", "mod", "", 0},
		{"ruby -rbundle tools/one.py", "tools/one.py", "tools", "", 0},

		// The text of a shell is no path.
		{"sh -c srv/lib/c", "", "", "", 0},
		{"bash -lc srv/lib/c.js", "", "", "", 0},
		{"python3 -c tools/one.py", "", "", "", 0},
		{"node -e srv/lib/c.js", "", "", "", 0},
		{"sh tool -c x", "tool", "", "", 1},
		{"cmd /c node server", "server.js", "", "", 1},

		// Runners.
		{"npm run srv", "", "", "", 0},
		{"npm --prefix srv start", "", "srv", "", 0},
		{"npm exec -- node server", "server.js", "", "", 1},
		{"yarn node server", "server.js", "", "", 1},
		{"uv run --with mcp python tools/one.py", "tools/one.py", "tools", "", 0},
		{"uv run node server", "server.js", "", "", 1},
		{"poetry run python -m mod", "mod/__main__.py", "mod", "", 0},
		{"make -C srv start", "", "srv", "", 0},
		{"make -f build/x.mk start", "", "", "", 0},
		{"make SERVER=srv/lib/c.js start", "srv/lib/c.js", "srv", "", 0},
		{"go run .", "main.go", "", "", 1},
		{"go run ./cmd/x", "", "cmd/x", "", 0},
		{"cargo run --manifest-path crate/Cargo.toml", "", "crate/src", "", 0},
		{"uvicorn --app-dir py app:app", "py/app.py", "py", "", 0},
		{"uvicorn tools.one:app", "tools/one.py", "tools", "", 0},
		{"bun run server.js", "server.js", "", "", 1},
		{"deno run -A srv/lib/c.js", "srv/lib/c.js", "srv", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.argv, func(t *testing.T) {
			p := find(t, dir, strings.Fields(tt.argv)...)
			got := fmt.Sprint(p.Files, p.Dirs, p.Links, len(p.Bare))
			want := fmt.Sprint(strings.Fields(tt.files), strings.Fields(tt.dirs), strings.Fields(tt.links), tt.bare)
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// Runners find their code by themselves. The files that decide about it are part of the program, even
// if they do not exist, and a reason says that there can be more.
func TestRunners(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	dir := project(t, map[string]string{
		"package.json": "{}", "server.js": "a", "srv/x.js": "b", "own/package.json": "{}", "own/deep/x.js": "c", "ts/a/x.ts": "d", "tsconfig.json": "{}",
		"Makefile": "e", "app.csproj": "f", "mod/__main__.py": "g", "sub/go.mod": "h", "sub/cmd/main.go": "i", "src/main.rs": "j", "Rakefile": "->srv/rake", "srv/rake": "k",
	})
	tests := []struct {
		argv      string
		manifests string
		loaders   string
	}{
		{"npm run x", ".npmrc package.json", "npm"},
		{"npm start", ".npmrc package.json", "npm"},
		{"pnpm x", ".npmrc .pnpmfile.cjs .pnpmfile.mjs package.json pnpm-workspace.yaml", "pnpm"},
		{"yarn x", ".npmrc .pnp.cjs .pnp.loader.mjs .yarnrc .yarnrc.yml package.json", "yarn"},
		{"npm --prefix own run x", ".npmrc", "npm"},
		{"node --run x", ".npmrc package.json", "node --run"},
		{"bun run x", "bunfig.toml package.json tsconfig.json", "bun"},
		{"bun srv/x.js", "bunfig.toml package.json tsconfig.json", ""},
		{"deno task x", "deno.json deno.jsonc package.json", "deno"},
		{"deno run own/deep/x.js", "deno.json deno.jsonc", ""},
		{"make x", "BSDmakefile GNUmakefile Makefile makefile", "make"},
		{"make -f own/x.mk x", "own/BSDmakefile own/GNUmakefile own/Makefile own/makefile own/x.mk", "make"},
		{"env A=1 make x", "BSDmakefile GNUmakefile Makefile makefile", "make"},
		{"just x", ".justfile Justfile justfile", "just"},
		{"rake x", "Rakefile.rb rakefile rakefile.rb srv/rake", "rake"},
		{"go run .", "go.mod go.sum go.work go.work.sum", "go"},
		{"go -C sub run ./cmd", "go.sum go.work go.work.sum", "go"},
		{"uv run x", ".python-version pyproject.toml uv.lock uv.toml", "uv"},
		{"uv run python3 -m mod", ".python-version pyproject.toml uv.lock uv.toml", "uv python -m"},
		{"poetry run x", "poetry.lock poetry.toml pyproject.toml", "poetry"},
		{"uvicorn x:app", "", "uvicorn"},
		{"dotnet run", "Directory.Build.props Directory.Build.targets Directory.Packages.props NuGet.Config app.csproj global.json nuget.config", "dotnet"},
		{"python3 -m mod", "", "python -m"},
		{"python3 -m installed", "", ""},
		{"./gradlew run", "build.gradle build.gradle.kts gradle.properties gradle/wrapper/gradle-wrapper.jar gradle/wrapper/gradle-wrapper.properties settings.gradle settings.gradle.kts", "gradlew"},
		{"node .", "", ""},
		{"node server.js --run x", "package.json", ""},
		{"sh srv/x.js -c x", "", ""},
		{"perl -ne x", "", "perl -ne"},
		{"sh -c x", "", "sh -c"},
		{"python3 -c x", "", "python -c"},

		// Node takes the nearest package.json, and looks no further.
		{"node server.js", "package.json", ""},
		{"node srv/x.js", "package.json", ""},
		{"node srv/x", "package.json", ""},
		{"node own/deep/x.js", "", ""},
		{"node --import ./srv/x.js own/deep/x.js", "package.json", ""},
		{"tsx ts/a/x.ts", "package.json ts/package.json ts/tsconfig.json tsconfig.json", ""},
		{"python3 srv/x.js", "", ""},
		{"node server.js -f data.txt --config x.json", "package.json", ""},
		{"mcp-sqlite data.db", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.argv, func(t *testing.T) {
			p := find(t, dir, strings.Fields(tt.argv)...)
			var loaders []string
			for _, l := range p.Loaders {
				loaders = append(loaders, l.Name)
			}
			if got := strings.Join(p.Manifests, " "); got != tt.manifests {
				t.Errorf("manifests %s, want %s", got, tt.manifests)
			}
			if got := strings.Join(loaders, " "); got != tt.loaders {
				t.Errorf("loaders %s, want %s", got, tt.loaders)
			}
		})
	}
	// A program in PATH is not one with arguments.
	if p, err := Named(dir, "/usr/bin/make"); err != nil || !p.Empty() {
		t.Errorf("%+v, %v", p, err)
	}
	if p := find(t, dir, "cargo", "run"); !slices.Equal(p.Dirs, []string{"src"}) {
		t.Errorf("directories %q", p.Dirs)
	}
}

func TestIsPython(t *testing.T) {
	for argv, want := range map[string]bool{
		"python3.12 -m x": true, "/usr/bin/env A=1 python3 -m x": true, "timeout 5 uv run x": true, "node x.js": false, "env": false, "": false,
	} {
		if got := IsPython(strings.Fields(argv)); got != want {
			t.Errorf("%q: %v", argv, got)
		}
	}
}

// A manifest that appears or changes is named, and cannot be made by a file tool.
func TestManifests(t *testing.T) {
	dir := project(t, map[string]string{"package.json": "{}"})
	p := find(t, dir, "npm", "start")
	if got := p.Frozen(); !slices.Equal(got, []string{filepath.Join(dir, ".npmrc"), filepath.Join(dir, "package.json")}) || p.HasCode() {
		t.Errorf("frozen %q", got)
	}
	pinned, err := p.Digest()
	if err != nil || Count(pinned) != 1 {
		t.Fatal(pinned, err)
	}
	for _, name := range []string{".npmrc", "package.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("evil"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	now, err := find(t, dir, "npm", "start").Digest()
	if got := Compare(pinned, now); err != nil || got != "package.json has changed, .npmrc is new" {
		t.Error(got, err)
	}
}

// A path of the container leads into the workspace, if a container has it there.
func TestAlias(t *testing.T) {
	dir := project(t, map[string]string{"srv/index.js": "a"})
	for _, argv := range [][]string{{"/workspace/srv/index.js"}, {"node", "--import=/workspace/srv/index.js"}} {
		p, err := Find(dir, argv, "/workspace")
		if err != nil || !slices.Equal(p.Dirs, []string{"srv"}) {
			t.Errorf("%q: %+v, %v", argv, p, err)
		}
		if p := find(t, dir, argv...); !p.Empty() {
			t.Errorf("%q without a container: %+v", argv, p)
		}
	}
}

// A program that lies in a package of its own, without a package.json in the workspace, is covered
// with its directory.
func TestDirectoryWithoutManifest(t *testing.T) {
	dir := project(t, map[string]string{"tools/one.py": "d", "tools/two.py": "e"})
	if p := find(t, dir, "python3", "tools/one.py"); !slices.Equal(p.Dirs, []string{"tools"}) {
		t.Errorf("directories %q", p.Dirs)
	}
}

// A change of any file of the program is named. What is left out can change.
func TestCompare(t *testing.T) {
	dir := project(t, map[string]string{
		"srv/package.json": "{}", "srv/index.js": "a", "srv/lib.js": "b", "srv/.env": "KEY=1", "srv/__pycache__/x.pyc": "c", "other.js": "d", "l": "->srv/index.js",
	})
	digest := func() string {
		text, err := find(t, dir, "node", "l").Digest()
		if err != nil || Check(text) != nil {
			t.Fatal(text, err, Check(text))
		}
		return text
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pinned := digest()
	if lines := Count(pinned); lines != 4 {
		t.Errorf("%d lines: %s", lines, pinned)
	}
	for _, name := range []string{"srv/.env", "srv/__pycache__/x.pyc", "other.js"} {
		write(name, "changed")
	}
	if got := Compare(pinned, digest()); got != "" {
		t.Errorf("what is left out changed: %s", got)
	}
	write("srv/lib.js", "evil")
	if got := Compare(pinned, digest()); got != "srv/lib.js has changed" {
		t.Error(got)
	}
	write("srv/lib.js", "b")
	write("srv/new.js", "evil")
	if got := Compare(pinned, digest()); got != "srv/new.js is new" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(dir, "srv/new.js")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "srv"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if got := Compare(pinned, digest()); !strings.Contains(got, "srv/index.js is gone") {
		t.Error(got)
	}
	if err := os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "srv")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other.js", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if got := Compare(pinned, digest()); got != "l no longer leads to srv/index.js" {
		t.Error(got)
	}
}

// A link that leads elsewhere is named, and not what it led to: that is still there.
func TestCompareLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the links are those of Unix")
	}
	before := map[string]string{"tools": "->real", "real/s.js": "a", "real/b.js": "b"}
	with := func(changes map[string]string) map[string]string {
		all := maps.Clone(before)
		maps.Copy(all, changes)
		return all
	}
	digest := func(files map[string]string) string {
		text, err := find(t, project(t, files), "node", "tools/s.js").Digest()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	pinned := digest(before)
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"the same", before, ""},
		{"a directory", map[string]string{"real/s.js": "a", "real/b.js": "b", "tools/s.js": "evil"}, "tools no longer leads to real"},
		{"another link", with(map[string]string{"tools": "->evil", "evil/s.js": "evil"}), "tools no longer leads to real"},
		{"two links", with(map[string]string{"tools": "->more", "more": "->real"}), "tools no longer leads to real"},
		{"a changed file", with(map[string]string{"real/b.js": "evil"}), "real/b.js has changed"},
		{"a manifest", with(map[string]string{"package.json": "{}"}), "package.json is new"},
	} {
		if got := Compare(pinned, digest(tt.files)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What is left out of the digest is nothing that a loader takes for code.
func TestLeftOut(t *testing.T) {
	dir := project(t, map[string]string{
		"srv/package.json": "{}", "srv/index.js": "a", "srv/.env": "KEY=1", "srv/.env.local": "KEY=1", "srv/.git/config": "", "srv/__pycache__/x.cpython-311.pyc": "",
		"srv/.env.js": "b", "srv/.ENV.Py": "b", "srv/.env.d/x.js": "c", "srv/sub/.env/bin/activate": "d", "srv/__pycache__/x.py": "e", "srv/.hidden/x": "f", "srv/node_modules/m/.git": "g",
		".env.cjs": "h",
	})
	names := func(argv ...string) string {
		text, err := find(t, dir, argv...).Digest()
		if err != nil || Check(text) != nil {
			t.Fatal(text, err, Check(text))
		}
		var all []string
		for line := range strings.Lines(text) {
			if sum, name, _ := strings.Cut(strings.TrimSpace(line), "  "); sum != absent {
				all = append(all, name)
			}
		}
		return strings.Join(all, " ")
	}
	const want = "srv/.ENV.Py srv/.env.d/x.js srv/.env.js srv/.hidden/x srv/__pycache__/x.py srv/index.js srv/node_modules/m/.git srv/package.json srv/sub/.env/bin/activate"
	if got := names("node", "srv/index.js"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := names("node", ".env.cjs"); got != ".env.cjs" {
		t.Errorf("got %s", got)
	}
	// Python that ignores its variables reads compiled code.
	if got := names("python3", "-I", "srv/index.js"); !strings.Contains(got, "srv/__pycache__/x.cpython-311.pyc") {
		t.Errorf("got %s", got)
	}
}

// What cannot be read has no digest.
func TestUnreadable(t *testing.T) {
	dir := project(t, map[string]string{"srv/package.json": "{}", "srv/index.js": "a", "big.js": ""})
	listener, err := net.Listen("unix", filepath.Join(dir, "srv", "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if text, err := find(t, dir, "node", "srv/index.js").Digest(); err == nil {
		t.Errorf("a socket has a digest: %s", text)
	}
	if err := os.Truncate(filepath.Join(dir, "big.js"), maxBytes+1); err != nil {
		t.Fatal(err)
	}
	if text, err := find(t, dir, "node", "big.js").Digest(); err == nil || !strings.Contains(err.Error(), "more than 512 MiB") {
		t.Errorf("a part of a file has a digest: %s, %v", text, err)
	}
}

func TestCheck(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"":                                     "",
		sum + "  a\nabsent  b\n":               "",
		sum + "  a\n" + sum + "  \"b\\nc\"\n":  "",
		sum + "  b\n" + sum + "  a\n":          "not in the order",
		sum + "  a\n" + sum + "  a\n":          "twice",
		sum + "  a\nabsent  b\nabsent  a\n":    "not in the order",
		"unreadable  a\n":                      "not a digest and a path",
		sum + "  a":                            "not a digest and a path",
		sum + "  \n":                           "not a digest and a path",
		sum + "  \"a\"\n":                      "not a path",
		sum + "  \"a\n":                        "not a path",
		sum + "  \"\"\n":                       "not a path",
		sum + "  \"\\x61\"\n":                  "not a path",
		sum[1:] + "  a\n":                      "not a digest and a path",
		strings.ToUpper("a"+sum[1:]) + "  a\n": "not a digest and a path",
	} {
		if err := Check(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Packages that Node finds in the directories above a program are not compared, and that is told.
func TestModules(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	dir := project(t, map[string]string{
		"server.js": "", "node_modules/m/index.js": "", "one.py": "",
		"srv/index.js": "", "srv/cli.mjs": "", "srv/one.py": "",
		"own/package.json": "{}", "own/src/index.js": "", "own/node_modules/m/index.js": "",
		"mono/a/package.json": "{}", "mono/a/index.js": "", "mono/node_modules": "->../store", "store/m/index.js": "",
	})
	bare := project(t, map[string]string{"srv/index.js": "", "node_modules": "a file"})
	for _, tt := range []struct{ dir, argv, want string }{
		{dir, "node srv/index.js", "node_modules"},
		{dir, "node srv", "node_modules"},
		{dir, "env A=b tsx srv/index.js", "node_modules"},
		{dir, "bun run srv/index.js", "node_modules"},
		{dir, "./srv/cli.mjs", "node_modules"},
		{dir, "node server.js", "node_modules"},
		{dir, "node own/src/index.js", "node_modules"}, // own/node_modules is compared
		{dir, "node mono/a/index.js", "mono/node_modules node_modules"},
		{dir, "node node_modules/m/index.js", "node_modules"},
		{dir, "node -e 1", ""},
		{dir, "node /usr/lib/x.js", ""},
		{dir, "python3 srv/one.py", ""},
		{dir, "mcp-files srv", ""},
		{dir, "npm start", ""}, // it finds all of its code by itself
		{bare, "node srv/index.js", ""},
	} {
		if got := strings.Join(find(t, tt.dir, strings.Fields(tt.argv)...).Modules, " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.argv, got, tt.want)
		}
	}
}

// A directory with too many files is left out, and that is told.
func TestTooManyFiles(t *testing.T) {
	files := map[string]string{"srv/package.json": "{}", "srv/index.js": "a"}
	for i := range maxFiles {
		files[fmt.Sprintf("srv/node_modules/m/%d.js", i)] = ""
	}
	p := find(t, project(t, files), "node", "srv/index.js")
	if len(p.Dirs) != 0 || len(p.Bare) != 1 || !strings.Contains(p.Bare[0].Why, "5000") || !slices.Equal(p.Files, []string{"srv/index.js"}) {
		t.Errorf("%q %q %q", p.Files, p.Dirs, p.Bare)
	}
}

// What one directory exceeds is not taken from the others, and a directory that was named itself
// is told, too.
func TestTooManyFilesInOneOfTwo(t *testing.T) {
	files := map[string]string{"a/package.json": "{}", "a/index.js": "a", "b/package.json": "{}", "b/index.js": "b"}
	for i := range maxFiles {
		files[fmt.Sprintf("a/node_modules/m/%d.js", i)] = ""
	}
	dir := project(t, files)
	if p := find(t, dir, "node", "a", "b/index.js"); !slices.Equal(p.Dirs, []string{"b"}) || len(p.Bare) == 0 {
		t.Errorf("%q %q %q", p.Files, p.Dirs, p.Bare)
	}
	if p := find(t, dir, "node", "a"); len(p.Bare) == 0 {
		t.Errorf("%q %q %q", p.Files, p.Dirs, p.Bare)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(strings.Repeat("0", 64) + "  a\n")
	f.Add("absent  \"a\\nb\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if Check(text) != nil {
			return
		}
		if again := Compare(text, text); again != "" {
			t.Errorf("%q differs from itself: %s", text, again)
		}
		if len(parse(text)) > strings.Count(text, "\n") {
			t.Errorf("%q has more names than lines", text)
		}
	})
}
