package packages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/wording"
)

// patience is enough for slow connections.
const patience = 5 * time.Minute

// fixed are the settings that decide what is installed and what runs meanwhile. They are
// flags because flags override variables and every .npmrc: the configuration of the user
// says where packages come from, not whether their scripts run.
//
// never is the path of a program that does not exist.
func fixed(never string) []string {
	return []string{
		"--ignore-scripts", "--no-dangerously-allow-all-scripts", "--no-foreground-scripts",
		"--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--no-color", "--loglevel=http", "--logs-max=0",
		"--no-global", "--no-workspaces", "--no-dry-run", "--no-bin-links",
		"--package-lock", "--save", "--lockfile-version=3", "--omit-lockfile-registry-resolved",
		"--omit=dev", "--install-strategy=hoisted", "--no-legacy-peer-deps", "--no-strict-peer-deps", "--no-force",
		// Only the registry: a package cannot send npm to a repository or a file. Nor to an
		// address; but npm takes a registry's own packages for that when it looks at what
		// is bundled in them. So the tree is checked for it, and npm where it installs.
		"--allow-git=none", "--allow-file=none", "--allow-directory=none",
		// An npm before version 11 knows none of these, and gets a repository ready before
		// we see the tree: with git, or with an archive of a well known host, then with an
		// npm of its own, then with the script "prepare", which --ignore-scripts does not
		// stop there. So it finds no git and no shell, and a node that it starts ends at
		// once. It hands these on, and there they win over the .npmrc of the repository.
		"--git=" + never, "--script-shell=" + never, "--node-options=" + noNode,
	}
}

// noNode is an option that node does not have.
const noNode = "--started-by-npm"

// neverIn returns the path of a program that cannot exist: package.json is a file.
func neverIn(dir string) string { return filepath.Join(dir, manifestName, "no-program") }

// npm runs npm in a directory of ours, which has a package.json, and returns what it
// wrote.
func (s *Store) npm(ctx context.Context, dir, command string, flags ...string) (string, error) {
	c := s.npmCommand(dir, command, flags...)
	c.Args = append(c.Args, "--noproxy=") // a variable cannot make it empty
	c.Set = setup(s.Environ)
	maps.DeleteFunc(c.Set, func(name, _ string) bool {
		key, _ := npmKey(name)
		return slices.Contains([]string{"proxy", "https-proxy", "http-proxy", "noproxy"}, key)
	})
	out, err := s.runBehind(ctx, "npm", c, []string{"npm_config_proxy", "npm_config_https_proxy"}, func(ctx context.Context) (egress.Reach, error) {
		return s.npmReach(ctx, dir)
	})
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return "", errors.New("npm was not found in PATH; install Node.js, which brings it")
	case err != nil:
		return "", err
	case out.ExitCode != 0:
		stderr := out.Stderr.String()
		if strings.Contains(stderr, neverIn(dir)) || strings.Contains(stderr, "spawn ENOTDIR") || strings.Contains(stderr, noNode) {
			return "", errNotPublished
		}
		return "", npmError(out.ExitCode, hide(setup(s.Environ), stderr))
	}
	return out.Stdout.String(), nil
}

func (s *Store) npmCommand(dir, command string, flags ...string) sandbox.Command {
	program, args := npmProgram(s.Environ)
	return sandbox.Command{
		Program: program, Args: slices.Concat(args, []string{command}, flags, fixed(neverIn(dir))), Dir: dir,
		Policy: offline(),
	}
}

// offline is the policy of a package manager. It can use all files, because the user's
// configuration and caches can be anywhere. It can connect to no port but that of the proxy, which
// [Store.runBehind] adds.
func offline() *policy.Policy {
	if landlock.Available() != nil {
		return policy.Off(policy.PackageManager)
	}
	return &policy.Policy{Level: expert.SandboxLandlock, Write: []string{"/"}}
}

// npmProgram returns what starts npm. On Windows npm is a batch file, which a shell would
// run; so node is given the script that lies next to it.
func npmProgram(environ []string) (program string, args []string) {
	if runtime.GOOS != "windows" {
		return "npm", nil
	}
	for _, dir := range filepath.SplitList(sandbox.Variable(environ, "PATH")) {
		script := filepath.Join(dir, modules, "npm", "bin", "npm-cli.js")
		if info, err := os.Stat(script); err == nil && info.Mode().IsRegular() && filepath.IsAbs(dir) {
			return "node", []string{script}
		}
	}
	return "npm", nil // which is not found, and the error says so
}

