package landlock_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket calls use with a new socket.
func socket(family, kind, protocol int, use func(fd int) error) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return use(fd)
}

func connect(to unix.Sockaddr) func(fd int) error {
	return func(fd int) error { return unix.Connect(fd, to) }
}

func four(port int) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func six(port int) unix.Sockaddr { return &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}} }

// mapped is an address of IPv4 in the form of IPv6.
func mapped(port int) unix.Sockaddr {
	return &unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
}

func netAttacks() []attack {
	denied := errnos(unix.EACCES)
	tcp := func(name string, family, protocol int, to func(*scene) unix.Sockaddr) attack {
		return attack{name: "net: " + name, inside: denied, try: func(s *scene) error { return socket(family, unix.SOCK_STREAM, protocol, connect(to(s))) }}
	}
	let := func(a attack) attack { a.inside = nil; return a }
	maybe := func(a attack) attack { a.optional = true; return a }
	make := func(name string, family, kind, protocol int) attack {
		return attack{name: "net: " + name, inside: denied, try: func(*scene) error {
			return socket(family, kind, protocol, func(int) error { return nil })
		}}
	}
	other4 := func(s *scene) unix.Sockaddr { return four(s.OtherPort) }
	other6 := func(s *scene) unix.Sockaddr { return six(s.OtherPort) }
	return []attack{
		let(tcp("own port", unix.AF_INET, 0, func(s *scene) unix.Sockaddr { return four(s.OwnPort) })),
		let(tcp("own port by IPv6", unix.AF_INET6, 0, func(s *scene) unix.Sockaddr { return six(s.OwnPort) })),
		tcp("other port", unix.AF_INET, 0, other4),
		tcp("other port by IPv6", unix.AF_INET6, unix.IPPROTO_TCP, other6),
		tcp("other port mapped", unix.AF_INET6, 0, func(s *scene) unix.Sockaddr { return mapped(s.OtherPort) }),
		maybe(tcp("MPTCP", unix.AF_INET, unix.IPPROTO_MPTCP, other4)),
		maybe(tcp("MPTCP by IPv6", unix.AF_INET6, unix.IPPROTO_MPTCP, other6)),
		maybe(make("SCTP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)),
		maybe(make("SMC", unix.AF_SMC, unix.SOCK_STREAM, 0)),
		maybe(make("raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)),
		maybe(make("ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)),
		maybe(make("packets", unix.AF_PACKET, unix.SOCK_RAW, 0)),
		maybe(make("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0)),
		maybe(make("ciphers", unix.AF_ALG, unix.SOCK_SEQPACKET, 0)),
		make("sockets of others", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG),
		make("events of devices", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
		let(make("addresses", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)),
		{name: "net: interfaces", try: func(*scene) error { _, err := net.Interfaces(); return err }},
		maybe(fastOpen("sendto", sendto)), maybe(fastOpen("sendmsg", sendmsg)), maybe(fastOpen("sendmmsg", sendmmsg)),
		{name: "net: UDP", inside: denied, try: func(s *scene) error {
			return socket(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error { return unix.Sendto(fd, []byte("x"), 0, four(s.Datagrams)) })
		}},
		{name: "net: UDP by IPv6", inside: denied, try: func(*scene) error {
			return socket(unix.AF_INET6, unix.SOCK_DGRAM, 0, func(int) error { return nil })
		}},
		{name: "net: bind", inside: denied, try: func(*scene) error {
			return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, four(0)) })
		}},
		{name: "net: bind and listen", inside: denied, try: func(*scene) error {
			return socket(unix.AF_INET6, unix.SOCK_STREAM, 0, func(fd int) error { return errors.Join(unix.Bind(fd, six(0)), unix.Listen(fd, 1)) })
		}},
		{name: "net: listen without bind", inside: denied, try: func(*scene) error {
			return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Listen(fd, 1) })
		}},
		{name: "net: protocol upon TCP", inside: errnos(unix.ENOENT), optional: true, try: func(s *scene) error {
			return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
				return errors.Join(unix.Connect(fd, four(s.OwnPort)), unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_ULP, "tls"))
			})
		}},
		{name: "net: named socket", inside: denied, try: func(s *scene) error {
			return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0, connect(&unix.SockaddrUnix{Name: s.Named}))
		}},
		{name: "net: abstract socket", inside: denied, try: func(s *scene) error {
			return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0, connect(&unix.SockaddrUnix{Name: s.Abstract}))
		}},
		{name: "net: named datagrams", inside: denied, try: func(s *scene) error {
			return socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0, connect(&unix.SockaddrUnix{Name: s.NamedDatagrams}))
		}},
		{name: "net: named datagrams by a pair", inside: denied, try: func(s *scene) error { return turnPair(s, unix.SOCK_DGRAM) }},
		{name: "net: named socket by a pair", inside: errnos(unix.EISCONN), reached: errnos(unix.EISCONN), try: func(s *scene) error { return turnPair(s, unix.SOCK_STREAM) }},
		{name: "net: named packets by a pair", inside: errnos(unix.EISCONN), reached: errnos(unix.EISCONN), try: func(s *scene) error { return turnPair(s, unix.SOCK_SEQPACKET) }},
		{name: "net: io_uring", inside: errnos(unix.ENOSYS), optional: true, try: func(*scene) error {
			var params [120]byte
			fd, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
			if errno != 0 {
				return errno
			}
			return unix.Close(int(fd))
		}},
	}
}

// turnPair connects one end of a pair to another socket.
func turnPair(s *scene, kind int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[1])
	defer unix.Close(pair[0])
	name := map[int]string{unix.SOCK_STREAM: s.Named, unix.SOCK_DGRAM: s.NamedDatagrams, unix.SOCK_SEQPACKET: s.NamedPackets}[kind]
	if err := unix.Connect(pair[0], &unix.SockaddrUnix{Name: name}); err != nil {
		return err
	}
	_, err = unix.Write(pair[0], []byte("x"))
	return err
}

// fastOpen connects by sending.
func fastOpen(name string, send func(fd, port int) error) attack {
	return attack{name: "net: Fast Open by " + name, inside: errnos(unix.EACCES), try: func(s *scene) error {
		return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			if err := send(fd, s.OtherPort); err != nil {
				return err
			}
			peer, err := unix.Getpeername(fd)
			if err == nil && !strings.Contains(fmt.Sprintf("%+v", peer), fmt.Sprint(s.OtherPort)) {
				err = errors.New("connected to another socket")
			}
			return err
		})
	}}
}

func sendto(fd, port int) error { return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, four(port)) }

func sendmsg(fd, port int) error {
	return unix.Sendmsg(fd, []byte("x"), nil, four(port), unix.MSG_FASTOPEN)
}

func sendmmsg(fd, port int) error {
	address := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: uint16(port>>8 | port&0xff<<8), Addr: [4]byte{127, 0, 0, 1}}
	data := []byte("x")
	part := unix.Iovec{Base: &data[0], Len: 1}
	message := struct {
		header unix.Msghdr
		sent   uint32
	}{header: unix.Msghdr{Name: (*byte)(unsafe.Pointer(&address)), Namelen: uint32(unsafe.Sizeof(address)), Iov: &part, Iovlen: 1}}
	if _, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), 1, unix.MSG_FASTOPEN, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
