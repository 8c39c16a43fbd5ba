package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// noBlock is not needed: named pipes are not found in directories.
const noBlock = 0

// keepOwner does nothing: a new file inherits the access list of its directory.
func keepOwner(*os.File, fs.FileInfo) bool { return true }

// linkCount returns how many names a file has; more than one if that is not known.
func linkCount(f *os.File, _ fs.FileInfo) int {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info); err != nil {
		return 2
	}
	return int(info.NumberOfLinks)
}

// maxName is what Windows allows for one name, in 16-bit units.
const maxName = 255

// renameInformation is FILE_RENAME_INFORMATION.
type renameInformation struct {
	ReplaceIfExists uint32
	RootDirectory   windows.Handle
	FileNameLength  uint32 // in bytes
	FileName        [maxName]uint16
}

// renameNew renames a name of one open directory to a free name of another. The kernel
// checks that the name is free and renames in one step.
func renameNew(from *os.File, old string, to *os.File, name string, _ bool) error {
	object, err := windows.NewNTUnicodeString(old)
	if err != nil {
		return err
	}
	attributes := &windows.OBJECT_ATTRIBUTES{
		RootDirectory: windows.Handle(from.Fd()), ObjectName: object, Attributes: windows.OBJ_DONT_REPARSE,
	}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	var handle windows.Handle
	var status windows.IO_STATUS_BLOCK
	// The link itself is opened, not what it leads to.
	err = windows.NtCreateFile(&handle, windows.DELETE|windows.SYNCHRONIZE|windows.FILE_READ_ATTRIBUTES, attributes, &status, nil, 0,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, windows.FILE_OPEN,
		windows.FILE_OPEN_REPARSE_POINT|windows.FILE_OPEN_FOR_BACKUP_INTENT|windows.FILE_SYNCHRONOUS_IO_NONALERT, 0, 0)
	if err != nil {
		return plainError(err)
	}
	defer windows.CloseHandle(handle)

	units, err := windows.UTF16FromString(name)
	if err != nil {
		return err
	}
	units = units[:len(units)-1] // without the NUL
	if len(units) > maxName {
		return windows.ERROR_FILENAME_EXCED_RANGE
	}
	info := &renameInformation{RootDirectory: windows.Handle(to.Fd()), FileNameLength: uint32(2 * len(units))}
	copy(info.FileName[:], units)
	size := uint32(unsafe.Offsetof(info.FileName)) + info.FileNameLength
	err = windows.NtSetInformationFile(handle, &status, (*byte)(unsafe.Pointer(info)), size, windows.FileRenameInformation)
	runtime.KeepAlive(from)
	runtime.KeepAlive(to)
	return plainError(err)
}

// plainError turns an NTStatus into an error number that package errors can compare.
func plainError(err error) error {
	if status, ok := errors.AsType[windows.NTStatus](err); ok {
		return status.Errno()
	}
	return err
}

func isCrossDevice(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }

func isIntoItself(err error) bool {
	return errors.Is(err, windows.ERROR_INVALID_PARAMETER) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}

// noFollow is not needed: what was opened is compared with the name afterwards.
const noFollow = 0

func isNotEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }

// times returns when a file was created and last read.
func (p *location) times(info fs.FileInfo) (created, accessed time.Time) {
	if d, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		created = time.Unix(0, d.CreationTime.Nanoseconds())
		accessed = time.Unix(0, d.LastAccessTime.Nanoseconds())
	}
	return created, accessed
}

// usage adds up the sizes of files. Their space on the disk and their hard links are not
// known without opening each of them.
func (p *location) usage(ctx context.Context, max int64) (int64, error) {
	d, err := p.dir().Open(".")
	if err != nil {
		return 0, err
	}
	defer d.Close()
	var sum int64
	err = filepath.WalkDir(d.Name(), func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return interrupted(p.given, ctx.Err())
		}
		if err != nil {
			return nil // gone, or not to be opened
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if e.Type().IsRegular() {
			sum += info.Size()
		}
		if max > 0 && sum > max {
			return fs.SkipAll
		}
		return nil
	})
	return sum, err
}
