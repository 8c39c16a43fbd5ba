package signature

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A Key is a key of the user.
type Key struct {
	Line        string // as [FormatKey] writes it
	Kind        string // such as ssh-ed25519
	Fingerprint string
	Comment     string // of the agent or the file; it can have any characters
	Hardware    bool   // it is on a device, which has to be touched
	Agent       bool   // the agent of the user holds it
	Path        string // of the file with the private key; empty if only the agent has it
	Problem     string // why it cannot sign; empty if it can
}

// Keys are the keys of the user: those that an agent holds, and those in the directory of SSH.
type Keys struct {
	Dir    string // of SSH; empty if there is none
	Socket string // of the agent; empty if there is none
	// Passphrase asks for that of a file; nil if there is no user to ask. The answer is overwritten after use.
	Passphrase func(ctx context.Context, path string) ([]byte, error)
}

// The bounds of the directory and its files.
const (
	maxEntries = 1000
	maxKeyFile = 64 << 10
)

// List returns the keys that can sign, and those that cannot with the reason. Those of the agent are
// first. An agent or a directory that cannot be asked is an error; the keys of the other are returned.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	all, agentErr := k.held(ctx)
	files, dirErr := k.files()
	for _, one := range files {
		at := slices.IndexFunc(all, func(other Key) bool { return other.Line == one.Line })
		switch {
		case at < 0:
			all = append(all, one)
		case all[at].Agent && all[at].Path == "":
			all[at].Path, all[at].Comment = one.Path, cmp.Or(all[at].Comment, one.Comment)
		case all[at].Problem != "" && one.Problem == "":
			all[at] = one // a copy that can be used
		}
	}
	return all, errors.Join(agentErr, dirErr)
}

// newKey describes a public key.
func newKey(public ssh.PublicKey, comment string) Key {
	k := Key{
		Line: FormatKey(public), Kind: public.Type(), Fingerprint: Fingerprint(public), Comment: comment,
		Hardware: public.Type() == ssh.KeyAlgoSKED25519 || public.Type() == ssh.KeyAlgoSKECDSA256,
	}
	if err := CheckKey(public); err != nil {
		k.Problem = err.Error()
	}
	return k
}

// held are the keys that the agent holds. Its certificates are left out: their keys are listed, too.
func (k *Keys) held(ctx context.Context) (all []Key, err error) {
	if k.Socket == "" {
		return nil, nil
	}
	a, err := openAgent(ctx, k.Socket)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	signers, err := a.signers(ctx)
	for _, s := range signers {
		one := newKey(s.public, s.comment)
		one.Agent = true
		all = append(all, one)
	}
	return all, err
}

// files are the keys in the directory of SSH.
func (k *Keys) files() (all []Key, err error) {
	if k.Dir == "" {
		return nil, nil
	}
	names, err := userfile.Names(k.Dir, maxEntries)
	if userfile.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the keys in %s cannot be listed: %w", k.Dir, err)
	}
	slices.Sort(names)
	for _, name := range names {
		private, ok := strings.CutSuffix(name, ".pub")
		if !ok || strings.HasSuffix(private, "-cert") {
			continue
		}
		public, comment, err := readPublic(filepath.Join(k.Dir, name))
		if err != nil {
			continue // another program has such files, too
		}
		one := newKey(public, comment)
		one.Path = filepath.Join(k.Dir, private)
		if one.Problem == "" {
			one.Problem = privateProblem(one)
		}
		all = append(all, one)
	}
	return all, nil
}

// privateProblem says why the private key beside a public one cannot sign. What only its content tells
// is found out when it is used.
func privateProblem(k Key) string {
	if k.Hardware {
		return "the key is on a device, which only an agent can use; run: ssh-add " + terminal.ShellJoin(k.Path)
	}
	f, err := openPrivate(k.Path)
	if userfile.Absent(err) {
		return "there is no private key beside it"
	}
	if err != nil {
		return err.Error()
	}
	f.Close()
	return ""
}

// readPublic reads a .pub file.
func readPublic(path string) (ssh.PublicKey, string, error) {
	data, err := userfile.Read(path, maxKeyFile)
	if err != nil {
		return nil, "", err
	}
	public, comment, options, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil || len(options) > 0 {
		return nil, "", fmt.Errorf("%s is not a public key of SSH", path)
	}
	return public, comment, nil
}
