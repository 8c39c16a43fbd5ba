//go:build unix

package policy

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// What a user is asked to open for a path that a program names, and what is never asked about: itself,
// what is in it, what is around it, and links to all of these.
func TestOpenable(t *testing.T) {
	top := t.TempDir()
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{
		"users/ann/.ssh", "users/ann/.aws", "users/ann/.gnupg", "users/ann/.mozilla/firefox", "users/ann/.config/chromium/Default", "users/ann/snap/firefox",
		"users/ann/.local/share/keyrings", "users/ann/Library", "users/ann/datasets/below", "users/ann/project/src", "users/ann/other/.git",
		"users/ann/state/perstack/projects", "users/ann/cache/packages", "srv/data/below", "srv/keys/gpg", "srv/pass/in", "srv/kube", "agents/ssh", "tmp/work", "srv/.hidden/x",
		"people/bob/.ssh", "people/bob/data", "people/eve", "srv/share/keyrings", "srv/db",
	} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"users/ann/notes.txt", "users/ann/.ssh/id_rsa", "users/ann/.netrc", "users/ann/datasets/a.csv", "users/ann/.config/chromium/Default/Cookies", "srv/data/a.csv", "srv/kube/config", "users/ann/other/.git/config", "users/ann/project/.env", "people/eve/.bashrc"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"srv/data/link.csv": at("users/ann/datasets/a.csv"), "srv/data/dir": at("users/ann/datasets"), "srv/data/keys": at("users/ann/.ssh"), "srv/data/key": at("users/ann/.ssh/id_rsa"),
		"srv/data/home": at("users/ann"), "srv/data/root": "/", "srv/data/proc": "/proc", "srv/data/state": at("users/ann/state"), "srv/data/project": at("users/ann/project"),
		"users/ann/.password-store": at("srv/pass"), "srv/data/null": "/dev/null", "srv/data/shadow": "/etc/passwd", "srv/data/loop": "loop",
	} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := new(net.ListenConfig).Listen(t.Context(), "unix", at("srv/data/s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("TMPDIR", at("tmp"))
	home := at("users/ann")
	places := NewPlaces(home, at("users/ann/state/perstack"), "", []string{"SSH_AUTH_SOCK=" + at("agents/ssh/agent")})
	private := Private{
		Workspace: at("users/ann/project"), Dirs: []string{at("users/ann/cache/packages"), "", "relative"},
		Environ: []string{"KUBECONFIG=" + at("srv/kube/config") + ":" + at("nowhere"), "GNUPGHOME=" + at("srv/keys/gpg"), "DATA=" + at("srv/data"), "XDG_DATA_HOME=" + at("srv/share"), "PGPASSFILE=" + at("srv/db/pass")},
	}
	for _, c := range []struct{ path, want string }{
		{at("srv/data/a.csv"), at("srv/data")},
		{at("srv/data"), at("srv/data")},
		{at("srv/data/below"), at("srv/data/below")},
		{at("srv/data/below/../a.csv"), at("srv/data")},
		{at("srv/data/link.csv"), at("users/ann/datasets")}, // what becomes readable, not its other name
		{at("srv/data/dir/below"), at("users/ann/datasets/below")},
		{at("users/ann/datasets/a.csv"), at("users/ann/datasets")},
		{at("users/ann/other"), at("users/ann/other")},
		{at("tmp/work"), at("tmp/work")},
		{at("people/bob/data"), at("people/bob/data")},

		{"", ""}, {"srv/data", ""}, {"~/datasets", ""}, {"/", ""}, {at("srv/data/none"), ""}, {at("none/none"), ""}, {at("srv/data/loop"), ""}, {at("srv/data") + "\x00", ""},
		{"/proc", ""}, {"/proc/self/environ", ""}, {"/sys", ""}, {"/dev", ""}, {"/dev/null", ""}, {"/run", ""}, {"/etc", ""}, {"/etc/passwd", ""}, {"/usr/bin", ""}, {"/var", ""}, {"/tmp", ""}, {"/home", ""}, {"/boot", ""},
		{at("srv/data/s"), ""}, {at("srv/data/null"), ""}, {at("srv/data/shadow"), ""}, {at("srv/data/root"), ""}, {at("srv/data/proc"), ""}, {at("srv/data/proc/self"), ""},
		{home, ""}, {at("users/ann/notes.txt"), ""}, {at("users"), ""}, {top, ""}, {at("srv/data/home"), ""}, {at("srv/data/home/notes.txt"), ""},
		{at("users/ann/.ssh"), ""}, {at("users/ann/.ssh/id_rsa"), ""}, {at("srv/data/keys"), ""}, {at("srv/data/key"), ""}, {at("users/ann/.aws"), ""}, {at("users/ann/.gnupg"), ""}, {at("users/ann/.netrc"), ""},
		{at("users/ann/.mozilla/firefox"), ""}, {at("users/ann/.config"), ""}, {at("users/ann/.config/chromium/Default/Cookies"), ""}, {at("users/ann/snap"), ""}, {at("users/ann/snap/firefox"), ""}, {at("users/ann/Library"), ""},
		{at("users/ann/.local/share"), ""}, {at("users/ann/other/.git/config"), ""}, {at("srv/.hidden/x"), ""},
		{at("srv/pass"), ""}, {at("srv/pass/in"), ""}, {at("srv/keys"), ""}, {at("srv/keys/gpg"), ""}, {at("srv"), ""}, {at("srv/kube"), ""}, {at("srv/kube/config"), ""}, // links and variables lead to them
		{at("users/ann/state"), ""}, {at("users/ann/state/perstack/projects"), ""}, {at("srv/data/state"), ""}, {at("users/ann/cache"), ""}, {at("users/ann/cache/packages"), ""},
		{at("users/ann/project"), ""}, {at("users/ann/project/src"), ""}, {at("users/ann/project/.env"), ""}, {at("srv/data/project"), ""},
		{at("srv/share"), ""}, {at("srv/share/keyrings"), ""}, {at("srv/db"), ""},
		{at("people/bob"), ""}, {at("people/bob/.ssh"), ""}, {at("people/eve"), ""}, {at("people/eve/.bashrc"), ""}, // other homes
		{at("tmp"), ""}, {at("agents/ssh"), ""}, {at("agents"), ""},
	} {
		if dir, ok := places.Openable(c.path, private); ok != (c.want != "") || ok && dir != c.want {
			t.Errorf("%s: %q, %t, want %q", c.path, dir, ok, c.want)
		}
	}
	private.Environ = []string{"KUBECONFIG=" + at("nowhere") + ":" + at("srv/data/a.csv")}
	if dir, ok := places.Openable(at("srv/data"), private); ok {
		t.Errorf("%s can be opened, although a list of a variable names a file in it", dir)
	}
}