// run runs a package manager to its end. The error says that it could not be started or
// did not come to an end; a failure of the program itself is in the outcome.
func (s *Store) run(ctx context.Context, name string, c sandbox.Command) (sandbox.Outcome, error) {
	c.Timeout, c.MaxOutput = patience, 1<<20
	out, err := s.Commands.Run(ctx, c)
	switch {
	case err != nil:
		err = fmt.Errorf("run %s: %w", name, err)
	case out.Cancelled && ctx.Err() != nil:
		err = context.Cause(ctx)
	case out.Cancelled:
		err = context.Canceled
	case out.TimedOut:
		err = fmt.Errorf("%s took longer than %s; is the network slow? try again", name, patience)
	case out.Signal != "":
		err = fmt.Errorf("%s was killed by %s", name, out.Signal)
	}
	return out, err
}

var errNotPublished = errors.New("it needs something that does not come from the registry")

// setup returns the variables of the user's environment that configure npm.
func setup(environ []string) map[string]string {
	set := make(map[string]string)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch upper := strings.ToUpper(name); {
		case upper == "NPM_CONFIG_ALLOW_SCRIPTS": // npm stops when it sees that, and none run anyway
		case strings.HasPrefix(upper, "NPM_CONFIG_") && value != "",
			slices.Contains([]string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"}, upper) && value != "":
			set[name] = value
		}
	}
	// Without a network npm would try for more than a minute, and that for each package.
	for name, value := range map[string]string{
		"npm_config_fetch_retries": "1", "npm_config_fetch_retry_mintimeout": "500", "npm_config_fetch_retry_maxtimeout": "2000",
	} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(set)), func(other string) bool { return strings.EqualFold(other, name) }) {
			set[name] = value
		}
	}
	return set
}

// npmError is the error of npm, in few words if it is a known one.
func npmError(status int, stderr string) error {
	code := ""
	if found := codePattern().FindStringSubmatch(stderr); found != nil {
		code = found[1]
	}
	what := fmt.Sprintf("npm failed with exit status %d", status)
	switch code {
	case "E404":
		return errors.New("the registry has no such package or version; check the name")
	case "ETARGET", "ENOVERSIONS":
		return errors.New("the registry has no such version; check it")
	case "EINTEGRITY":
		what = "integrity mismatch: the registry serves something else than what was pinned"
	case "ENOTCACHED":
		what = "npm is offline and its cache lacks something; run it once with a network"
	case "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "ENETUNREACH", "EHOSTUNREACH":
		return errors.New("the registry cannot be reached; is the network there?")
	case "EALLOWGIT", "EALLOWREMOTE", "EALLOWFILE", "EALLOWDIRECTORY":
		what = errNotPublished.Error()
	}
	if said := lastLines(stderr); said != "" {
		what += "; npm said last: " + said
	}
	return errors.New(what)
}

var (
	codePattern = pattern(`(?m)^npm (?:error|ERR!) code (\w+)`)
	prefix      = pattern(`^npm (?:error|ERR!)\s*`)
	chatter     = pattern(`^npm (?:http|warn|WARN|notice)\b`)
	credentials = pattern(`(://)[^\s/@]*@`)
	secretName  = pattern(`(?i)auth|token|passw|secret|key|cert`)
)

const (
	maxSaid     = 1000 // bytes
	maxSaidLine = 300
	maxSaidList = 6
)

// lastLines returns the last lines of the output of npm, which say most, on one line.
func lastLines(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if chatter().MatchString(line) {
			continue
		}
		line = safeText(strings.TrimSpace(prefix().ReplaceAllString(line, "")))
		if line == "" || strings.HasPrefix(line, "code ") || strings.Contains(line, "complete log of this run") || strings.HasPrefix(line, "Log files were not written") {
			continue
		}
		lines = append(lines, wording.Cut(line, maxSaidLine))
	}
	lines = lines[max(0, len(lines)-maxSaidList):]
	return wording.Cut(strings.Join(lines, " | "), maxSaid)
}

// hide replaces passwords of the settings, and those in addresses, in what a package
// manager wrote.
func hide(settings map[string]string, text string) string {
	for name, value := range settings {
		if secretName().MatchString(name) && len(value) > 3 {
			text = strings.ReplaceAll(text, value, "…")
		}
	}
	return credentials().ReplaceAllString(text, "$1…@")
}

// safeText makes untrusted text safe for a terminal: without control characters and
// invisible characters.
func safeText(s string) string {
	return wording.Cut(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, s), maxSaidLine)
}
