package landlock_test

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// foreignAttacks make calls by the numbers of other architectures.
func foreignAttacks() []attack {
	const x32 = 0x4000_0000
	return []attack{
		{name: "foreign: x32", inside: errnos(unix.EPERM), reached: errnos(unix.ENOSYS), try: func(*scene) error { return call(x32 + unix.SYS_GETPID) }},
		{name: "foreign: x32 socket", inside: errnos(unix.EPERM), reached: errnos(unix.ENOSYS, unix.EINVAL), try: func(*scene) error {
			return call(x32+unix.SYS_SOCKET, 999, 0, 0)
		}},
		{name: "foreign: i386", inside: errnos(unix.EPERM), optional: true, try: int80In},
	}
}

// int80 asks for the process number as programs of 32 bits do.
func int80() int32 {
	const getpid = 20
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return -int32(unix.ENOMEM)
	}
	result := new(int32)
	code := append([]byte{0xb8}, binary.LittleEndian.AppendUint32(nil, getpid)...)                                             // mov eax, getpid
	code = append(code, 0xcd, 0x80)                                                                                            // int 0x80
	code = append(append(code, 0x49, 0xbb), binary.LittleEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(result))))...) // mov r11, result
	code = append(code, 0x41, 0x89, 0x03, 0xc3)                                                                                // mov [r11], eax; ret
	copy(page, code)
	entry := &page[0]
	function := &entry
	(*(*func())(unsafe.Pointer(&function)))()
	runtime.KeepAlive(page)
	return *result
}
