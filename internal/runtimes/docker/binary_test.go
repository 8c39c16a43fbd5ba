package docker

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

func TestLinuxBinary(t *testing.T) {
	perstack := daemon.Binary(t)
	arch, other := runtime.GOARCH, map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	otherProgram := daemon.Program(t, "./internal/testkit/evil/evilmcp")
	write := func(content []byte) string {
		path := filepath.Join(t.TempDir(), "perstack")
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := write(forMachine(t, perstack, other))
	linked := write(dynamic(t, perstack))
	text := write([]byte("#!/bin/sh\necho hello\n"))
	release := t.TempDir() // as on a Mac: a program of its own, and one for containers
	for _, name := range []string{"perstack", "perstack-linux-" + arch} {
		content := []byte("\xcf\xfa\xed\xfe and so on")
		if strings.Contains(name, "linux") {
			content = read(t, perstack)
		}
		if err := os.WriteFile(filepath.Join(release, name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	installed := filepath.Join(t.TempDir(), "perstack") // as package managers do
	if err := os.Symlink(filepath.Join(release, "perstack"), installed); err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(resolved(t, release), "perstack-linux-"+arch)

	for _, test := range []struct {
		name              string
		executable, named string
		noInit            bool // main does not call perstack.Init
		arch              string
		want              string
		errors            []string
	}{
		{name: "this one", executable: perstack, arch: arch, want: perstack},
		{name: "this one, which embeds perstack", executable: otherProgram, arch: arch, want: otherProgram},
		{name: "the one that was named", executable: perstack, named: filepath.Join(release, "perstack-linux-"+arch), arch: arch,
			want: filepath.Join(release, "perstack-linux-"+arch)},
		{name: "the one beside a program of another system", executable: filepath.Join(release, "perstack"), arch: arch,
			want: beside},
		{name: "the one beside the file that a link leads to", executable: installed, arch: arch, want: beside},

		{name: "named, but not there", executable: perstack, named: filepath.Join(release, "nothing"), arch: arch,
			errors: []string{"PERSTACK_LINUX_BINARY", "nothing", "no such file"}},
		{name: "named, but a script", executable: perstack, named: text, arch: arch,
			errors: []string{"PERSTACK_LINUX_BINARY", text + " is not a program for Linux"}},
		{name: "named, but a directory", executable: perstack, named: release, arch: arch,
			errors: []string{release + " is not a program", "no regular file"}},
		{name: "named, but another program", executable: perstack, named: otherProgram, arch: arch,
			errors: []string{otherProgram + " is not perstack", "built from github.com/perstack-go/perstack/internal/testkit/evil/evilmcp"}},
		{name: "for another machine", executable: foreign, arch: arch,
			errors: []string{"static perstack for linux/" + arch + ": " + foreign + " is a program for another machine",
				"perstack-linux-" + arch + " does not exist", "the archive of the release", "PERSTACK_LINUX_BINARY"}},
		{name: "not static", executable: linked, arch: arch,
			errors: []string{linked + " is not static", "cgo", "CGO_ENABLED=0", "the archive of the release"}},
		{name: "without Init", executable: otherProgram, noInit: true, arch: arch,
			errors: []string{otherProgram + " cannot run in a container: its main function must call perstack.Init", "perstack-linux-" + arch + " does not exist", "PERSTACK_LINUX_BINARY"}},
		{name: "a daemon that we know nothing for", executable: perstack, arch: "riscv64",
			errors: []string{"there is no perstack for containers of linux/riscv64"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := LinuxBinary(test.executable, !test.noInit, test.named, test.arch)
			if len(test.errors) == 0 {
				if err != nil || got != test.want {
					t.Errorf("LinuxBinary = %q, %v, want %q", got, err, test.want)
				}
				return
			}
			if err == nil {
				t.Fatalf("LinuxBinary = %q", got)
			}
			for _, want := range test.errors {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// This test cannot do the work of a container, static or not.
func TestThisTestIsNotPerstack(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// With the race detector it needs libraries as well.
	err = checkPerstack(self, runtime.GOARCH)
	if err == nil || runtime.GOOS == "linux" && !strings.Contains(err.Error(), "is not static") && !strings.Contains(err.Error(), "built from") {
		t.Errorf("this test passes for perstack, or for something else: %v", err)
	}
	_, err = Parts(self, func(string) string { return "" }, runtime.GOARCH)
	if err == nil || runtime.GOOS == "linux" && !strings.Contains(err.Error(), "is not static") && !strings.Contains(err.Error(), "perstack.Init") {
		t.Errorf("this test goes into a container, or fails for another reason: %v", err)
	}
}

func TestBrokenPrograms(t *testing.T) {
	whole := read(t, daemon.Binary(t))
	for _, size := range []int{0, 3, 16, 64, 4096} {
		path := filepath.Join(t.TempDir(), "perstack")
		if err := os.WriteFile(path, whole[:size], 0o755); err != nil {
			t.Fatal(err)
		}
		if err := checkPerstack(path, runtime.GOARCH); err == nil {
			t.Errorf("%d bytes of perstack pass", size)
		}
	}
}

// dynamic is a program that asks for a loader: one of its segments says so.
func dynamic(t *testing.T, path string) []byte {
	t.Helper()
	data := read(t, path)
	start, size, count := binary.LittleEndian.Uint64(data[32:]), uint64(binary.LittleEndian.Uint16(data[54:])), uint64(binary.LittleEndian.Uint16(data[56:]))
	for i := range count {
		segment := data[start+i*size:]
		if elf.ProgType(binary.LittleEndian.Uint32(segment)) == elf.PT_NOTE {
			binary.LittleEndian.PutUint32(segment, uint32(elf.PT_INTERP))
			return data
		}
	}
	t.Fatal("no segment to change")
	return nil
}

// forMachine is a program that says it is for another machine.
func forMachine(t *testing.T, path, arch string) []byte {
	t.Helper()
	data := read(t, path)
	binary.LittleEndian.PutUint16(data[18:], uint16(machine(arch)))
	return data
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
