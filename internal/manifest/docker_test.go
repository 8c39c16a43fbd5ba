package manifest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/job"
)

// Each key of [docker] is refused for what it cannot be, where it stands, and with advice.
func TestWrongDocker(t *testing.T) {
	const (
		unit    = `write a whole number with its unit, like "512MiB", "2GiB" or "1GB"`
		cpus    = "; it is a number of processors, like 1.5"
		image   = ` is not the name of an image; write it like debian:12-slim, or with a host before and @sha256:… behind it`
		nets    = "; name a bridge network that you made, with: docker network create"
		mirrors = "; write it like mirror.example, mirror.example:5000 or mirror.example/path"
		left    = "; leave the key out for the default"
	)
	for text, want := range map[string]string{
		"memory = '2g'":                   `10: docker.memory: "2g" is not a size; ` + unit,
		"memory = '1.5GiB'":               `10: docker.memory: "1.5GiB" is not a size; ` + unit,
		"memory = '999999999999999TiB'":   `10: docker.memory: "999999999999999TiB" is too large; nothing has so many bytes`,
		"memory = '63MiB'":                "10: docker.memory: must be between 64MiB and 4TiB",
		"memory = '5TiB'":                 "10: docker.memory: must be between 64MiB and 4TiB",
		"memory = 512":                    `10: docker.memory: must be between 67108864 and 4398046511104 bytes; that is 64MiB to 4TiB; write it with its unit, like "512MiB" or "2GiB"`,
		"memory = true":                   `10: docker.memory: must be a string or an integer, not a boolean; write it with its unit, like "512MiB" or "2GiB"`,
		"memory = 1.5":                    `10: docker.memory: must be a string or an integer, not a floating-point number; write it with its unit, like "512MiB" or "2GiB"`,
		"memoryReservation = '3GiB'":      "21: docker.memoryReservation: is more than memory, which is 2GiB",
		"cpus = 0":                        "8: docker.cpus: must be more than 0 and at most 1024" + cpus,
		"cpus = -1.5":                     "8: docker.cpus: must be more than 0 and at most 1024" + cpus,
		"cpus = nan":                      "8: docker.cpus: must be more than 0 and at most 1024" + cpus,
		"cpus = 1025":                     "8: docker.cpus: must be more than 0 and at most 1024" + cpus,
		"cpus = 0.001":                    "8: docker.cpus: must be at least 0.01" + cpus,
		"pids = 63":                       "8: docker.pids: must be between 64 and 4194304; it counts processes and threads",
		"pids = -1":                       "8: docker.pids: must be between 64 and 4194304; it counts processes and threads",
		"baseImage = ''":                  "13: docker.baseImage: is empty; write it like debian:12-slim, or with a host before and @sha256:… behind it",
		"baseImage = '--privileged'":      `13: docker.baseImage: "--privileged"` + image,
		"baseImage = 'a b'":               `13: docker.baseImage: "a b"` + image,
		"baseImage = 'Debian:12'":         `13: docker.baseImage: "Debian:12" is not the name of an image; names of images are in lower case`,
		"baseImage = \"a\\u001b[31m\"":    `13: docker.baseImage: "a\x1b[31m"` + image,
		"nodeImage = '--privileged'":      `13: docker.nodeImage: "--privileged"` + image,
		"nodeImage = 'sha256:abc'":        `13: docker.nodeImage: "sha256:abc" is not the id of an image; write sha256: and 64 digits in hex, as docker image inspect has them`,
		"pythonImage = 'a@sha256:abc'":    `15: docker.pythonImage: "a@sha256:abc"` + image,
		"pythonImage = \"p\\n\"":          `15: docker.pythonImage: "p\n"` + image,
		"proxy = 'squid'":                 `1: docker.squidImage: is required by proxy = "squid"; name an image with the program squid, by its digest`,
		"proxy = 'sqiud'":                 `9: docker.proxy: unknown value "sqiud"; did you mean "squid"?`,
		"proxy = true":                    "9: docker.proxy: must be a string, not a boolean; put it in quotes",
		"mirrors = 'm.example'":           `11: docker.mirrors: must be an array, not a string; put it in brackets, like ["m.example"]`,
		"mirrors = ['https://m.example']": `12: docker.mirrors.0: "https://m.example" has a scheme` + mirrors,
		"mirrors = ['-m.example']":        `12: docker.mirrors.0: "-m.example" is not the address of a registry` + mirrors,
		"mirrors = ['m.example/']":        `12: docker.mirrors.0: "m.example/" is not the address of a registry` + mirrors,
		"mirrors = ['u@m.example']":       `12: docker.mirrors.0: "u@m.example" is not the address of a registry` + mirrors,
		"mirrors = ['a','a','a','a','a','a','a','a','a']": "1: docker.mirrors: has 9 entries; at most 8 are allowed",
		"offline = 'yes'":                                 "11: docker.offline: must be a boolean, not a string; remove the quotes",
		"sharedSandbox = true":                            "1: docker.sharedSandbox: unknown key; a file cannot lower isolation; only the command line can",
		"readOnlyWorkspace = 'true'":                      "21: docker.readOnlyWorkspace: must be a boolean, not a string; remove the quotes",
		"dns = '10.0.0.1'":                                `7: docker.dns: must be an array, not a string; put it in brackets, like ["10.0.0.1"]`,
		"dns = ['dns.example']":                           `8: docker.dns.0: "dns.example" is not an IP address; write it like 10.0.0.53`,
		"dns = ['10.0.0.1', '10.0.0.1:5']":                `20: docker.dns.1: "10.0.0.1:5" is not an IP address; write it like 10.0.0.53`,
		"dns = ['fe80::1%eth0']":                          `8: docker.dns.0: "fe80::1%eth0" is not an IP address; write it like 10.0.0.53`,
		"dns = ['127.0.0.53']":                            `8: docker.dns.0: "127.0.0.53" would be the container itself; name an address that other machines can reach`,
		"dns = ['::ffff:127.0.0.1']":                      `8: docker.dns.0: "::ffff:127.0.0.1" would be the container itself; name an address that other machines can reach`,
		"dns = ['0.0.0.0']":                               `8: docker.dns.0: "0.0.0.0" would be the container itself; name an address that other machines can reach`,
		"dns = ['224.0.0.251']":                           `8: docker.dns.0: "224.0.0.251" is not the address of one server`,
		"dns = ['1.1.1.1','1.1.1.2','1.1.1.3','1.1.1.4']": "1: docker.dns: has 4 entries; at most 3 are allowed",
		"network = 'host'":                                `11: docker.network: "host" is one of the daemon's own networks` + nets,
		"network = 'Bridge'":                              `11: docker.network: "Bridge" is one of the daemon's own networks` + nets,
		"network = 'none'":                                `11: docker.network: "none" is one of the daemon's own networks` + nets,
		"network = 'container:x'":                         `11: docker.network: a network of kind "container" would undo the isolation` + nets,
		"network = '-x'":                                  `11: docker.network: "-x" is not the name of a network` + nets,
		"buildTimeout = 60":                               `16: docker.buildTimeout: must be a string, not an integer; write it with its unit, like "90s", "30m" or "2h"`,
		"buildTimeout = '0s'":                             "16: docker.buildTimeout: must be more than 0" + left,
		"startTimeout = '999ms'":                          "16: docker.startTimeout: must be at least 1s" + left,
		"idleTimeout = '14s'":                             "15: docker.idleTimeout: must be at least 15s" + left,
		"totalTimeout = '8761h'":                          "16: docker.totalTimeout: must be at most 8760h" + left,
		"maxJournalBytes = '1kB'":                         "19: docker.maxJournalBytes: must be between 1MiB and 4TiB",
		"memmory = '1GiB'":                                "1: docker.memmory: unknown key; did you mean \"memory\"?",
		"tmp_size = '1GiB'":                               `1: docker.tmp_size: unknown key; did you mean "tmpSize"?`,
		"maxSteps = 3":                                    "1: docker.maxSteps: unknown key; it bounds a job or an expert: move it above the first [table], or into [experts.<name>]",
		"privileged = true":                               "1: docker.privileged: unknown key; known here: " + strings.Join(keyNames(dockerKeys()), ", "),
	} {
		check(t, "[docker]\n"+text, "p.toml:2:"+want)
	}
	const beside = ", but a container has one image; keep baseImage, with all that skills need in it, or remove it"
	for text, want := range map[string]string{
		"docker = 3":                               "p.toml:1:10: docker: must be a table, not an integer",
		"pids = 100":                               "p.toml:1:1: pids: unknown key; it is about the container: move it into [docker]",
		"baseImage = 'a:1'":                        "p.toml:1:1: baseImage: unknown key; it is about the container: move it into [docker]",
		"[docker]\nbaseImage='a'\nnodeImage='b'":   "p.toml:3:1: docker.nodeImage: is set beside baseImage" + beside,
		"[docker]\npythonImage='b'\nbaseImage='a'": "p.toml:2:1: docker.pythonImage: is set beside baseImage" + beside,
		"[docker]\nmemory='128MiB'\nmemoryReservation='129MiB'":                 "p.toml:3:19: docker.memoryReservation: is more than memory, which is 128MiB",
		"[provider]\nproviderName='replay'\n[provider.docker]\nmemory='128MiB'": "p.toml:3:11: provider.docker: unknown key; it is a table of its own: write it as [docker]",
	} {
		check(t, text, want)
	}
}

