package packages

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/userfile"
)

// A manifest is what we use of a package.json.
type manifest struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Bin     bins   `json:"bin"`
}

const maxManifest = 4 << 20 // bytes; some have long histories in them

func readPackage(dir string) (*manifest, error) {
	text, err := userfile.Read(filepath.Join(dir, manifestName), maxManifest)
	if err != nil {
		return nil, fmt.Errorf("npm did not install it: %w", err)
	}
	m := new(manifest)
	// npm reads it with JavaScript, which takes the last of duplicate names.
	if err := json.Unmarshal(text, m, json.RejectUnknownMembers(false), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("its package.json cannot be read: %w", err)
	}
	return m, nil
}

// bins are the files that a package offers to run, by name. The only one may come
// without a name.
type bins map[string]string

// UnmarshalJSONFrom takes both forms.
func (p *bins) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		var only string
		err := json.UnmarshalDecode(d, &only)
		*p = bins{"": only}
		return err
	}
	return json.UnmarshalDecode(d, (*map[string]string)(p))
}

// startOf returns how to start a program of the package in dir.
func (s *Store) startOf(dir, name, program string) ([]string, error) {
	m, err := readPackage(dir)
	if err != nil {
		return nil, err
	}
	file, err := m.Bin.choose(path.Base(name), program)
	if err != nil {
		return nil, err
	}
	script, err := inside(dir, file)
	if err != nil {
		return nil, err
	}
	interpreter, err := interpreterOf(script, s.Sealed)
	if err != nil {
		return nil, err
	}
	return append(interpreter, script), nil
}

// choose does as npx does: the one asked for, the only one, or the one that is called
// like the package.
func (p bins) choose(own, program string) (file string, err error) {
	if only, ok := p[""]; ok && len(p) == 1 {
		p = bins{own: only}
	}
	names := slices.Sorted(maps.Keys(p))
	for i, name := range names {
		names[i] = safeText(name)
	}
	switch {
	case len(p) == 0:
		return "", errors.New("it has no program to start (no bin in its package.json)")
	case program != "":
		if file, ok := p[program]; ok {
			return file, nil
		}
		return "", fmt.Errorf("it has no program %q, only: %s", program, strings.Join(names, ", "))
	case p[own] != "":
		return p[own], nil
	}
	files := slices.Compact(slices.Sorted(maps.Values(p)))
	if len(files) == 1 {
		return files[0], nil
	}
	return "", fmt.Errorf("it has several programs, say which one (npx -p PACKAGE PROGRAM): %s", strings.Join(names, ", "))
}

// inside returns the path of a file that is in the package: a program elsewhere would not
// be pinned.
func inside(dir, file string) (string, error) {
	local := filepath.FromSlash(strings.TrimPrefix(path.Clean(file), "./"))
	if strings.ContainsAny(file, "\\\x00:") || slices.Contains(strings.Split(file, "/"), "..") || !filepath.IsLocal(local) || local == "." {
		return "", fmt.Errorf("its program %q is not inside of the package", safeText(file))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(local) // follows links, and refuses those that lead out
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("its program %q is missing in the package", safeText(file))
	case err != nil:
		return "", fmt.Errorf("its program %q is not inside of the package: %w", safeText(file), err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("its program %q is not a file", safeText(file))
	}
	return filepath.Join(dir, local), nil
}

// interpreterOf returns how a file is started: with node from PATH, or directly, if its #!
// line names something else.
func interpreterOf(script string, sealed bool) ([]string, error) {
	f, err := userfile.OpenRegular(script)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	first, err := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	line, hashbang := strings.CutPrefix(first, "#!")
	words := strings.Fields(line)
	if hashbang && len(words) > 0 {
		if path.Base(words[0]) == "env" {
			words = words[1:]
		}
		if len(words) > 0 && words[0] == "-S" {
			words = words[1:]
		}
		if len(words) > 0 && path.Base(words[0]) == "node" {
			return append([]string{"node"}, words[1:]...), nil
		}
		return nil, runnable(f, sealed)
	}
	if slices.Contains([]string{".js", ".mjs", ".cjs"}, path.Ext(script)) {
		return []string{"node"}, nil
	}
	return nil, runnable(f, sealed)
}

// runnable makes a file executable; npm does that only for files that it links. In an image
// it was done before.
func runnable(f *os.File, sealed bool) error {
	info, err := f.Stat()
	if err != nil || info.Mode()&0o100 != 0 {
		return err
	}
	if sealed {
		return fmt.Errorf("its program %q cannot be run: it is neither for node nor does it say what for", safeText(filepath.Base(f.Name())))
	}
	return f.Chmod(0o500)
}
