package mcp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/userfile"
)

// checkHTTP refuses flags that would be left without effect.
func (o *Options) checkHTTP(flags *pflag.FlagSet) error {
	for _, name := range []string{"port", "token-file"} {
		if flags.Changed(name) && !o.HTTP {
			return host.Usagef("--%s has no meaning without --http", name)
		}
	}
	return nil
}

// A token is what a header can carry without quotes. Sixteen random characters cannot be guessed.
var tokenGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`) })

func isToken(text string) bool {
	length := len(strings.TrimRight(text, "="))
	return length >= 16 && length <= 512 && len(text) <= 2*512 && tokenGrammar().MatchString(text)
}

// readToken returns the token of the file, or a new one. There is no flag for the token itself:
// every program of the machine can read the arguments of the others.
func (o *Options) readToken() (string, error) {
	if o.TokenFile == "" {
		return rand.Text(), nil
	}
	path := o.Host.Path(o.TokenFile)
	data, err := userfile.Read(path, 1<<10)
	if err != nil {
		return "", fmt.Errorf("--token-file: %s: %w", path, err)
	}
	if info, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	} else if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("--token-file: other users have rights to %s; take them away: chmod 600", path)
	}
	text := strings.TrimSpace(string(data))
	if !isToken(text) {
		return "", errors.New("--token-file: it must hold one token of 16 to 512 letters, digits and -._~+/ and nothing else; make one with: openssl rand -hex 32")
	}
	o.Host.Secrets.Add("token", text)
	return text, nil
}

// announce prints the address, and the token if it is new. From then on the token is redacted like
// any other secret.
func (o *Options) announce(token string) func(url string) {
	return func(url string) {
		fmt.Fprintf(o.Host.Stderr, "Listening on %s\n", url)
		if o.TokenFile == "" {
			fmt.Fprintf(o.Host.Stderr, "Clients send this header, which is shown only now: Authorization: Bearer %s\n", token)
			o.Host.Secrets.Add("token", token)
		}
	}
}
