package signature

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/perstack-go/perstack/internal/testkit"
)

// keygen makes a key with ssh-keygen, and returns the path of the private one.
func keygen(t *testing.T, dir, name, kind, passphrase string) string {
	t.Helper()
	testkit.Need(t, "ssh-keygen")
	path := filepath.Join(dir, name)
	args := []string{"-q", "-t", kind, "-a", "1", "-N", passphrase, "-C", name + "@example.com", "-f", path}
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// startAgent starts the agent of OpenSSH with some keys.
func startAgent(t *testing.T, keys ...string) (socket string) {
	t.Helper()
	testkit.Need(t, "ssh-agent", "ssh-add")
	dir, err := os.MkdirTemp("", "agent") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil { // it says where the socket is when it listens
		t.Fatal(err)
	}
	for _, key := range keys {
		add := exec.CommandContext(t.Context(), "ssh-add", "-q", key)
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return socket
}

// verifyWithOpenSSH checks a signature with ssh-keygen.
func verifyWithOpenSSH(t *testing.T, line, armored, text string) {
	t.Helper()
	testkit.Need(t, "ssh-keygen")
	dir := t.TempDir()
	for name, content := range map[string]string{"allowed": "me@example.com " + line + "\n", "sig": armored} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", filepath.Join(dir, "allowed"), "-I", "me@example.com", "-n", Namespace, "-s", filepath.Join(dir, "sig"))
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("OpenSSH does not accept it: %v: %s", err, out)
	}
}

const message = `{"name":"@acme/x"}`

// Every kind of key signs from a file and by the agent of OpenSSH, and OpenSSH accepts the signatures.
func TestSignWithFilesAndAgent(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		paths = append(paths, keygen(t, dir, "id_"+kind, kind, ""))
	}
	socket := startAgent(t, paths...)
	for name, keys := range map[string]Keys{"files": {Dir: dir}, "agent": {Socket: socket}, "both": {Dir: dir, Socket: socket}} {
		t.Run(name, func(t *testing.T) {
			all, err := keys.List(t.Context())
			if err != nil || len(all) != 3 {
				t.Fatalf("%+v, %v", all, err)
			}
			for _, k := range all {
				if k.Problem != "" || k.Agent != (keys.Socket != "") || (k.Path != "") != (keys.Dir != "") || !strings.HasSuffix(k.Comment, "@example.com") {
					t.Errorf("%+v", k)
				}
				signer, err := keys.Signer(t.Context(), k.Fingerprint)
				if err != nil {
					t.Fatal(err)
				}
				armored, err := signer.Sign(t.Context(), []byte(message))
				if err := errors.Join(err, signer.Close()); err != nil {
					t.Fatal(err)
				}
				if signer.Key != k {
					t.Errorf("%+v signed, not %+v", signer.Key, k)
				}
				verifyWithOpenSSH(t, k.Line, armored, message)
			}
			var several *AmbiguousError
			if _, err := keys.Signer(t.Context(), ""); !errors.As(err, &several) || len(several.Keys) != 3 {
				t.Errorf("several keys: %v", err)
			}
		})
	}
}

