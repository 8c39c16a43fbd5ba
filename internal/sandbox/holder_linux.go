package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/sandbox/space"
)

// At level full the supervisor holds a sandbox: it is started in namespaces of its own, builds
// the file system that programs see, and starts each program in it. When it ends, the kernel
// ends everything in the sandbox.

// A heldSandbox is the sandbox that a supervisor process holds.
type heldSandbox struct {
	policy *policy.Policy
	space  *space.Space
}

// holdSandbox makes the attributes those of a process that holds a sandbox. It returns the file
// that tells the process the policy; the caller closes it.
func holdSandbox(attr *os.ProcAttr, p *policy.Policy) (*os.File, error) {
	text, err := p.Encode()
	if err != nil {
		return nil, err
	}
	user := []string{strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())}
	file, err := requestFile(&message{kind: kindStart, policy: text, argv: user})
	if err != nil {
		return nil, err
	}
	attr.Sys = space.Attributes(p)
	attr.Files = append(attr.Files, file)
	return file, nil
}

// takeSandbox returns the sandbox that this process was started to hold; nil if there is none.
// It is not built yet.
func takeSandbox() (*heldSandbox, error) {
	if !isRequestFile(holderFD) {
		return nil, nil
	}
	m, err := readRequest(holderFD)
	if err != nil {
		return nil, err
	}
	p, err := policy.Decode(m.policy)
	if err != nil {
		return nil, err
	}
	var user [2]int
	for i := range user {
		if i >= len(m.argv) {
			return nil, errProtocol
		}
		if user[i], err = strconv.Atoi(m.argv[i]); err != nil {
			return nil, errProtocol
		}
	}
	return &heldSandbox{policy: p}, space.MapUser(user[0], user[1])
}

// build builds the sandbox, and returns its listener; nil if it has none.
func (held *heldSandbox) build() (*os.File, error) {
	built, open, err := space.Build(held.policy)
	held.space = built
	if err != nil || open == nil {
		return nil, err
	}
	defer open.Close()
	return open.File()
}

// startInside starts a program in the sandbox that this process holds.
func (k *supervisorLoop) startInside(r request) (*runningProgram, error) {
	p, err := policy.Decode(r.policy)
	if err == nil {
		err = k.held.space.Protect(p)
	}
	if err != nil {
		return nil, err
	}
	pid, heard, group, err := startSelf(firstName, r, space.CommandAttributes(), k.groups.program(r.id, p.Limits))
	if err != nil {
		return nil, fmt.Errorf("start the first process of a command: %w", err)
	}
	m, err := readMessage(heard)
	if err != nil || m.kind != kindStarted {
		_ = unix.Kill(pid, unix.SIGKILL)
		status := wait(pid)
		group.remove()
		heard.Close()
		if err == nil && m.kind == kindFailed {
			return nil, failure(m)
		}
		return nil, fmt.Errorf("%w: the first process of a command ended (%v)", errProtocol, status)
	}
	w := limitedProgram(pid, p.Limits, group)
	w.outcome = heard
	return w, nil
}

// status says how a program ended. In a sandbox, its first process has reported that; if it
// has not, it was killed itself, and the program with it.
func (w *runningProgram) status(status syscall.WaitStatus) syscall.WaitStatus {
	if w.outcome == nil {
		return status
	}
	defer w.outcome.Close()
	m, err := readMessage(w.outcome)
	if err != nil || m.kind != kindEnded {
		return status
	}
	return syscall.WaitStatus(m.code)
}
