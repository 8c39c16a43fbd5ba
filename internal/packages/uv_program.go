package packages

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// distInfo ends the name of the directory in which a package of Python describes itself.
const distInfo = ".dist-info"

// Where a command line of installedUV has what differs from package to package.
const (
	uvPlaces = 5 // the directories to look for modules in, one a line
	uvModule = 6
)

const maxDistFile = 1 << 20 // bytes

// launcher starts an entry point. Everything that differs comes as an argument, so that
// nothing a package says is ever part of a program.
const launcher = `import importlib, sys
places, module, entry, name = sys.argv[1:5]
sys.path[:0] = places.split("\n")
sys.argv = [name] + sys.argv[5:]
found = importlib.import_module(module)
for part in entry.split("."):
    found = getattr(found, part)
sys.exit(found())
`

// installedUV says how a package of uv is started that is in the image: with the Python
// there, which looks for nothing in the working directory and in no variable (-I), and
// writes no compiled code beside the package (-B).
func (s *Store) installedUV(p *lockfile.Package, program string) ([]string, error) {
	if err := checkUV(p); err != nil {
		return nil, err
	}
	if !s.Sealed {
		return nil, errors.New("it is started by uvx itself where it is not in an image")
	}
	home := filepath.Join(s.Dir, uvKind, uvDigest(p))
	dist, err := findDist(home, p)
	if err != nil {
		return nil, errSealed
	}
	module, entry, name, err := entryOf(dist, canonicalUV(p.Name), program)
	if err != nil {
		return nil, err
	}
	return []string{"python3", "-I", "-B", "-c", launcher, filepath.Join(home, uvModules), module, entry, name}, nil
}

// findDist returns the directory in which the package describes itself, or says why a
// directory does not hold it.
func findDist(home string, p *lockfile.Package) (string, error) {
	dir := filepath.Join(home, uvModules)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), distInfo)
		name, version, _ := strings.Cut(stem, "-")
		if !ok || !e.IsDir() || canonicalUV(name) != canonicalUV(p.Name) {
			continue
		}
		if version != p.Version {
			return "", fmt.Errorf("uv installed version %s instead", safeText(version))
		}
		return filepath.Join(dir, e.Name()), nil
	}
	return "", errors.New("uv did not install it")
}

var (
	pythonPath = `[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*`
	entryLine  = pattern(`^([A-Za-z0-9_][A-Za-z0-9_.-]*)\s*=\s*(` + pythonPath + `)\s*:\s*(` + pythonPath + `)\s*(?:\[[^\]]*\])?$`)
)

// entryOf finds the program of a package among its console scripts: the one asked for, the
// one that is called like the package, or the only one.
func entryOf(dist, own, program string) (module, entry, name string, err error) {
	text, err := userfile.Read(filepath.Join(dist, "entry_points.txt"), maxDistFile)
	if err != nil {
		return "", "", "", errors.New("it has no program to start (no entry_points.txt)")
	}
	scripts := make(map[string][2]string)
	section := ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case strings.HasPrefix(line, "["):
			section = line
		case section == "[console_scripts]":
			found := entryLine().FindStringSubmatch(line)
			if found == nil {
				return "", "", "", fmt.Errorf("its program %q is not understood", safeText(line))
			}
			scripts[found[1]] = [2]string{found[2], found[3]}
		}
	}
	names := slices.Sorted(maps.Keys(scripts))
	switch {
	case len(names) == 0:
		return "", "", "", errors.New("it has no program to start (no console_scripts)")
	case program != "":
		name = program
	case len(names) == 1:
		name = names[0]
	default:
		name = own
	}
	for _, n := range names {
		if n == name || program == "" && canonicalUV(n) == name {
			return scripts[n][0], scripts[n][1], n, nil
		}
	}
	return "", "", "", fmt.Errorf("it has no program %q, only: %s", safeText(name), safeText(strings.Join(names, ", ")))
}