// A file is named by its path, with or without .pub. If the agent holds its key, no passphrase is asked for.
func TestSignWithPassphrase(t *testing.T) {
	dir := t.TempDir()
	path := keygen(t, dir, "id_ed25519", "ed25519", "open sesame")
	asked := 0
	keys := Keys{Dir: dir, Passphrase: func(_ context.Context, of string) ([]byte, error) {
		if asked++; of != path {
			t.Errorf("asked for that of %s", of)
		}
		return []byte("open sesame"), nil
	}}
	for i, name := range []string{"", path, path + ".pub"} {
		signer, err := keys.Signer(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := signer.Sign(t.Context(), []byte(message)); err != nil || asked != i+1 {
			t.Errorf("%v after %d questions", err, asked)
		}
	}
	wrong := Keys{Dir: dir, Passphrase: func(context.Context, string) ([]byte, error) { return []byte("abracadabra"), nil }}
	if _, err := wrong.Signer(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "passphrase is wrong") {
		t.Errorf("a wrong passphrase: %v", err)
	}
	silent := Keys{Dir: dir}
	if _, err := silent.Signer(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "ssh-add") {
		t.Errorf("without a terminal: %v", err)
	}
	private, err := ssh.ParseRawPrivateKeyWithPassphrase(read(t, path), []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	silent.Socket = serve(t, ring)
	signer, err := silent.Signer(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer signer.Close()
	if _, err := signer.Sign(t.Context(), []byte(message)); err != nil || !signer.Key.Agent {
		t.Errorf("by the agent: %v", err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// serve lets an agent of this process answer on a socket.
func serve(t *testing.T, a agent.Agent) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = agent.ServeAgent(a, conn) // it ends with the connection
			}()
		}
	}()
	return socket
}

// A device is an agent with a key as security keys have them. It signs what such keys sign.
type device struct {
	agent.ExtendedAgent
	private ed25519.PrivateKey
	touched bool
	waits   chan struct{} // not nil: it is not touched
}

const application = "ssh:"

func (d *device) public() []byte {
	public := d.private.Public().(ed25519.PublicKey)
	return ssh.Marshal(struct {
		Kind, Key, Application string
	}{ssh.KeyAlgoSKED25519, string(public), application})
}

func (d *device) List() ([]*agent.Key, error) {
	return []*agent.Key{
		{Format: "future@example.com", Blob: ssh.Marshal(struct{ Kind string }{"future@example.com"})},
		{Format: ssh.KeyAlgoSKED25519, Blob: d.public(), Comment: "my\x1b[31mdevice"},
	}, nil
}

func (d *device) SignWithFlags(key ssh.PublicKey, data []byte, _ agent.SignatureFlags) (*ssh.Signature, error) {
	return d.Sign(key, data)
}

func (d *device) Sign(_ ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	if d.waits != nil {
		<-d.waits
		return nil, errors.New("not touched")
	}
	flags := byte(0)
	if d.touched {
		flags = 1
	}
	rest := []byte{flags, 0, 0, 0, 7}
	app, text := sha256.Sum256([]byte(application)), sha256.Sum256(data)
	made := ed25519.Sign(d.private, bytes.Join([][]byte{app[:], rest, text[:]}, nil))
	return &ssh.Signature{Format: ssh.KeyAlgoSKED25519, Blob: made, Rest: rest}, nil
}

func newDevice(t *testing.T) *device {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &device{private: private, touched: true}
}

// A key on a device signs by an agent, and OpenSSH accepts the signature. Without a touch there is none.
func TestSignWithDevice(t *testing.T) {
	d := newDevice(t)
	keys := Keys{Socket: serve(t, d)}
	signer, err := keys.Signer(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer signer.Close()
	if !signer.Key.Hardware || !signer.Key.Agent || signer.Key.Kind != ssh.KeyAlgoSKED25519 {
		t.Errorf("%+v", signer.Key)
	}
	armored, err := signer.Sign(t.Context(), []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	verifyWithOpenSSH(t, signer.Key.Line, armored, message)
	if key, err := Verify(armored, []byte(message)); err != nil || FormatKey(key) != signer.Key.Line {
		t.Errorf("%v, %v", key, err)
	}
	d.touched = false
	if _, err := signer.Sign(t.Context(), []byte(message)); err == nil || !strings.Contains(err.Error(), "touch") {
		t.Errorf("without a touch: %v", err)
	}
}

// A signer that waits for a touch ends with its context.
func TestSignCancelled(t *testing.T) {
	d := newDevice(t)
	d.waits = make(chan struct{})
	defer close(d.waits)
	keys := Keys{Socket: serve(t, d)}
	signer, err := keys.Signer(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer signer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := signer.Sign(ctx, []byte(message)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// An agent that signs with another key than it was asked for is noticed.
type liar struct {
	*device
	other *device
}

func (l *liar) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	return l.other.Sign(key, data)
}

func (l *liar) SignWithFlags(key ssh.PublicKey, data []byte, _ agent.SignatureFlags) (*ssh.Signature, error) {
	return l.other.Sign(key, data)
}

func TestAgentLies(t *testing.T) {
	keys := Keys{Socket: serve(t, &liar{newDevice(t), newDevice(t)})}
	signer, err := keys.Signer(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer signer.Close()
	if armored, err := signer.Sign(t.Context(), []byte(message)); err == nil {
		t.Errorf("signed: %s", armored)
	}
}

// Keys that cannot sign are listed with the reason, and are not used.
func TestKeyProblems(t *testing.T) {
	dir := t.TempDir()
	keygen(t, dir, "good", "ed25519", "")
	open := keygen(t, dir, "open", "ed25519", "")
	public := keygen(t, dir, "public", "ed25519", "")
	mixed := keygen(t, dir, "mixed", "ed25519", "")
	device, err := ssh.ParsePublicKey(newDevice(t).public())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"sk.pub": FormatKey(device) + " touch me\n", "sk": string(pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: []byte("handle")})),
		"note.pub": "not a key\n", "good-cert.pub": "ssh-ed25519-cert-v01@openssh.com AAAA\n", "mixed.pub": string(read(t, keygen(t, t.TempDir(), "other", "ed25519", "")+".pub")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(open, 0o644), os.Remove(public)); err != nil { //nolint:gosec // it is open on purpose
		t.Fatal(err)
	}
	keys := Keys{Dir: dir}
	all, err := keys.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"good": "", "mixed": "", "open": "chmod 600", "public": "no private key", "sk": "ssh-add"}
	if runtime.GOOS == "windows" {
		want["open"] = ""
	}
	for _, k := range all {
		problem, ok := want[filepath.Base(k.Path)]
		if !ok || (problem == "") != (k.Problem == "") || !strings.Contains(k.Problem, problem) {
			t.Errorf("%s: %q, want %q", k.Path, k.Problem, problem)
		}
		delete(want, filepath.Base(k.Path))
		if _, err := keys.Signer(t.Context(), k.Path); (err == nil) != (k.Problem == "" && k.Path != mixed) {
			t.Errorf("%s: %v", k.Path, err)
		}
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	for _, name := range []string{"SHA256:none", filepath.Join(dir, "none"), filepath.Join(dir, "note.pub"), filepath.Join(dir, "sk"), dir} {
		if _, err := keys.Signer(t.Context(), name); err == nil {
			t.Errorf("%s was found", name)
		}
	}
	empty := Keys{Dir: filepath.Join(dir, "none")}
	if _, err := empty.Signer(t.Context(), ""); !errors.Is(err, ErrNoKey) {
		t.Errorf("no keys: %v", err)
	}
	gone := Keys{Dir: dir, Socket: filepath.Join(dir, "none")}
	if all, err := gone.List(t.Context()); err == nil || len(all) == 0 {
		t.Errorf("no agent: %d keys, %v", len(all), err)
	}
}
