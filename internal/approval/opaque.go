package approval

import (
	"path"
	"slices"
	"strings"
)

// launchers are shells, and programs that only start others. To allow one is to allow everything.
var launchers = strings.Fields(`
	sh bash dash zsh fish ksh mksh ash csh tcsh busybox toybox
	env xargs parallel sudo doas su runuser setpriv nohup nice ionice timeout time stdbuf setsid script flock watch
	taskset chrt prlimit choom setarch linux32 linux64 numactl capsh runcon start-stop-daemon run-parts
	chroot unshare nsenter systemd-run at batch eval exec command ssh pkexec bwrap firejail proot fakeroot
	ld.so ld-linux.so ld-linux-x86-64.so ld-linux-aarch64.so ld-musl-x86_64.so ld-musl-aarch64.so`)

// opaqueNames are others that run what their arguments or files of the workspace say.
var opaqueNames = strings.Fields(`
	find fd make gmake ninja just task rake ant mvn gradle cmake
	npx npm pnpm yarn bunx bun uv uvx pipx pip poetry cargo go deno
	node python perl ruby php lua awk gawk mawk sed tclsh osascript
	vi vim nvim view vimdiff emacs ed ex less more man strace ltrace gdb expect sqlite psql mysql ftp sftp
	docker podman kubectl crontab`)

// isNamed reports whether a program has one of the names, in any version: python3.12 is python.
func isNamed(program string, names []string) bool {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/"))), ".exe")
	return slices.Contains(names, name) || slices.Contains(names, strings.TrimRight(name, "-.0123456789"))
}

// Opaque reports whether what a command does cannot be seen in its words: it runs others, or it is a
// program that the job can have written.
func (q *Request) Opaque() bool {
	return len(q.Command) > 0 && (q.InWorkspace || isNamed(q.Command[0], launchers) || isNamed(q.Command[0], opaqueNames))
}
