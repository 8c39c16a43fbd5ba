package probe

import "fmt"

// AllowByProfile is the remedy for a machine on which AppArmor restricts user namespaces. The
// command line has one that writes the profile.
const AllowByProfile = "install an AppArmor profile that allows this program user namespaces"

// The settings of the kernel that decide about user namespaces.
const (
	usernsClone    = "kernel.unprivileged_userns_clone"
	maxNamespaces  = "user.max_user_namespaces"
	apparmorUserns = "kernel.apparmor_restrict_unprivileged_userns"
)

// explain adds cause and remedy to a step that failed.
func explain(s *Step, f facts) {
	if s.Status == Fail && s.Cause == "" {
		s.Cause, s.Remedy = causeOf(s.Name, s.Errno, f)
	}
}

// causeOf says why the kernel refused a step, and what the user can do.
func causeOf(step, errno string, f facts) (cause, remedy string) {
	refused := errno == "EPERM" || errno == "EACCES"
	restricted := f.is(apparmorUserns, "1") && !f.root
	switch step {
	case Namespaces:
		return namespacesCause(errno, f)
	case IDs, Mounts, Network:
		switch {
		case refused && restricted:
			return apparmorUserns + " is 1: AppArmor lets programs without a profile make user namespaces, but not use them (Ubuntu 24.04 and later)", AllowByProfile
		case step == IDs && refused && f.root:
			return "root has no capability CAP_SETFCAP here, which the kernel asks for to map user 0", "add the capability SETFCAP to the container, or run as another user"
		case step == Mounts && errno == "ENOSYS":
			return "the kernel has no mount_setattr", "use Linux 5.12 or newer"
		case refused:
			return "the security module of the kernel, or the seccomp profile of a container, forbids it", "if this is a container, let its seccomp and AppArmor profiles allow mount, pivot_root and ioctl"
		}
	case Proc:
		if refused {
			return "a container masks parts of /proc, and the kernel allows a new /proc only where the old one is whole", "start the container with the security option systempaths=unconfined"
		}
	case Landlock:
		switch errno {
		case "ENOSYS":
			return "the kernel has no Landlock, or a seccomp profile around this process forbids it", "use Linux 6.7 or newer, with Landlock"
		case "EOPNOTSUPP":
			return "Landlock is switched off in this kernel", "add landlock to the lsm= parameter that the kernel is started with"
		}
	case Seccomp:
		return "the kernel cannot filter system calls, or a seccomp profile around this process forbids it", "use a kernel with CONFIG_SECCOMP_FILTER"
	case Caches:
		return "overlayfs cannot be mounted in a user namespace", "nothing is needed: commands get empty caches; Linux 5.11 or newer with overlayfs gives them yours"
	}
	return "", ""
}

func namespacesCause(errno string, f facts) (cause, remedy string) {
	switch errno {
	case "EPERM", "EACCES":
		if f.is(usernsClone, "0") && !f.root {
			return usernsClone + " is 0", "run: sudo sysctl -w " + usernsClone + "=1"
		}
		return "the seccomp profile of a container forbids new namespaces, or this process is in a chroot",
			"start the container with a seccomp profile that allows clone and unshare with CLONE_NEWUSER"
	case "ENOSPC", "EUSERS":
		if value, ok := f.sysctl(maxNamespaces); ok && value != "0" {
			return fmt.Sprintf("all %s user namespaces that %s allows are in use, or too many are nested", value, maxNamespaces),
				"end programs that use user namespaces, or raise " + maxNamespaces
		}
		return maxNamespaces + " is 0", "run: sudo sysctl -w " + maxNamespaces + "=15000"
	case "EINVAL", "ENOSYS":
		return "the kernel was built without namespaces", "use a kernel with CONFIG_USER_NS, CONFIG_PID_NS and CONFIG_NET_NS"
	}
	return "", ""
}

func (f facts) is(name, want string) bool {
	value, ok := f.sysctl(name)
	return ok && value == want
}
