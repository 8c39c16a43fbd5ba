package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/perstack-go/perstack/internal/wording"
)

// A Code names a kind of failure. Models and programs read codes, so they do not change.
type Code string

// The codes.
const (
	OutsideWorkspace Code = "outside_workspace"
	Protected        Code = "protected"
	NotFound         Code = "not_found"
	NotReadable      Code = "not_readable"
	NotWritable      Code = "not_writable"
	TooLarge         Code = "too_large"
	NotADirectory    Code = "not_a_directory"
	IsADirectory     Code = "is_a_directory"
	NotRegular       Code = "not_regular"
	AlreadyExists    Code = "already_exists"
	NotEmpty         Code = "not_empty"
	InvalidPath      Code = "invalid_path"
	NoSpace          Code = "no_space"
	Changed          Code = "changed"
	CrossDevice      Code = "cross_device"
	Interrupted      Code = "interrupted"
	IO               Code = "io"
)

// An Error is a refusal or a failure, worded for the model: it has the name that the model
// gave, and no path of the machine.
type Error struct {
	Code    Code
	Message string
	cause   error // nil for a refusal
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.cause }

func hasCode(err error, code Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// fail makes an Error about the file that was given as name.
func fail(code Code, name, format string, args ...any) *Error {
	return &Error{Code: code, Message: quote(name) + " " + fmt.Sprintf(format, args...)}
}

func outside(name string) *Error {
	return &Error{Code: OutsideWorkspace,
		Message: "path outside allowed directories: " + quote(name) + "; use a path inside the workspace"}
}

// outsideLink has one text for every link that is not followed, so that a model
// cannot learn from it whether something exists outside.
func outsideLink(name string) *Error {
	return &Error{Code: OutsideWorkspace, Message: "path outside allowed directories: " + quote(name) +
		" goes through a symbolic link that is absolute or leaves the workspace"}
}

func storage(given string) error {
	return fail(Protected, given, "is protected: the history and the state of perstack are out of reach of tools")
}

func secret(given string) error {
	return fail(Protected, given, "is protected: env files may hold secrets and are out of reach of tools")
}

func gitDirectory(given string) error {
	return fail(Protected, given, "is protected: what is below .git can run code on your machine")
}

func inRepository(given string) error {
	return fail(Protected, given, "is protected: it is in a directory with the data of a git repository, which can run code on your machine")
}

func newRepository(given, name string) error {
	return fail(Protected, given, "is protected: with %s, git would take a directory for a repository, which can run code on your machine; "+
		"choose another name", quote(name))
}

// protectedBy chooses the words by what is at the protected path.
func protectedBy(given, path string) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return secret(given)
	}
	return storage(given)
}

// interrupted says that the caller's context is done, which is the cause.
func interrupted(given string, cause error) error {
	e := fail(Interrupted, given, "was left alone because the call was interrupted")
	e.cause = cause
	return e
}

// maxShown bounds the part of a name that an error repeats.
const maxShown = 200

// quote makes a name fit for a message: short, and without control characters.
func quote(name string) string {
	return strconv.Quote(wording.Cut(name, maxShown))
}

// translate words an error of the operating system. Its path is dropped: it can name a
// file that the model did not ask for.
func translate(name string, err error, writing bool) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*Error](err); known || errors.Is(err, errChanged) {
		return err
	}
	e := classify(name, err, writing)
	e.cause = err
	return e
}

func classify(name string, err error, writing bool) *Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(NotFound, name, "does not exist")
	case errors.Is(err, fs.ErrExist) && !isNotEmpty(err): // Go maps both to ErrExist
		return fail(AlreadyExists, name, "already exists")
	case isNotEmpty(err):
		return fail(NotEmpty, name, "is not empty")
	case errors.Is(err, syscall.ENOTDIR):
		return fail(NotADirectory, name, "is not a directory")
	case errors.Is(err, syscall.EISDIR):
		return fail(IsADirectory, name, "is a directory")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fail(InvalidPath, name, "is not a valid path: a name in it is too long")
	case errors.Is(err, syscall.ELOOP):
		return fail(InvalidPath, name, "is not a valid path: too many symbolic links")
	case errors.Is(err, syscall.ENOSPC):
		return fail(NoSpace, name, "could not be written: no space left on the device")
	case writing && errors.Is(err, syscall.EROFS):
		return fail(NotWritable, name, "is not writable: its file system is read-only")
	case writing && errors.Is(err, fs.ErrPermission):
		return fail(NotWritable, name, "is not writable: permission denied")
	case errors.Is(err, fs.ErrPermission):
		return fail(NotReadable, name, "is not readable: permission denied")
	case strings.Contains(err.Error(), "path escapes from parent"): // package os does not export this error
		return outsideLink(name)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return fail(IO, name, "failed: %s", errno.Error())
	}
	return fail(IO, name, "failed: input/output error")
}
