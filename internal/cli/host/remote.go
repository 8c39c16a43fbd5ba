package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/version"
)

// The limits of a remote perstack.toml.
const (
	maxRemote     = 1 << 20
	remoteTimeout = 10 * time.Second
)

// FetchConfig replaces the URL in a flag --config by the path of a copy, after the user has
// confirmed its digest: in the fragment of the URL, as #sha256=HEX, or as confirmRemote has it.
// Other values stay as they are. The copy lies in the state directory,
// with a lockfile of its own.
func (h *Host) FetchConfig(ctx context.Context, flag *string) error {
	if !manifest.IsRemote(*flag) {
		return nil
	}
	path, err := h.fetchConfig(ctx, *flag)
	if err != nil {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	*flag = path
	return nil
}

func (h *Host) fetchConfig(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return "", errors.New("--config: this is not a valid URL") // it can contain a key
	case !strings.EqualFold(u.Scheme, "https"):
		return "", fmt.Errorf("--config %s: a remote configuration needs https", shownURL(u))
	}
	pinned, err := cutDigest(u)
	if err != nil {
		return "", fmt.Errorf("--config %s: %w", shownURL(u), err)
	}
	dir, err := h.StateDir()
	if err != nil {
		return "", err
	}
	address, _, _ = strings.Cut(address, "#") // with a digest or without, it is one file
	remote := dir.Remote(address)
	confirmed, err := remote.Digest()
	if err != nil {
		return "", err
	}
	content, err := h.fetch(ctx, u)
	if err != nil {
		return "", fmt.Errorf("fetch the configuration %s: %w", shownURL(u), err)
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	fmt.Fprintf(h.Stderr, "perstack: configuration %s, SHA-256 %s\n", shownURL(u), digest)
	switch {
	case pinned != "" && digest != pinned:
		return "", fmt.Errorf("the configuration %s has the SHA-256 %s, and not %s, which the URL names", shownURL(u), digest, pinned)
	case pinned == "" && digest != confirmed:
		if err := h.confirmRemote(ctx, shownURL(u), confirmed, digest); err != nil {
			return "", err
		}
	}
	path, err := remote.Save(manifest.FileName, content)
	if err == nil && digest != confirmed {
		err = remote.Confirm(digest)
	}
	return path, err
}

// cutDigest removes the fragment of a URL, and returns the digest in it; "" if there is none.
func cutDigest(u *url.URL) (string, error) {
	if u.Fragment == "" {
		return "", nil
	}
	digest, ok := strings.CutPrefix(u.Fragment, "sha256=")
	digest = strings.ToLower(digest)
	u.Fragment, u.RawFragment = "", ""
	if sum, err := hex.DecodeString(digest); !ok || err != nil || len(sum) != sha256.Size {
		return "", errors.New("what follows # is not a digest; write #sha256= and 64 hexadecimal digits")
	}
	return digest, nil
}

// fetch reads the file from its server, which must be at a public address.
func (h *Host) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	policy := egress.Policy{Origin: u, MaxBody: maxRemote}
	if h.RemotePolicy != nil {
		h.RemotePolicy(&policy)
	}
	content, err := egress.Fetch(ctx, policy, "perstack/"+version.String())
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("the server did not answer within %s", remoteTimeout)
	}
	return content, err
}

// confirmRemote asks the user about a configuration from elsewhere. It decides which programs
// run and which variables they get, so it is not used before the user has said yes to its digest.
// --yes is for the first use: it does not cover what the server has changed since.
func (h *Host) confirmRemote(ctx context.Context, address, before, digest string) error {
	what, refusal := address+" was not used before", "look at it, and confirm it with --yes, or with #sha256="+digest+" at the end of the URL"
	if before != "" {
		what = fmt.Sprintf("%s has changed: its SHA-256 was %s and is %s", address, before, digest)
		refusal = "look at it, and confirm it with #sha256=" + digest + " at the end of the URL"
	}
	switch {
	case h.Yes && before == "":
		fmt.Fprintf(h.Stderr, "perstack: the configuration %s; accepted by --yes\n", what)
		return nil
	case !h.CanConfirm():
		return fmt.Errorf("the configuration %s; %s", what, refusal)
	}
	yes, err := h.Confirm(ctx, "perstack: the configuration %s. It decides which programs run and which variables they get.\nUse it?", what)
	if err == nil && !yes {
		err = fmt.Errorf("the configuration %s was not confirmed", address)
	}
	return err
}

// shownURL is a URL without its query, which can contain a key.
func shownURL(u *url.URL) string {
	shown := url.URL{Scheme: strings.ToLower(u.Scheme), Host: u.Host, Path: u.Path}
	text := shown.String()
	if u.RawQuery != "" {
		text += "?…"
	}
	return terminal.CleanLine(text)
}

// isRemoteCopy reports whether a file is the copy of a remote one. It belongs to no project.
func (h *Host) isRemoteCopy(path string) bool {
	dir, err := h.StateDir()
	return err == nil && dir.IsRemote(path)
}

// RestrictRemote lets a remote file name the usual env files of the working directory, as files of
// the original do, and no others: it must not decide which files of the user are read. Other
// files are left as they are.
func (h *Host) RestrictRemote(c *manifest.Config) error {
	if !h.isRemoteCopy(c.Path) {
		return nil
	}
	usual := []string{".env", ".env.local"}
	found := []string{} // empty, not nil: the file says which
	for _, name := range c.EnvPath {
		if !slices.Contains(usual, name) {
			return Usagef("a remote configuration cannot name env files other than .env and .env.local; leave out envPath, and name the files with --env-path")
		}
		if path := filepath.Join(h.Dir, name); exists(path) {
			found = append(found, path)
		}
	}
	if c.EnvPath != nil {
		c.EnvPath = found
	}
	cassette := c.Settings.Setting.Cassette != ""
	for _, e := range c.Experts {
		cassette = cassette || e.Provider != nil && e.Provider.Setting.Cassette != ""
	}
	if cassette {
		return Usagef("a remote configuration cannot name a cassette; pass it with --cassette")
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
