package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ownStatus is what the kernel says of this process.
func ownStatus() (status, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	return parseStatus(string(data)), nil
}

// user checks that we are not root, in no way in which the kernel counts that.
func user(context.Context, Spec) (string, error) {
	s, err := ownStatus()
	if err != nil {
		return "", err
	}
	return s.user()
}

// capabilities checks that all sets are empty, also those that a program could be given
// its share from later.
func capabilities(context.Context, Spec) (string, error) {
	s, err := ownStatus()
	if err != nil {
		return "", err
	}
	return s.capabilities()
}

func noNewPrivileges(context.Context, Spec) (string, error) {
	s, err := ownStatus()
	if err != nil {
		return "", err
	}
	return s.is("NoNewPrivs", "1")
}

// seccomp checks that system calls are filtered: mode 2.
func seccomp(context.Context, Spec) (string, error) {
	s, err := ownStatus()
	if err != nil {
		return "", err
	}
	return s.is("Seccomp", "2")
}

// dumpable checks that programs of the same user cannot read the memory of this process,
// which holds the keys.
func dumpable(context.Context, Spec) (string, error) {
	value, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	switch {
	case err != nil:
		return "", fmt.Errorf("ask for PR_GET_DUMPABLE: %w", err)
	case value != 0:
		return "", errors.New("programs of the same user can read the memory of this process")
	}
	return "not dumpable", nil
}
