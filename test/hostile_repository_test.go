//go:build unix

package test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/internal/testkit/history"
)

// What the user has, and a repository must not get: a key in the environment, and a file
// elsewhere.
const (
	userKey    = "sk-ant-key-of-the-user-4711"
	userSecret = "user-secret-value-0815"
)

// A visit is one command in a hostile repository.
type visit struct {
	dir, out, log string
	code          int
}

// visitRepository unpacks a repository and runs perstack in it, as a user does who cloned
// it. Whatever the repository contains, four things hold: the command ends, nothing appears in
// the directory beside it, and neither the user's file nor the user's key is shown.
func visitRepository(t *testing.T, dir string, args ...string) visit {
	t.Helper()
	elsewhere := filepath.Join(dir, "..", "elsewhere")
	secrets := filepath.Join(elsewhere, "secrets.env")
	if err := os.WriteFile(secrets, []byte("SECRET_TOKEN="+userSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// It is far more than any of this takes. What hangs, hangs for good.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "perstack", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "ANTHROPIC_API_KEY="+userKey, "PERSTACK_STORAGE_PATH=")
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("perstack %v does not end", args)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	v := visit{dir, out.String(), log.String(), cmd.ProcessState.ExitCode()}
	names, err := os.ReadDir(elsewhere)
	if err != nil || len(names) != 1 {
		t.Errorf("perstack %v left something outside the repository: %v, %v", args, names, err)
	}
	if text, err := os.ReadFile(secrets); err != nil || string(text) != "SECRET_TOKEN="+userSecret+"\n" {
		t.Errorf("perstack %v changed a file outside: %q, %v", args, text, err)
	}
	for _, secret := range []string{userKey, userSecret} {
		if strings.Contains(v.out+v.log, secret) {
			t.Errorf("perstack %v shows %s:\n%s\n%s", args, secret, v.out, v.log)
		}
		if file := holds(t, history.Of(t, dir), secret); file != "" {
			t.Errorf("perstack %v wrote %s into %s", args, secret, file)
		}
	}
	if strings.ContainsAny(v.out+v.log, "\x1b\x07\u009b\u202e\u200e\u2066") {
		t.Errorf("perstack %v shows control or direction marks:\n%q\n%q", args, v.out, v.log)
	}
	return v
}

// holds returns a file below dir that contains a text.
func holds(t *testing.T, dir, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // there may be no history
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The repositories that are met without a key and without a network: how each command
// ends in each. What holds for all of them is in visitRepository.
func TestHostileRepositories(t *testing.T) {
	tests := []struct {
		name          string
		validate, run int // exit codes
		says, saysNot string
	}{
		{"starts-servers", 2, 2, "is not a package name", ""},
		{"loader-variables", 0, 0, "Done.", ""},
		{"env-elsewhere", 0, 2, "perstack reads the env file /etc/passwd", "expected = after the name"},
		{"asks-for-everything", 2, 2, "your ANTHROPIC_API_KEY_2 and GITHUB_TOKEN for skill", "Done."},
		{"storage-link", 0, 0, "Done.", ""},
		{"jobs-link", 0, 0, "Done.", ""},
		{"config-link", 2, 2, "perstack.toml:1", ""},
		{"config-pipe", 2, 2, "not a regular file", ""},
		{"cassette-link", 2, 2, "cassette.toml:1", ""},
		{"shadowed-tools", 2, 2, `"readTextFile" is already taken by the base skill`, ""},
		{"hidden-unicode", 0, 0, "Done.", "\U000e0061"},
		{"poisoned-lockfile", 2, 2, "run: perstack install", "poisoned-lockfile-canary"},
		{"huge-config", 2, 2, "larger than 1 MiB", ""},
		{"deep-config", 2, 2, "nested more than", ""},
		{"git-hooks", 0, 0, "Done.", ""},
		{"prepared-history", 0, 0, "Done.", "prepared-history-canary"},
	}
	withNetwork := map[string]bool{"moved-base-url": true, "moved-base-url-in-config": true, "moved-proxy": true}
	tried := map[string]bool{"replaced-base-skill": true} // below
	for _, tt := range tests {
		tried[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			dir := evil.Repository(t, tt.name)
			if v := visitRepository(t, dir, "validate"); v.code != tt.validate {
				t.Errorf("validate: exit code %d, want %d: %s%s", v.code, tt.validate, v.out, v.log)
			}
			v := visitRepository(t, dir, "run", "helper", "hello", "--output", "text")
			if v.code != tt.run || !strings.Contains(v.out+v.log, tt.says) || tt.saysNot != "" && strings.Contains(v.out+v.log, tt.saysNot) {
				t.Errorf("run: exit code %d, want %d: %s%s", v.code, tt.run, v.out, v.log)
			}
			visitRepository(t, dir, "log")
			visitRepository(t, dir, "log", "--latest")
		})
	}
	for _, r := range evil.Repositories() {
		if !tried[r.Name] && !withNetwork[r.Name] {
			t.Errorf("no command visits %s", r.Name)
		}
	}
	attack.Held(t, "W5", len(tests))
	attack.Held(t, "T13", 1) // asks-for-everything
	attack.Held(t, "T14", 3) // prepared-history, storage-link, jobs-link
}

// eachLevel runs a test of what programs do without a sandbox, and at the best level.
func eachLevel(t *testing.T, test func(t *testing.T, level string)) {
	t.Helper()
	t.Run("off", func(t *testing.T) { test(t, "off") })
	if runtime.GOOS == "linux" {
		t.Run("full", func(t *testing.T) { test(t, "full") })
	}
}

// A file that names a program for the base tools gets it started, like that of any skill:
// a user who runs an Expert runs what it declares. But only then, and the user is told; and it is
// in a sandbox like any other.
func TestHostileReplacedBaseSkill(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		dir := evil.Repository(t, "replaced-base-skill")
		for _, args := range [][]string{{"validate"}, {"inspect", "helper"}, {"log"}} {
			visitRepository(t, dir, args...)
		}
		cmd := exec.Command("perstack", "run", "helper", "hello", "--output", "text", "--sandbox="+level)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if exitCode(t, err) != 1 || !strings.Contains(string(out), "the base tools are served by sh -c 'touch ../elsewhere/started', as ") || strings.Contains(string(out), "Done.") {
			t.Errorf("%v: %s", err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "../elsewhere/started")); (err == nil) != (level == "off") {
			t.Errorf("a file that it makes elsewhere: %v", err)
		}
	})
}

