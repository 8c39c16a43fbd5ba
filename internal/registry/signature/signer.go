package signature

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A Signer signs with one key. It is closed after use.
type Signer struct {
	Key    Key
	signer ssh.Signer
	agent  *agentConn // nil for a file
}

// Sign signs the canonical text of a definition. A device waits for a touch.
func (s *Signer) Sign(ctx context.Context, text []byte) (string, error) {
	if s.agent == nil {
		return Sign(s.signer, text)
	}
	stop := s.agent.patience(ctx, signPatience)
	defer stop()
	signed, err := Sign(s.signer, text)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil && s.Key.Hardware:
		return "", fmt.Errorf("%w; plug in the device, and touch it when it blinks", err)
	}
	return signed, err
}

// Close ends the connection to the agent.
func (s *Signer) Close() error {
	if s.agent == nil {
		return nil
	}
	return s.agent.Close()
}

// An AmbiguousError says that a key has to be named, because there are several.
type AmbiguousError struct{ Keys []Key }

func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Keys))
	for i, k := range e.Keys {
		names[i] = k.Fingerprint
	}
	return "there are several keys that can sign; name one of them: " + strings.Join(names, ", ")
}

// ErrNoKey is returned if there is no key that can sign.
var ErrNoKey = errors.New("there is no SSH key that can sign; make one with: ssh-keygen -t ed25519")

// Signer returns what signs with a key. The key is named by its fingerprint, or by the absolute path of
// its file, with or without .pub; "" is for the only one there is.
func (k *Keys) Signer(ctx context.Context, name string) (*Signer, error) {
	if name != "" && !strings.HasPrefix(name, "SHA256:") {
		return k.ofFile(ctx, name)
	}
	all, err := k.List(ctx)
	var found []Key
	for _, one := range all {
		if name == "" && one.Problem == "" || name != "" && one.Fingerprint == name {
			found = append(found, one)
		}
	}
	switch {
	case len(found) == 1 && found[0].Problem != "":
		return nil, fmt.Errorf("the key %s cannot be used: %s", name, found[0].Problem)
	case len(found) == 1:
		return k.open(ctx, found[0])
	case len(found) > 1:
		return nil, &AmbiguousError{found}
	case err != nil:
		return nil, err
	case name != "":
		return nil, fmt.Errorf("neither the agent nor the directory of SSH has the key %s", name)
	}
	return nil, ErrNoKey
}

// ofFile returns what signs with the key of a file. If the agent holds it, no passphrase is needed.
func (k *Keys) ofFile(ctx context.Context, path string) (*Signer, error) {
	path = strings.TrimSuffix(path, ".pub")
	public, comment, err := readPublic(path + ".pub")
	if userfile.Absent(err) {
		return k.open(ctx, Key{Path: path})
	}
	if err != nil {
		return nil, err
	}
	one := newKey(public, comment)
	one.Path = path
	held, agentErr := k.held(ctx)
	for _, other := range held {
		if other.Line == one.Line {
			one.Agent = true
		}
	}
	if one.Problem == "" && !one.Agent {
		one.Problem = privateProblem(one)
	}
	if one.Problem != "" {
		return nil, errors.Join(fmt.Errorf("the key %s cannot be used: %s", path, one.Problem), agentErr)
	}
	return k.open(ctx, one)
}

// open returns what signs with a key that was found.
func (k *Keys) open(ctx context.Context, one Key) (*Signer, error) {
	if !one.Agent {
		signer, err := k.load(ctx, one.Path)
		if err != nil {
			return nil, fmt.Errorf("the key %s cannot be used: %w", one.Path, err)
		}
		own := newKey(signer.PublicKey(), one.Comment)
		if own.Problem != "" {
			return nil, fmt.Errorf("the key %s cannot be used: %s", one.Path, own.Problem)
		}
		if one.Line != "" && own.Line != one.Line {
			return nil, fmt.Errorf("the key %s cannot be used: it is not the one of the public key beside it", one.Path)
		}
		own.Path = one.Path
		return &Signer{Key: own, signer: signer}, nil
	}
	a, err := openAgent(ctx, k.Socket)
	if err != nil {
		return nil, err
	}
	signers, err := a.signers(ctx)
	for _, s := range signers {
		if FormatKey(s.public) == one.Line {
			return &Signer{Key: one, signer: s.signer, agent: a}, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("the agent no longer holds the key %s", one.Fingerprint)
	}
	return nil, errors.Join(err, a.Close())
}

// load reads a private key.
func (k *Keys) load(ctx context.Context, path string) (ssh.Signer, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(data) > maxKeyFile {
		err = fmt.Errorf("the file is larger than %d KiB", maxKeyFile>>10)
	}
	if err != nil {
		return nil, err
	}
	defer clear(data)
	signer, err := ssh.ParsePrivateKey(data)
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted {
		return k.decrypt(ctx, path, data)
	}
	if err != nil { // the library's text could repeat a part of the file
		return nil, errors.New("it is not a private key of SSH that can be read; a key on a device has to be added to an agent")
	}
	return signer, nil
}

func (k *Keys) decrypt(ctx context.Context, path string, data []byte) (ssh.Signer, error) {
	if k.Passphrase == nil {
		return nil, errors.New("it has a passphrase, and there is no terminal to ask for it; add the key to an agent: ssh-add " + terminal.ShellJoin(path))
	}
	passphrase, err := k.Passphrase(ctx, path)
	if err != nil {
		return nil, err
	}
	defer clear(passphrase)
	signer, err := ssh.ParsePrivateKeyWithPassphrase(data, passphrase)
	if err != nil {
		return nil, errors.New("the passphrase is wrong")
	}
	return signer, nil
}

// openPrivate opens a private key, which only its user may be able to read.
func openPrivate(path string) (*os.File, error) {
	f, err := userfile.OpenRegular(path)
	if err != nil {
		return nil, userfile.Reason(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case userfile.Foreign(f):
		err = userfile.ErrForeign
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		err = errors.New("others can read it; run: chmod 600 " + terminal.ShellJoin(path))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
