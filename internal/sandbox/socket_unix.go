//go:build unix

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A socket is one end of the connection between perstack and its supervisor.
type socket struct{ conn *net.UnixConn }

// sendPatience is how long the other side may take before it reads. It has nothing else
// to do, so one that takes longer was stopped.
const sendPatience = 10 * time.Second

// socketPair returns our end, and the one that the supervisor inherits. Both are
// close-on-exec from the start.
func socketPair() (ours socket, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return socket{}, nil, err
	}
	file := os.NewFile(uintptr(fds[0]), "supervisor")
	defer file.Close()
	theirs = os.NewFile(uintptr(fds[1]), "perstack")
	if ours, err = newSocket(file); err != nil {
		theirs.Close()
	}
	return ours, theirs, err
}

// newSocket uses a copy of the file, which is close-on-exec.
func newSocket(file *os.File) (socket, error) {
	conn, err := net.FileConn(file)
	if err != nil {
		return socket{}, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return socket{}, errProtocol
	}
	return socket{unixConn}, nil
}

// send writes a message. The descriptors travel with its first bytes.
func (s socket) send(m *message, files ...*os.File) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if len(data) > headerSize+maxMessage {
		return unix.E2BIG // as the kernel would say
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
			// A program that writes to a full pipe must wait, and not get EAGAIN.
			if err := unix.SetNonblock(fds[i], false); err != nil {
				return err
			}
		}
		rights = unix.UnixRights(fds...)
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(sendPatience)); err != nil {
		return err
	}
	n, _, err := s.conn.WriteMsgUnix(data, rights, nil)
	if err == nil && n < len(data) { // the rest without the descriptors
		_, err = s.conn.Write(data[n:])
	}
	return err
}

// receive reads a message of at most limit bytes, and the descriptors that came with
// it. It returns an error when the other side is gone.
func (s socket) receive(limit, mostFiles int) (m message, files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files...)
			files = nil
		}
	}()
	header, control := make([]byte, headerSize), make([]byte, unix.CmsgSpace(mostFiles*4))
	n, rights, flags, _, err := s.conn.ReadMsgUnix(header, control)
	files, bad := unpack(control[:rights])
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return m, files, failed.Err // without the addresses, of which a pair has none
	}
	err = cmp.Or(err, bad)
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = fmt.Errorf("%w: more descriptors than agreed", errProtocol)
	}
	if err != nil {
		return m, files, err
	}
	if _, err = io.ReadFull(s.conn, header[n:]); err != nil {
		return m, files, err
	}
	length, err := bodySize(header, limit)
	if err != nil {
		return m, files, err
	}
	data := make([]byte, headerSize+length)
	copy(data, header)
	if _, err = io.ReadFull(s.conn, data[headerSize:]); err != nil {
		return m, files, err
	}
	m, err = decode(data)
	return m, files, err
}

// unpack turns control messages into files.
func unpack(control []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}