// Variables of a .env file reach no command, and none of them moves the history.
func TestHostileEnvFileIsNotExported(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		dir := evil.Repository(t, "loader-variables")
		v := visitRepository(t, dir, "run", "helper", "hello", "--sandbox="+level)
		if v.code != 0 || !strings.Contains(v.out, `"toolName":"exec"`) || !strings.Contains(v.out, "PATH=") {
			t.Fatalf("the command did not run: %s%s", v.out, v.log)
		}
		for _, text := range []string{"loader-variables-canary", "../elsewhere"} {
			if strings.Contains(v.out, text) {
				t.Errorf("%q of .env is in the environment of a command", text)
			}
		}
		if _, err := os.Stat(filepath.Join(history.Of(t, dir), "jobs")); err != nil {
			t.Errorf("the history is not where it should be: %v", err)
		}
	})
}

// An Expert cannot make the user's next git command, or its own next run, do something.
func TestHostileWritesToRepository(t *testing.T) {
	dir := evil.Repository(t, "git-hooks")
	before, err := os.ReadFile(filepath.Join(dir, "perstack.toml"))
	if err != nil {
		t.Fatal(err)
	}
	v := visitRepository(t, dir, "run", "helper", "hello")
	if got := strings.Count(v.out, `\"code\":\"protected\"`); got == 0 {
		t.Errorf("nothing was refused: %s", v.out)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "hooks")); err == nil {
		t.Error("a hook was written")
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".git", "config")); err != nil || string(text) != "[core]\n" {
		t.Errorf(".git/config: %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "perstack.toml")); err != nil || string(text) != string(before) {
		t.Errorf("perstack.toml was changed: %v", err)
	}
}

// A new run uses nothing of a history that came with the repository, and a user who
// looks at that history is told what is wrong with it.
func TestHostileHistory(t *testing.T) {
	dir := evil.Repository(t, "prepared-history")
	v := visitRepository(t, dir, "run", "helper", "hello")
	if v.code != 0 || strings.Contains(v.out, "prepared-history-canary") {
		t.Errorf("a new run sees the old one: %s%s", v.out, v.log)
	}
	if v = visitRepository(t, dir, "log"); v.code != 0 || strings.Contains(v.out+v.log, "aprepared") {
		t.Errorf("it is part of the history of the user: %s%s", v.out, v.log)
	}
	if v = visitRepository(t, dir, "run", "helper", "hello", "--continue-job", "aprepared"); v.code != 2 || !strings.Contains(v.log, "no such job") {
		t.Errorf("it can be continued: %s%s", v.out, v.log)
	}
	v = visitRepository(t, dir, "log", "--storage", "perstack")
	if !strings.Contains(v.out, "aprepared") || !strings.Contains(v.log, "aforged is damaged at record 1") || strings.Contains(v.out, "..evil") {
		t.Errorf("log: %s%s", v.out, v.log)
	}
	if v = visitRepository(t, dir, "log", "aforged", "--verify", "--storage", "perstack"); v.code == 0 {
		t.Errorf("a forged journal is sound: %s%s", v.out, v.log)
	}
	visitRepository(t, dir, "log", "aprepared", "--storage", "perstack")
}
