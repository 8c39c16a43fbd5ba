package packages

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A Platform is what packages are installed for, in the words of npm.
type Platform struct {
	OS   string // linux
	CPU  string // x64, arm64
	Libc string // glibc, musl; empty where there is one only
	// Python is the version of it that runs packages of uv, like 3.13; empty for what uv
	// takes for granted.
	Python string
}

// PlatformOf names a machine by what Go calls it.
func PlatformOf(goos, arch, libc string) Platform {
	p := Platform{OS: goos, CPU: arch, Libc: libc}
	if arch == "amd64" {
		p.CPU = "x64"
	}
	return p
}

// FindLibc returns npm's name for the C library that a system has; "" if none of its files
// is there. The order matters: a system with glibc can also have musl, but not the other way
// round.
func FindLibc(has func(path string) (bool, error)) (string, error) {
	for _, file := range []struct{ libc, path string }{
		{"glibc", "/lib/x86_64-linux-gnu/libc.so.6"},
		{"glibc", "/lib/aarch64-linux-gnu/libc.so.6"},
		{"glibc", "/lib64/libc.so.6"},
		{"musl", "/lib/ld-musl-x86_64.so.1"},
		{"musl", "/lib/ld-musl-aarch64.so.1"},
	} {
		if there, err := has(file.path); there || err != nil {
			return file.libc, err
		}
	}
	return "", nil
}

// thisMachine is the platform that npm installs for by itself.
var thisMachine = sync.OnceValue(func() Platform {
	libc := ""
	if runtime.GOOS == "linux" {
		libc, _ = FindLibc(func(path string) (bool, error) { _, err := os.Stat(path); return err == nil, nil })
		libc = cmp.Or(libc, "glibc")
	}
	return PlatformOf(runtime.GOOS, runtime.GOARCH, libc)
})

var platformWord = pattern(`^[a-z0-9]+$`)

// check refuses what is not safe in the name of a directory and the value of a flag.
func (p Platform) check() error {
	for _, word := range []string{p.OS, p.CPU, p.Libc} {
		if !platformWord().MatchString(word) && (word != "" || p.OS == "linux") {
			return fmt.Errorf("packages cannot be fetched for the platform %s", safeText(p.String()))
		}
	}
	return nil
}

func (p Platform) String() string { return strings.TrimSuffix(p.OS+"-"+p.CPU+"-"+p.Libc, "-") }

// isHere reports whether the platform is that of this machine.
func (p Platform) isHere() bool {
	here := thisMachine()
	return p.OS == here.OS && p.CPU == here.CPU && p.Libc == here.Libc
}

// flags name the platform for npm.
func (p Platform) flags() []string {
	flags := []string{"--os=" + p.OS, "--cpu=" + p.CPU}
	if p.Libc != "" {
		flags = append(flags, "--libc="+p.Libc)
	}
	return flags
}

// admits reports whether a package is for the platform. A package without a list is for
// all.
func (e entry) admits(p Platform) bool {
	return among(e.OS, p.OS) && among(e.CPU, p.CPU) && (p.OS != "linux" || among(e.Libc, p.Libc))
}

// among does as npm does with a list like "linux, darwin" or "!win32".
func among(all words, one string) bool {
	if slices.Contains(all, "!"+one) {
		return false
	}
	some := slices.ContainsFunc(all, func(w string) bool { return !strings.HasPrefix(w, "!") })
	return !some || slices.Contains(all, one) || slices.Contains(all, "any")
}
