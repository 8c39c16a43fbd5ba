package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/sandbox"
)

// Packages of uv go into images as those of npm do, with a weaker guarantee: the lockfile
// has only the version of the package, so its dependencies are what the index has when the
// image is built. This code was tested with a fake uv, not with a real index.

const (
	uvManager = "uvx"
	uvKind    = "uv"
	uvModules = "site-packages" // where packages are in the directory of one
)

var (
	uvNameOnly    = pattern(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	uvVersionOnly = pattern(`^[0-9][0-9A-Za-z.!+-]*$`)
	uvPythonOnly  = pattern(`^3\.[0-9]{1,3}$`)
	uvSame        = pattern(`[-_.]+`)
)

// checkUV refuses a pinned package that uv cannot be asked for.
func checkUV(p *lockfile.Package) error {
	switch {
	case len(p.Name) > maxWord || !uvNameOnly().MatchString(p.Name):
		return fmt.Errorf("%w: it is not the name of a package", errBroken)
	case p.Version == "":
		return errors.New("it has no version, and uv pins none; write it behind the name, like name@1.2.3")
	case len(p.Version) > maxWord || !uvVersionOnly().MatchString(p.Version):
		return fmt.Errorf("%w: it is not an exact version", errBroken)
	}
	return nil
}

// uvDigest names a package by all that is pinned of it.
func uvDigest(p *lockfile.Package) string {
	return hashOf("uv " + canonicalUV(p.Name) + "==" + p.Version)
}

// canonicalUV is the one way to write a name: Python takes A.b for a-b.
func canonicalUV(name string) string {
	return strings.ToLower(uvSame().ReplaceAllString(name, "-"))
}

func (s *Store) fetchUV(ctx context.Context, p *lockfile.Package, on Platform, note func(string)) (found Installed, err error) {
	triple, err := on.triple()
	if err := errors.Join(err, checkUV(p)); err != nil {
		return found, err
	}
	home := filepath.Join(s.Dir, uvKind, uvDigest(p)+"-"+on.String())
	if on.Python != "" {
		home += "-" + on.Python
	}
	installed := func(dir string) error { _, err := findDist(dir, p); return err }
	err = s.ensure(ctx, home, uvModules, note, installed, func(dir string) error {
		tell(note, fmt.Sprintf("installing %s@%s with uv", p.Name, p.Version))
		into := filepath.Join(dir, uvModules)
		if err := os.Mkdir(into, 0o700); err != nil {
			return err
		}
		return s.uv(ctx, into, p, triple, on.Python)
	})
	if err != nil {
		return found, err
	}
	dists, err := filepath.Glob(filepath.Join(home, uvModules, "*"+distInfo))
	return Installed{Dir: home, Packages: len(dists)}, err
}

// triple is the platform in the words of uv.
func (p Platform) triple() (string, error) {
	cpu, ok := map[string]string{"x64": "x86_64", "arm64": "aarch64"}[p.CPU]
	libc, known := map[string]string{"glibc": "gnu", "musl": "musl"}[p.Libc]
	if !ok || !known || p.OS != "linux" || p.Python != "" && !uvPythonOnly().MatchString(p.Python) {
		return "", fmt.Errorf("packages of uv cannot be fetched for the platform %s", safeText(p.String()+" "+p.Python))
	}
	return cpu + "-unknown-linux-" + libc, nil
}

// uv installs a package into a directory. Only what is built already is taken: a build
// would run its author's code here, where all files of the user can be used.
func (s *Store) uv(ctx context.Context, dir string, p *lockfile.Package, triple, python string) error {
	args := []string{
		"pip", "install", "--target", dir, "--only-binary", ":all:", "--python-platform", triple,
		// What lies in a directory above ours says nothing here: the user's variables do.
		"--no-config", "--no-progress", "--color", "never", "--no-python-downloads", "--link-mode", "copy", "--no-compile-bytecode",
	}
	if python != "" {
		args = append(args, "--python-version", python)
	}
	out, err := s.runBehind(ctx, "uv", sandbox.Command{
		Program: "uv", Args: append(args, canonicalUV(p.Name)+"=="+p.Version), Dir: dir, Set: uvSetup(s.Environ), Policy: offline(),
	}, nil, s.uvReach)
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return errors.New("uv was not found in PATH; install it")
	case err != nil:
		return err
	case out.ExitCode != 0:
		what := fmt.Sprintf("uv failed with exit status %d", out.ExitCode)
		if said := lastLines(hide(uvSetup(s.Environ), out.Stderr.String())); said != "" {
			what += "; uv said last: " + said
		}
		return errors.New(what)
	}
	return nil
}

// uvSetup returns the variables of the user's environment that say where packages come from.
func uvSetup(environ []string) map[string]string {
	set := make(map[string]string)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value != "" && (strings.HasPrefix(name, "UV_INDEX") || slices.Contains([]string{
			"UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CACHE_DIR", "UV_OFFLINE", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS",
			"UV_HTTP_TIMEOUT", "UV_KEYRING_PROVIDER", "SSL_CERT_FILE", "SSL_CERT_DIR",
		}, name)) {
			set[name] = value
		}
	}
	return set
}