// A partial table is completed: what it says stays, what it leaves open is the default,
// and the reservation never passes the limit, which the engine would refuse.
func TestDockerOr(t *testing.T) {
	whole := job.DefaultContainer()
	if got := (job.Container{}).Or(whole); !reflect.DeepEqual(got, whole) {
		t.Errorf("an empty table: %+v", got)
	}
	set := job.Container{
		Memory: 1 << 30, MemoryReservation: 1 << 28, CPUs: 1, PIDs: 20, TmpSize: 1 << 21, CacheSize: 1 << 22, BaseImage: "a", ReadOnlyWorkspace: true,
		NodeImage: "b", PythonImage: "c", SquidImage: "d", Mirrors: []string{"m"}, Offline: true, Proxy: job.ProxySquid,
		DNS: []string{"10.0.0.1"}, Network: "n", BuildTimeout: 1, StartTimeout: 2, IdleTimeout: 3, TotalTimeout: 4, MaxJournalBytes: 5,
	}
	if got := set.Or(whole); !reflect.DeepEqual(got, set) {
		t.Errorf("a whole table changed (-want +got)\n%s", cmp.Diff(set, got))
	}
	if got := (job.Container{}).Or(set); !reflect.DeepEqual(got, set) {
		t.Errorf("something is not taken over (-want +got)\n%s", cmp.Diff(set, got))
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[job.Container]()) {
		if reflect.ValueOf(set).FieldByIndex(f.Index).IsZero() {
			t.Errorf("this test does not set %s", f.Name)
		}
	}
	if got := (job.Container{Memory: 64 << 20}).Or(whole); got.MemoryReservation != 64<<20 {
		t.Errorf("a reservation of %d bytes in %d", got.MemoryReservation, got.Memory)
	}
	if whole.IdleTimeout < leastIdle || whole.Memory < leastMemory || whole.PIDs < leastPIDs {
		t.Errorf("the defaults could not be written into a file: %+v", whole)
	}
}

