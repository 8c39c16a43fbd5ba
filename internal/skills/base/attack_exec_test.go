//go:build unix

package base_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestB22Timeout(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", object{"command": "sh", "args": []string{"-c", "echo begun; sleep 3600"}, "timeout": 300})
	got := fields(t, text)
	if !r.IsError || got["code"] != "timeout" || got["timedOut"] != true || !strings.Contains(text, "timed out after 300ms") {
		t.Error(text)
	}
	if got["stdout"] != "begun\n" {
		t.Errorf("what it wrote before is %v", got["stdout"])
	}
}

func TestB23Metacharacters(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", object{"command": "printf", "args": []string{"%s\n", "$HOME; `id` | * > x"}})
	if r.IsError || fields(t, text)["output"] != "$HOME; `id` | * > x\n" {
		t.Error(text)
	}
}

// B24 and N7: protected variables are dropped and reported.
func TestB24N7Environment(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", object{"command": "env", "env": object{
		"PATH": "/evil", "LD_PRELOAD": "/evil", "LD_AUDIT": "/evil", "BASH_ENV": "/evil", "HTTP_PROXY": "/evil",
		"npm_config_registry": "/evil", "PERSTACK_PROXY_URL": "/evil", "FOO": "bar",
	}})
	got := fields(t, text)
	if r.IsError || strings.Contains(got["output"].(string), "/evil") || !strings.Contains(got["output"].(string), "FOO=bar") {
		t.Error(text)
	}
	if dropped, _ := got["droppedEnv"].([]any); len(dropped) != 7 {
		t.Errorf("dropped %v", dropped)
	}
}

// B31: of what the runtime has in its environment, no secret arrives.
func TestB31Secrets(t *testing.T) {
	b := newBench(t)
	got := b.mustDo("exec", object{"command": "env"})
	output, _ := got["output"].(string)
	if !strings.Contains(output, "PATH=") {
		t.Errorf("env says %q", output)
	}
	for _, name := range append(secretNames(), canary) {
		if strings.Contains(output, name) {
			t.Errorf("%s reached a command", name)
		}
	}
}

// N12: a program that ignores requests to end is ended.
func TestN12IgnoresTerm(t *testing.T) {
	b := newBench(t)
	got := b.mustFail("exec", object{"command": "sh", "args": []string{"-c", "trap '' TERM INT HUP; while :; do sleep 0.05; done"}, "timeout": 300}, "timeout")
	if got["timedOut"] != true {
		t.Error(got)
	}
}

// N12: what a command leaves in the background is gone when the call returns.
func TestN12Background(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", object{"command": "sh", "args": []string{"-c", "(trap '' TERM HUP; exec sleep 3600) & echo $!"}, "timeout": 0})
	pid, err := strconv.Atoi(strings.TrimSpace(fields(t, text)["output"].(string)))
	if r.IsError || err != nil {
		t.Fatal(text)
	}
	for range 100_000 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if syscall.Kill(pid, 0) != nil || err == nil && dead(string(stat)) {
			return
		}
	}
	t.Errorf("process %d survived", pid)
}

// dead tells by /proc/PID/stat whether a process is one that waits to be collected. One
// whose first thread has ended looks the same and lives on in the others: field 20 of
// proc_pid_stat(5) counts them.
func dead(stat string) bool {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the first is field 3
	return fields[0] == "Z" && (fields[17] == "0" || fields[17] == "1")
}
