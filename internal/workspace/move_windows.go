package workspace

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

// maxName is what Windows allows for one name, in 16-bit units.
const maxName = 255

// renameInformation is FILE_RENAME_INFORMATION.
type renameInformation struct {
	ReplaceIfExists uint32
	RootDirectory   windows.Handle
	FileNameLength  uint32 // in bytes
	FileName        [maxName]uint16
}

// renameNew renames a name of one open directory to one of another that nothing has.
// The kernel looks whether it has something and renames in one step.
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

// plainError makes an error of the kernel one that package errors knows.
func plainError(err error) error {
	var status windows.NTStatus
	if errors.As(err, &status) {
		return status.Errno()
	}
	return err
}

func isOtherDevice(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }

func isIntoItself(err error) bool {
	return errors.Is(err, windows.ERROR_INVALID_PARAMETER) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}
