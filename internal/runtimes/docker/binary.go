package docker

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/userfile"
)

// mainPackage is the import path of perstack's main package, which the linker writes into it.
const mainPackage = "github.com/perstack-go/perstack/cmd/perstack"

// binaryVariable names the environment variable with the path of that program.
const binaryVariable = "PERSTACK_LINUX_BINARY"

// LinuxBinary finds the program that goes into the image: named, if the user named one;
// else this one, if it is static, for Linux on arch, and calls perstack.Init, which does the
// work of a container; else perstack-linux-<arch> beside it, as releases have it.
func LinuxBinary(executable string, callsInit bool, named, arch string) (string, error) {
	if machine(arch) == elf.EM_NONE {
		return "", fmt.Errorf("there is no perstack for containers of linux/%s; use a daemon on amd64 or arm64", arch)
	}
	if named != "" {
		if err := checkPerstack(named, arch); err != nil {
			return "", fmt.Errorf("%s: %w", binaryVariable, err)
		}
		return named, nil
	}
	own := checkStatic(executable, arch)
	if own == nil && !callsInit {
		own = fmt.Errorf("%s cannot run in a container: its main function must call perstack.Init first", executable)
	}
	if own == nil {
		return executable, nil
	}
	beside := filepath.Join(dirOf(executable), "perstack-linux-"+arch)
	err := checkPerstack(beside, arch)
	if err == nil {
		return beside, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w, and %s does not exist", own, beside)
	}
	return "", fmt.Errorf("containers need a static perstack for linux/%s: %w; put perstack-linux-%s, from the archive of the release, "+
		"beside this program, or set %s to its path", arch, err, arch, binaryVariable)
}

// machine is what programs for arch say that they are for.
func machine(arch string) elf.Machine {
	switch arch {
	case "amd64":
		return elf.EM_X86_64
	case "arm64":
		return elf.EM_AARCH64
	}
	return elf.EM_NONE
}

// dirOf is where a program really is: package managers put links into the path.
func dirOf(executable string) string {
	if target, err := filepath.EvalSymlinks(executable); err == nil {
		executable = target
	}
	return filepath.Dir(executable)
}

// checkStatic says why a file is not a program that can run in a container without anything
// else: the kernel would only say that there is no such file.
func checkStatic(path, arch string) error {
	f, err := openProgram(path)
	if err != nil {
		return err
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		return fmt.Errorf("%s is not a program for Linux", path)
	}
	if e.Class != elf.ELFCLASS64 || e.Machine != machine(arch) || e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return fmt.Errorf("%s is a program for another machine (%s), not for linux/%s", path, e.Machine, arch)
	}
	if !isStatic(e) {
		return fmt.Errorf("%s is not static: it was built with cgo, and the image has no libraries (CGO_ENABLED=0 builds it without)", path)
	}
	return nil
}

// checkPerstack says why a file is not a perstack that can run in a container. Of another
// program it cannot be told whether it calls perstack.Init.
func checkPerstack(path, arch string) error {
	if err := checkStatic(path, arch); err != nil {
		return err
	}
	f, err := openProgram(path)
	if err != nil {
		return err
	}
	defer f.Close()
	build, err := buildinfo.Read(f)
	if err != nil {
		return fmt.Errorf("%s is not perstack: it does not say what it was built from", path)
	}
	if build.Path != mainPackage {
		return fmt.Errorf("%s is not perstack: it was built from %s", path, build.Path)
	}
	return nil
}

// openProgram opens a file that can be a program.
func openProgram(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxBinary {
		return nil, fmt.Errorf("%s is not a program: it is no regular file, or one of more than %d bytes", path, int64(maxBinary))
	}
	return userfile.OpenRegular(path)
}

// isStatic reports whether a program asks for no loader and no libraries.
func isStatic(e *elf.File) bool {
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	libraries, err := e.ImportedLibraries()
	return err == nil && len(libraries) == 0
}
