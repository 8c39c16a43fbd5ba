package credentials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Helpers starts programs that keep keys in a keychain. They are those of Docker:
// docker-credential-NAME gets an action as its argument and a server or a key on its input, and
// answers on its output. The user chooses one by its name; no file of a project can.
//
// A helper uses the keychain of the user, so it runs without a sandbox. It is believed in nothing
// but the key, and only for the server that was asked for.
type Helpers struct {
	Commands *sandbox.Supervisor
	Environ  []string // of the user
	Dir      string   // working directory
	// Check refuses a program by its path, such as one in the workspace; nil for none.
	Check func(path string) error
	// Timeout bounds one call; 0 for one minute. A keychain can ask the user for a password.
	Timeout time.Duration
}

// An Answer is what helpers and perstack tell each other.
type Answer struct {
	ServerURL string
	Username  string
	Secret    string
}

// The bounds of helpers.
const (
	maxHelperName = 64
	maxAnswer     = 64 << 10
	maxComplaint  = 200 // characters of what a helper says is wrong
	helperTimeout = time.Minute
	helperGrace   = 2 * time.Second
)

// notFound is what all helpers answer if they have no key for a server.
const notFound = "credentials not found in native keychain"

// passed are the variables that keychains need to find the user's session. None is a secret.
var passed = []string{
	"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME",
	"GNUPGHOME", "GPG_TTY", "PASSWORD_STORE_DIR", "USER", "LOGNAME",
}

// checkHelper refuses names that are not one word: the name becomes that of a program.
func checkHelper(name string) error {
	word := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if name == "" || len(name) > maxHelperName || strings.ContainsFunc(name, func(c rune) bool { return !word(c) }) {
		return errors.New("the name of a helper has letters, digits, - and _ only, like pass or secretservice")
	}
	return nil
}

// Get asks a helper for the key of a server. The error is [ErrNone] if it has none.
func (h Helpers) Get(ctx context.Context, name, server string) (Answer, error) {
	out, err := h.call(ctx, name, "get", []byte(server+"\n"))
	if err != nil {
		return Answer{}, err
	}
	fail := func(why string) (Answer, error) {
		return Answer{}, fmt.Errorf("the credential helper %q cannot be used: %s", name, why)
	}
	var a Answer
	if json.Unmarshal(out, &a) != nil { // the error could repeat a part of the key
		return fail("its answer is not the JSON that helpers write")
	}
	// A key for another server would be sent to the wrong one.
	if a.ServerURL != "" && a.ServerURL != server {
		return fail(fmt.Sprintf("it was asked for %s, and answered for another server", server))
	}
	if err := checkKey(a.Secret); err != nil {
		return fail("in its answer, " + err.Error())
	}
	if len(a.Username) > maxAccount || !printable(a.Username) {
		return fail("the user name in its answer is too long or not printable")
	}
	return a, nil
}

// Store gives a helper a key to keep.
func (h Helpers) Store(ctx context.Context, name string, a Answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err := h.call(ctx, name, "store", text); err != nil {
		return hideIn(err, a.Secret)
	}
	// A helper that forgets would be noticed only when the key is needed.
	kept, err := h.Get(ctx, name, a.ServerURL)
	if err == nil && kept.Secret != a.Secret {
		err = fmt.Errorf("the credential helper %q cannot be used: it answers with another key than it was given", name)
	}
	return hideIn(err, a.Secret)
}

// Erase makes a helper forget the key of a server. A key that it does not have is no error.
func (h Helpers) Erase(ctx context.Context, name, server string) error {
	if _, err := h.call(ctx, name, "erase", []byte(server+"\n")); err != nil && !errors.Is(err, ErrNone) {
		return fmt.Errorf("%w; the key can still be in the keychain", err)
	}
	return nil
}

// hideIn returns an error without a key that a helper repeated in its words.
func hideIn(err error, key string) error {
	if err != nil && strings.Contains(err.Error(), key) {
		return errors.New(strings.ReplaceAll(err.Error(), key, "[redacted]"))
	}
	return err
}

// call runs one action of a helper and returns its output.
func (h Helpers) call(ctx context.Context, name, action string, input []byte) ([]byte, error) {
	fail := func(err error) error {
		return fmt.Errorf("the credential helper %q failed to %s: %w", name, action, err)
	}
	if err := checkHelper(name); err != nil {
		return nil, err
	}
	path, err := sandbox.LookPath("docker-credential-"+name, h.Environ)
	if err == nil && h.Check != nil {
		err = h.Check(path)
	}
	if err != nil {
		return nil, fail(err)
	}
	timeout := h.Timeout
	if timeout == 0 {
		timeout = helperTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it does not answer within %s", timeout))
	defer cancel()
	process, err := h.Commands.Start(ctx, sandbox.Server{
		Program: path, Args: []string{action}, Dir: h.Dir, Environ: h.Environ, Set: h.session(), Policy: policy.Off(policy.CredentialHelper),
	})
	if err != nil {
		return nil, fail(err)
	}
	out, err := talk(ctx, process, input)
	if err != nil {
		return nil, fail(err)
	}
	// A helper says on its output what is wrong, and how it ended says that something is.
	if exit := process.Exit(); exit != "exit status 0" {
		said := terminal.CleanLine(strings.TrimSpace(string(out[:min(len(out), maxComplaint)])))
		if strings.HasPrefix(said, notFound) {
			return nil, fmt.Errorf("%w: the credential helper %q has no key", ErrNone, name)
		}
		return nil, fail(fmt.Errorf("%s: %s", exit, said))
	}
	return out, nil
}

// session are the variables of the user's session.
func (h Helpers) session() map[string]string {
	set := make(map[string]string)
	for _, name := range passed {
		if value := sandbox.Variable(h.Environ, name); value != "" && !strings.ContainsRune(value, 0) {
			set[name] = value
		}
	}
	return set
}

// errFlood says that a helper writes more than a key.
var errFlood = fmt.Errorf("it answers with more than %d KiB", maxAnswer>>10)

// talk writes the input, reads the output and waits for the end. It leaves no process behind.
func talk(ctx context.Context, process *sandbox.ServerProcess, input []byte) ([]byte, error) {
	var out bytes.Buffer
	var once sync.Once
	var failed error
	stop := make(chan struct{})
	end := func(err error) { once.Do(func() { failed = err; close(stop) }) }

	var streams sync.WaitGroup
	streams.Go(func() {
		// A helper that ends before it has read all can still have answered.
		_, _ = process.Stdin.Write(input)
		process.Stdin.Close()
	})
	streams.Go(func() {
		_, err := io.Copy(&out, io.LimitReader(process.Stdout, maxAnswer+1))
		switch {
		case out.Len() > maxAnswer:
			end(errFlood)
		case err != nil:
			end(err)
		}
	})
	streams.Go(func() {
		// What it writes here is not shown: a helper can print the key as well.
		if n, _ := io.Copy(io.Discard, io.LimitReader(process.Stderr, maxAnswer+1)); n > maxAnswer {
			end(errFlood)
		}
	})
	select {
	case <-process.Done():
	case <-stop:
	case <-ctx.Done():
		end(context.Cause(ctx))
	}
	stopped := process.Stop(helperGrace)
	streams.Wait()
	end(nil) // after it, nothing changes what failed
	if failed == nil {
		failed = stopped
	}
	return out.Bytes(), failed
}