// Every key has its place, for findings of others.
func TestDockerKeysHavePlaces(t *testing.T) {
	c := check(t, "\n[docker]\nnetwork = 'n'")
	for path, want := range map[string]string{"docker.network": "p.toml:3:1: docker.network: m", "docker.dns": "p.toml:2:2: docker.dns: m"} {
		if got := c.Problem(path, "m", "").String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0B": 0, "1B": 1, "1kB": 1000, "1KiB": 1024, "512MiB": 512 << 20, "1GB": 1e9, "2GiB": 2 << 30, "1TB": 1e12, "4TiB": 4 << 40, "007B": 7, "8388607TiB": 8388607 << 40,
	} {
		if n, err := ParseBytes(text); n != want || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "1", "GiB", "1G", "1g", "1gib", "1KB", "1 GiB", " 1GiB", "1GiB ", "1.5GiB", "-1B", "+1B", "1e3B", "0x1B", "1_0B", "٣B", "1GiB\n", "8388608TiB", "999999999999999999TB", "9999999999999999999B"} {
		if n, err := ParseBytes(text); n != 0 || err == nil || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}

// What is written is read again, as the same number.
func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"1GiB", "0B", "999999999999999999B", "1", "8388608TiB", "-1B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseBytes(s)
		if err != nil {
			if n != 0 || strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("%d, %q", n, err)
			}
			return
		}
		if again, err := ParseBytes(FormatBytes(n)); n < 0 || again != n || err != nil {
			t.Errorf("%q is %d, written %s, read %d, %v", s, n, FormatBytes(n), again, err)
		}
	})
}

// A reference that is accepted has one meaning, and none to a shell or as an option.
func FuzzImageReference(f *testing.F) {
	for _, s := range images() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if message, hint := ImageReference(s); message != "" {
			if strings.ContainsAny(message+hint, "\n\r\x1b") {
				t.Errorf("bad message %q %q", message, hint)
			}
			return
		}
		if s == "" || strings.HasPrefix(s, "-") || strings.Contains(s, "..") && !strings.Contains(s, ":") || strings.Contains(s, "//") ||
			strings.ContainsFunc(s, func(c rune) bool {
				return c <= ' ' || c > '~' || strings.ContainsRune("$`\"'\\;&|<>(){}*?!#~%^,=+[]", c)
			}) {
			t.Errorf("%q is accepted", s)
		}
	})
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{10 * time.Minute: "10m", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 30 * time.Second: "30s", 610 * time.Second: "10m10s"} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
