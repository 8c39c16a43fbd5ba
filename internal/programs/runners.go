package programs

import (
	"os"
	"path"
	"slices"
	"strings"
)

// A runner is a program that finds by itself what it runs. Some files in its working directory
// decide what that is. They are part of the program of a skill even if they do not exist: one that
// appears is a change.
type runner struct {
	manifests string   // names and patterns of these files, in its directory
	nearest   string   // names that it looks for in the directories above, too: the first one counts
	dirs      string   // directories that have its code
	flags     []string // that name a manifest
	does      string   // how it finds code; "" if a script is all that it runs
	named     bool     // its code is the script that it is given, if there is one
	wraps     bool     // a word can be another program, as in "uv run python"
}

// verbs are the first words of runners that are no paths.
var verbs = []string{"run", "exec", "task", "start", "test", "tool", "x", "dlx", "serve", "dev"}

const (
	ofPackage = "starts what package.json says"
	ofProject = "starts what pyproject.toml and its environment say"
	asModule  = "imports modules by their names"
)

var runners = map[string]runner{
	"node":        {nearest: "package.json"},
	"nodejs":      {nearest: "package.json"},
	"tsx":         {flags: []string{"--tsconfig"}, nearest: "package.json tsconfig.json", manifests: "tsconfig.json"},
	"ts-node":     {flags: []string{"-P", "--project"}, nearest: "package.json tsconfig.json", manifests: "tsconfig.json"},
	"ts-node-esm": {flags: []string{"-P", "--project"}, nearest: "package.json tsconfig.json", manifests: "tsconfig.json"},
	"bun":         {flags: []string{"-c", "--config"}, nearest: "package.json tsconfig.json", manifests: "bunfig.toml", does: ofPackage, named: true, wraps: true},
	"deno":        {flags: []string{"-c", "--config"}, nearest: "deno.json deno.jsonc package.json", does: "starts what deno.json or package.json says", named: true},
	"npm":         {nearest: "package.json .npmrc", does: ofPackage, wraps: true},
	"pnpm":        {nearest: "package.json .npmrc pnpm-workspace.yaml .pnpmfile.cjs .pnpmfile.mjs", does: ofPackage, wraps: true},
	"yarn":        {nearest: "package.json .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs", does: ofPackage, wraps: true},

	"uv":        {flags: []string{"--config-file"}, nearest: "pyproject.toml uv.toml uv.lock .python-version", does: ofProject, wraps: true},
	"poetry":    {nearest: "pyproject.toml poetry.toml poetry.lock", does: ofProject, wraps: true},
	"pdm":       {nearest: "pyproject.toml pdm.toml pdm.lock .pdm-python", does: ofProject, wraps: true},
	"rye":       {nearest: "pyproject.toml .python-version", does: ofProject, wraps: true},
	"pipenv":    {nearest: "Pipfile Pipfile.lock", does: "starts what Pipfile and its environment say", wraps: true},
	"uvicorn":   {does: asModule},
	"gunicorn":  {flags: []string{"-c", "--config"}, manifests: "gunicorn.conf.py", does: asModule},
	"hypercorn": {does: asModule},
	"daphne":    {does: asModule},
	"granian":   {does: asModule},
	"flask":     {manifests: "app.py wsgi.py .flaskenv", does: asModule},

	"make":   {flags: []string{"-f", "--file", "--makefile"}, manifests: "GNUmakefile BSDmakefile Makefile makefile", does: "starts what its Makefile says"},
	"gmake":  {flags: []string{"-f", "--file", "--makefile"}, manifests: "GNUmakefile Makefile makefile", does: "starts what its Makefile says"},
	"bmake":  {flags: []string{"-f"}, manifests: "BSDmakefile Makefile makefile", does: "starts what its Makefile says"},
	"just":   {flags: []string{"-f", "--justfile"}, nearest: "justfile Justfile .justfile", does: "starts what its justfile says"},
	"task":   {flags: []string{"-t", "--taskfile"}, nearest: "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml", does: "starts what its Taskfile says"},
	"rake":   {flags: []string{"-f", "--rakefile"}, nearest: "Rakefile rakefile Rakefile.rb rakefile.rb", does: "starts what its Rakefile says"},
	"bundle": {nearest: "Gemfile Gemfile.lock gems.rb gems.locked .bundle/config", does: "starts what its Gemfile says", wraps: true},

	"go":      {nearest: "go.mod go.sum go.work go.work.sum", does: "compiles the packages that are imported"},
	"cargo":   {flags: []string{"--manifest-path"}, nearest: "Cargo.toml Cargo.lock .cargo/config.toml .cargo/config rust-toolchain rust-toolchain.toml", manifests: "build.rs", dirs: "src", does: "compiles what Cargo.toml says"},
	"swift":   {manifests: "Package.swift Package.resolved", dirs: "Sources", does: "compiles what Package.swift says"},
	"mix":     {manifests: "mix.exs mix.lock", dirs: "lib config", does: "compiles what mix.exs says"},
	"mvn":     {flags: []string{"-f", "--file"}, manifests: "pom.xml .mvn/extensions.xml .mvn/maven.config .mvn/jvm.config", dirs: "src", does: "compiles what pom.xml says"},
	"gradle":  {manifests: "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties", dirs: "src", does: "compiles what its build files say"},
	"mvnw":    {manifests: "pom.xml .mvn/extensions.xml .mvn/maven.config .mvn/jvm.config .mvn/wrapper/maven-wrapper.properties .mvn/wrapper/maven-wrapper.jar", dirs: "src", does: "compiles what pom.xml says"},
	"gradlew": {manifests: "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradle/wrapper/gradle-wrapper.properties gradle/wrapper/gradle-wrapper.jar", dirs: "src", does: "compiles what its build files say"},
	"dotnet": {
		flags:     []string{"--project"},
		nearest:   "global.json nuget.config NuGet.Config Directory.Build.props Directory.Build.targets Directory.Packages.props",
		manifests: "*.csproj *.fsproj *.vbproj *.cs *.fs *.vb", does: "compiles what its project file says", named: true,
	},
}

