package sandbox

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// What skills are written in works with a policy: children, threads, pipes, files, and the one
// port. Each script says "fine" at its end.
func TestPolicyPrograms(t *testing.T) {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("served")) }))
	defer served.Close()
	port := served.Listener.Addr().(*net.TCPAddr).Port
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, tt := range []struct {
		program, script string
		args            []string
	}{
		{"bash", bashScript, []string{"-c"}},
		{"git", "", []string{"-c", gitScript}},
		{"node", nodeScript, []string{"-e"}},
		{"python3", pythonScript, []string{"-c"}},
	} {
		t.Run(tt.program, func(t *testing.T) {
			if testing.Short() && tt.program != "bash" {
				t.Skip("starts many programs")
			}
			testkit.Need(t, "bash", "git", "node", "python3")
			path := "/usr/bin/" + tt.program // where the policy has it; a version manager has another
			if _, err := exec.LookPath(path); err != nil {
				path, _ = exec.LookPath(tt.program)
			}
			c := Command{Program: path, Args: append(tt.args, tt.script), Dir: t.TempDir(), Environ: os.Environ()}
			if tt.program == "git" {
				c.Program, c.Args = "sh", tt.args
			}
			home := filepath.Join(c.Dir, "home")
			if err := os.Mkdir(home, 0o700); err != nil {
				t.Fatal(err)
			}
			c.Set = map[string]string{
				"HOME": home, "TMPDIR": home, "OWN": strconv.Itoa(port), "OTHER": strconv.Itoa(other.Addr().(*net.TCPAddr).Port),
				"PATH": filepath.Dir(path) + ":/usr/local/bin:/usr/bin:/bin",
			}
			c = confined(t, c)
			c.Policy.Read = append(c.Policy.Read, prefix(t, path))
			c.Policy.Ports = []uint16{uint16(port)}
			c.Policy.Limits.Tasks = 128
			if o := run(t, c); o.ExitCode != 0 || !strings.HasSuffix(o.Stdout.String(), "fine\n") || o.Stderr.String() != "" {
				t.Errorf("exit %d %s\n%s%s", o.ExitCode, o.Signal, o.Stdout, o.Stderr)
			}
		})
	}
}

// prefix is where a program was installed, with its libraries.
func prefix(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(real))
}

const bashScript = `set -e
[ "$(echo a | tr a b | cat)" = b ]
cat <(echo substituted) | grep -q substituted
mapfile -t lines < <(printf 'one\ntwo\n'); [ ${#lines[@]} = 2 ]
cat <<<here >file; [ "$(<file)" = here ]
exec 5<>"/dev/tcp/127.0.0.1/$OWN"; exec 5>&-
if (exec 5<>"/dev/tcp/127.0.0.1/$OTHER") 2>/dev/null; then echo the other port; exit 1; fi
sleep 3600 & kill $!; wait $! || true
trap 'echo trapped >trapped' USR1; kill -USR1 $$; [ -s trapped ]
chmod +x file; mktemp >/dev/null; ls -l /usr/bin >/dev/null; date >/dev/null; id -u >/dev/null
echo fine`

const gitScript = `set -e
git init -q . && git config user.name n && git config user.email e@example.com
echo one >one && mkdir sub && echo two >sub/two && git add . && git commit -qm first
git checkout -q -b other && git mv one three && git commit -qam second
git worktree add -q wt HEAD~1 && git gc -q && git fsck --no-progress 2>/dev/null && git stash list
git clone -q . copied && [ "$(git -C copied log --oneline | wc -l)" = 2 ]
echo fine`

const nodeScript = `
const { Worker } = require('worker_threads'), cp = require('child_process'), fs = require('fs'), os = require('os'), net = require('net'), zlib = require('zlib'), crypto = require('crypto');
const assert = require('assert');
(async () => {
  assert.equal(cp.execFileSync(process.execPath, ['-p', '6*7']).toString(), '42\n');
  fs.writeFileSync('forked.js', "process.on('message', m => { process.send(m + 1); process.disconnect() })");
  const forked = cp.fork('./forked.js');
  forked.send(1);
  assert.equal(await new Promise(r => forked.on('message', r)), 2);
  assert.equal(await new Promise((r, e) => new Worker("require('worker_threads').parentPort.postMessage('worker')", { eval: true }).on('message', r).on('error', e)), 'worker');
  for (const host of ['127.0.0.1', 'localhost']) assert.equal(await (await fetch('http://' + host + ':' + process.env.OWN)).text(), 'served');
  assert.equal(await new Promise(r => net.connect(+process.env.OTHER, '127.0.0.1').on('error', e => r(e.code)).on('connect', () => r('connected'))), 'EACCES');
  const dir = await fs.promises.mkdtemp(os.tmpdir() + '/x');
  await fs.promises.writeFile(dir + '/a', 'x'); await fs.promises.rename(dir + '/a', dir + '/b'); fs.watchFile(dir + '/b', () => {}); fs.unwatchFile(dir + '/b');
  fs.cpSync(dir, dir + '-copied', { recursive: true }); fs.rmSync(dir, { recursive: true });
  assert.throws(() => fs.readdirSync('/tmp'), { code: 'EACCES' });
  assert(os.cpus().length > 0 && os.networkInterfaces().lo && process.memoryUsage().rss > 0 && os.freemem() > 0 && os.userInfo().username);
  await new Promise((r, e) => zlib.gzip('x', x => x ? e(x) : r())); await new Promise((r, e) => crypto.scrypt('a', 'b', 64, x => x ? e(x) : r()));
  assert.equal((await import('fs')).default, fs);
  os.setPriority(5);
  console.log('fine');
})().catch(e => { console.error(e); process.exit(1) });`

const pythonScript = `
import os, subprocess, threading, tempfile, socket, urllib.request, multiprocessing, sqlite3, asyncio, ssl, json
assert subprocess.run(['echo', 'x'], capture_output=True).stdout == b'x\n'
t = threading.Thread(target=lambda: None); t.start(); t.join()
with tempfile.NamedTemporaryFile() as f: f.write(b'x')
assert urllib.request.urlopen('http://localhost:' + os.environ['OWN']).read() == b'served'
try: socket.create_connection(('127.0.0.1', int(os.environ['OTHER']))); raise SystemExit('the other port')
except PermissionError: pass
r, w = multiprocessing.Pipe(); p = multiprocessing.get_context('fork').Process(target=lambda: w.send(1)); p.start(); assert r.recv() == 1; p.join()
db = sqlite3.connect('db'); db.execute('create table t (a)'); db.commit()
async def main():
    p = await asyncio.create_subprocess_exec('true'); assert await p.wait() == 0
asyncio.run(main())
ssl.create_default_context()
print('fine')`
