//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A socket is one end of the connection between perstack and its supervisor.
type socket struct{ f *os.File }

// sendPatience is how long the other side may take before it reads. It has nothing else
// to do, so one that takes longer was stopped.
const sendPatience = 10 * time.Second

// socketPair returns both ends, which are close-on-exec from the start.
func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // for deadlines
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "perstack"), nil
}

// send writes a message. The descriptors travel with its header.
func (s socket) send(m *message, files ...*os.File) error {
	header, body, err := m.encode()
	if err != nil {
		return err
	}
	if len(body) > maxMessage {
		return unix.E2BIG // as the kernel would say
	}
	_ = s.f.SetWriteDeadline(time.Now().Add(sendPatience)) // a blocking end has none
	if err := s.sendHeader(header, files); err != nil {
		return err
	}
	_, err = s.f.Write(body)
	return err
}

func (s socket) sendHeader(header []byte, files []*os.File) error {
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
	conn, err := s.f.SyscallConn()
	if err != nil {
		return err
	}
	var sent int
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		for {
			sent, failed = unix.SendmsgN(int(fd), header, rights, nil, noSignal)
			if !errors.Is(failed, unix.EINTR) {
				return !errors.Is(failed, unix.EAGAIN)
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if sent < len(header) { // the rest without the descriptors
		_, err = s.f.Write(header[sent:])
	}
	return err
}

// receive reads a message of at most limit bytes, and the descriptors that came with
// it. It returns io.EOF when the other side is gone.
func (s socket) receive(limit, mostFiles int) (m message, files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files...)
			files = nil
		}
	}()
	header := make([]byte, headerSize)
	n, files, err := s.receiveHeader(header, mostFiles)
	if err != nil {
		return m, files, err
	}
	if n == 0 {
		return m, files, io.EOF
	}
	if _, err = io.ReadFull(s.f, header[n:]); err != nil {
		return m, files, err
	}
	k, length, err := decodeHeader(header, limit)
	if err != nil {
		return m, files, err
	}
	body := make([]byte, length)
	if _, err = io.ReadFull(s.f, body); err != nil {
		return m, files, err
	}
	m, err = decode(k, body)
	return m, files, err
}

func (s socket) receiveHeader(header []byte, mostFiles int) (n int, files []*os.File, err error) {
	conn, err := s.f.SyscallConn()
	if err != nil {
		return 0, nil, err
	}
	room := make([]byte, unix.CmsgSpace(mostFiles*4))
	var rights, flags int
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		for {
			n, rights, flags, _, failed = receiveCloseOnExec(int(fd), header, room)
			if !errors.Is(failed, unix.EINTR) {
				return !errors.Is(failed, unix.EAGAIN)
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, nil, err
	}
	files, err = unpack(room[:rights])
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = fmt.Errorf("%w: more descriptors than agreed", errProtocol)
	}
	return n, files, err
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