// A manifest is a set of names that are looked for from a path of the command line.
type manifest struct {
	from  string
	names []string
	up    bool // in the directories above, too
	dir   bool // they are directories
}

// finish adds what decides the code of a runner. Home is its directory, and the scripts after the
// first ones are its own.
func (r *reading) finish(name string, run runner, home string, before int) {
	if home == "" {
		home = "."
	}
	scripts := r.scripts[before:]
	r.manifests = append(r.manifests,
		manifest{from: home, names: strings.Fields(run.manifests)},
		manifest{from: home, names: strings.Fields(run.dirs), dir: true})
	if run.does == "" || run.named && len(scripts) > 0 {
		r.node = r.node || len(scripts) > 0 && interpreterOf(name) == "node"
		for _, script := range scripts {
			r.manifests = append(r.manifests, manifest{from: script, names: strings.Fields(run.nearest), up: true})
		}
		return
	}
	r.loaders = append(r.loaders, Loader{name, run.does})
	r.manifests = append(r.manifests, manifest{from: home, names: strings.Fields(run.nearest), up: true})
}

// addManifest adds the files that decide what a runner runs.
func (p *Program) addManifest(m manifest) {
	end, links := p.resolve(m.from)
	dir, inside := p.name(end)
	if !inside {
		return
	}
	p.Links = append(p.Links, links...)
	if dir != "." && !p.isDir(dir) {
		dir = parent(dir)
	}
	for _, name := range m.names {
		for at := dir; ; at = parent(at) {
			if p.addNamed(at, name, m.dir) || !m.up || at == "." {
				break
			}
		}
	}
}

// addNamed adds a file or a directory by its name or pattern, and reports whether there is one.
func (p *Program) addNamed(dir, name string, isDir bool) (found bool) {
	switch name = path.Join(dir, name); {
	case isDir:
		if p.isDir(name) {
			p.Dirs = append(p.Dirs, name)
		}
		return true
	case !strings.Contains(name, "*"):
		return p.addManifestFile(name)
	}
	for _, base := range p.list(dir) {
		if ok, _ := path.Match(path.Base(name), base); ok {
			p.addManifestFile(path.Join(dir, base))
		}
	}
	return true
}

// addManifestFile adds one file, and where it leads if it is a link.
func (p *Program) addManifestFile(name string) (found bool) {
	if info, err := os.Lstat(p.path(name)); err == nil && info.IsDir() {
		return false
	} else if err == nil {
		name = p.spelled(name)
	}
	end, links := p.resolve(p.path(name))
	p.Links = append(p.Links, links...)
	if to, inside := p.name(end); inside && !p.isDir(to) {
		p.Manifests = append(p.Manifests, to)
	}
	_, err := os.Stat(end)
	return err == nil
}

// spelled returns the name of a file as its directory has it. Where the case of letters does not
// matter, Makefile and makefile are the same file, and a lockfile must have one of them.
func (p *Program) spelled(name string) string {
	dir, base := parent(name), path.Base(name)
	all := p.list(dir)
	if i := slices.IndexFunc(all, func(other string) bool { return strings.EqualFold(other, base) }); i >= 0 && !slices.Contains(all, base) {
		return path.Join(dir, all[i])
	}
	return name
}

func (p *Program) list(dir string) (names []string) {
	entries, _ := os.ReadDir(p.path(dir)) // what cannot be read is found by no runner
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
