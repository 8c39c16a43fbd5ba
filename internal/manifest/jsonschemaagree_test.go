package manifest

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gotoml "github.com/pelletier/go-toml/v2"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
)

// beyond are the messages about what a schema cannot know: what a name or an address
// means, and what stands elsewhere in the file.
var beyond = regexp.MustCompile(strings.Join([]string{
	"is protected;", "belongs to perstack itself;", "is the key of provider", // requiredEnv
	"^IP addresses are not allowed", "allows too much: anybody", // allowedDomains
	"^must be a public HTTPS URL: (it uses|its host|it is)", // endpoint
	"^must use https;", "^is not a URL;", // baseUrl
	"^is not JSON", "^is not a JSON object;", // inputJsonSchema
	"has an invisible character", "a (name|version or tag) has at most", // parts of a text
	"^(npx|uvx) ",                                        // the arguments of a package manager
	"^is there already", "^uses ", "^has \\$\\{ without", // headers
	"^goes with reasoning", "^is more than contextWindow", // models
	"^must be more than 0;", "^must be at most 8760h", // maxDuration
	"^must be at least 1?5?s;", "^must be between [0-9]+.iB and [0-9]+.iB;", "^must be at least 0.01;", "^is more than memory,", "is too large; nothing", // docker
	"^it names no call;", "^args cannot allow a command;", "^(command|env|remember|match and notMatch) (is|are) for ", "^the rule is wrong: ", "^(in )?a rule that allows", "runs other programs, so", // rules
	"is everything;", "has an empty name,", "only \\* has a meaning;", "has \\*\\* within a name;", // exclude
	"is not a path in the workspace;",                                                                                                     // hide, protect
	"is not an IP address;", "would be the container itself;", "is not the address of one server", "is one of the daemon's own networks;", // dns, network
	"cannot delegate to itself;", "is already taken by", "^the base skill has no tool", "the base skill under another name;",
}, "|"))

func encodeTOML(t *testing.T, doc map[string]any) []byte {
	t.Helper()
	data, err := gotoml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// texts are strings on both sides of every limit and grammar of the parser.
func texts() (all []string) {
	all = []string{
		"", " ", "a", "A", "a b", "a/b c", "a\\b c", "/a b", " a", "-a", "a-", "_a", "a_b", "a.b", "@a/b", "@a", "a/b", "é", "a\tb",
		"a@1", "a@1.0.0", "a@", "a@B", "@a/b@latest", "1.0.0", "1.0", "01.0.0", "1.0.0-rc.1+b", "v1.0.0", "100", "*.a", "*", "a.", "a_b.c", "a:1",
		"npx", "uvx", "npx.cmd", "@perstack/base", "@perstack/base@1.0.0", "@perstack/base-x", "x@perstack/base",
		"Host", "hosts", "X-Host", "CONTENT-LENGTH", "Contents", "accept", "Accept-Encoding", "mcp-session-id", "Cookie", "Cookies", "Authorization",
		"https://a.example", "HTTPS://a.example", "http://localhost:1", "http://a.example", "ftp://a.example", "//a.example", "{}",
	}
	for _, n := range []int{63, 64, 65, 253, 254, 255, 256, 511, 512, 2048, 2049, 4096, 4097, 8192, 8193, 20480, 20481} {
		all = append(all, strings.Repeat("a", n))
		if n == 255 || n == 256 {
			all = append(all, "1.0.0-"+strings.Repeat("a", n-6))
		}
		if n == 2048 || n == 2049 {
			all = append(all, "https://a.example/"+strings.Repeat("a", n-18))
		}
	}
	return all
}

// durations are on both sides of the grammar and the limits of a time.
func durations() []string {
	zeros := strings.Repeat("0", maxDurationText-2)
	return []string{
		"90s", "1h30m", "1.5h", "500ms", "0s", "0.0000000001s", "8760h", "8761h", "99999999999999999h", zeros + "9s", zeros + "09s", zeros + "0s",
		"90", "s", "1d", "-1s", "+1s", "1 h", ".5h", "1.h", "5us", "1H", "1h 30m", "1h\n", "1hm",
	}
}

// sizes are on both sides of the grammar and the bounds of a number of bytes.
func sizes() []string {
	return []string{
		"512MiB", "1GB", "64MiB", "63MiB", "16MiB", "15MiB", "1MiB", "1023KiB", "4TiB", "5TiB", "0B", "1B", "1kB", "1KB", "1kb", "1G", "2g", "1 GiB", "1.5GiB", "-1GiB", "+1GiB",
		"1GIB", "GiB", "1", "999999999999999999TiB", "9999999999999999999B", "1GiB\n", "1e3MiB", "٣GiB",
	}
}

// images and networks are on both sides of those grammars.
func images() []string {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	return []string{
		"debian", "debian:12-slim", "library/debian", "localhost:5000/a/b:T.a_g-1", "host.example/a" + digest, "a:b" + digest, "a__b", "a--b", "a.b/c", "x" + digest[:70],
		"a___b", "a..b", "A/b", "a/B", "a:", "a@", ":a", "@" + digest, "-a", "a:-b", "a:.b", "a b", "a;b", "a/../b", "/a", "a/", "a//b", "[::1]:5000/a", "a@md5:00", "a" + strings.ToUpper(digest),
		"a:" + strings.Repeat("b", 128), "a:" + strings.Repeat("b", 129), "--help", "a\n", "host", "HOST", "none", "bridge", "default", "container:a", "my-net", "my_net.1", "-net", ".net", "10.0.0.53", "::1", "127.0.0.1",
		"fe80::1%eth0", "0.0.0.0", "224.0.0.1", "2001:db8::1", "::ffff:127.0.0.1",
	}
}

// probes are values to try for a key with this schema.
func probes(schema map[string]any) []any {
	all := []any{int64(-1), int64(0), int64(1), int64(3600000), int64(3600001), int64(math.MaxInt32), int64(math.MaxInt32 + 1), 1.5, true, false, []any{}, map[string]any{}}
	if schema["type"] == "number" || schema["type"] == "integer" {
		all = append(all, -0.5, 0.000001, math.NaN(), math.Inf(1), math.Inf(-1), 100_000.5, 1_000_000.5)
		for _, n := range []int64{expert.MostDepth, expert.MostParallel, mostPrice, expert.MostCost, expert.MostTokens, leastPIDs - 1, mostPIDs, mostCPUs} {
			all = append(all, n, n+1)
		}
	}
	if schema["type"] == "number" {
		all = append(all, 0.0, 1.0, 1e9) // to a schema they are integers, to TOML they are not
	}
	if schema["pattern"] == durationGrammar().String() {
		for _, text := range durations() {
			all = append(all, text)
		}
	}
	if choices := asList(schema["anyOf"]); len(choices) > 0 && asObject(choices[0])["pattern"] == bytesPattern {
		for _, n := range []int64{leastMemory, leastReservation, leastTmp, leastJournal} {
			all = append(all, n, n-1)
		}
		all = append(all, int64(mostDockerBytes), int64(mostDockerBytes+1))
		for _, text := range sizes() {
			all = append(all, text)
		}
	}
	var strs []any
	candidates := texts()
	if schema["pattern"] == imagePattern || schema["pattern"] == networkPattern || schema["maxItems"] == float64(maxDNS) {
		candidates = append(candidates, images()...)
	}
	for _, s := range candidates {
		strs = append(strs, s)
	}
	item := asObject(schema["items"])
	for _, s := range []map[string]any{schema, item} {
		strs = append(strs, asList(s["enum"])...)
		for _, choice := range asList(s["anyOf"]) {
			strs = append(append(strs, asList(asObject(choice)["enum"])...), "perstack")
		}
	}
	all = append(all, strs...)
	if schema["type"] != "array" {
		return all
	}
	for _, s := range strs {
		all = append(all, []any{s})
	}
	for _, n := range []int{3, 4, 8, 9, 255, 256} {
		many := make([]any, n)
		for i := range many {
			many[i] = fmt.Sprintf("n%d", i)
		}
		all = append(all, many)
	}
	return append(all, []any{int64(1)}, []any{map[string]any{}})
}

// agree compares the verdicts on a file. Both must accept it or both refuse it,
// unless the parser refuses it only for reasons beyond a schema.
func agree(t *testing.T, v *validator, what string, doc map[string]any) {
	t.Helper()
	_, ps := Parse(FileName, encodeTOML(t, doc))
	wrong := v.file(doc)
	var reasons []string
	for _, p := range ps {
		first := p.Path == "perstackBaseSkillCommand.0" // draft-07 tells entries apart only in tuples
		if !p.Warning && !beyond.MatchString(p.Message+"; "+p.Hint) && !first {
			reasons = append(reasons, p.String())
		}
	}
	switch {
	case ps.Err() == nil && len(wrong) > 0:
		t.Errorf("%.200s: the schema refuses %q, the parser does not", what, wrong)
	case len(reasons) > 0 && len(wrong) == 0:
		t.Errorf("%.200s: only the parser refuses: %.300q", what, reasons)
	}
}

// For every key of every table, on both sides of every limit, parser and schema say
// the same. So no number and no grammar of the schema differs from the parser's.
func TestJSONSchemaAgreesWithTheParser(t *testing.T) {
	v, files, tried := newValidator(t), richFiles(), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) {
			doc := decodeTOML(t, files[name])
			eachTable(v.root, "", maps.Clone(doc), func(path string, schema, is map[string]any) {
				variant := fmt.Sprint(path, is["type"], is["command"], is["packageName"])
				if strings.HasPrefix(path, "provider") {
					variant += name
				}
				if tried[variant] {
					return // other tables of these files are the same
				}
				tried[variant] = true
				for key, s := range asObject(schema["properties"]) {
					table := lookup(doc, v.root, path)
					before, had := table[key]
					values := append(probes(asObject(s)), namedValues(asObject(s), before)...)
					if !slices.Contains(keysOf(v, doc, path, schema, table), key) {
						values = values[:1] // a key of another variant, whatever its value
					}
					for i, value := range values {
						if testing.Short() && i%10 != 0 {
							continue
						}
						table[key] = value
						agree(t, v, fmt.Sprintf("%s = %v", toml.PathTo(path, key), value), doc)
					}
					delete(table, key)
					agree(t, v, "without "+toml.PathTo(path, key), doc)
					if had {
						table[key] = before
					}
				}
			})
		})
	}
}

// namedValues are tables of tables, with an entry under many names.
func namedValues(schema map[string]any, sample any) (all []any) {
	if schema["propertyNames"] == nil {
		return nil
	}
	var entry any = "v" // a header
	for _, name := range slices.Sorted(maps.Keys(asObject(sample))) {
		entry = asObject(sample)[name]
	}
	names := texts()
	for c := range rune(128) {
		names = append(names, "a"+string(c)+"a")
		if entry == "v" {
			all = append(all, map[string]any{"a": "v" + string(c)})
		}
	}
	for _, name := range names {
		all = append(all, map[string]any{name: entry})
	}
	for _, n := range []int{64, 65, 255, 256} {
		many := map[string]any{}
		for i := range n {
			many[fmt.Sprintf("n%d", i)] = entry
		}
		all = append(all, many)
	}
	if entry == "v" {
		for _, text := range texts() {
			all = append(all, map[string]any{"a": text})
		}
	}
	return all
}

// lookup finds the table of doc at a path.
func lookup(doc, root map[string]any, path string) (found map[string]any) {
	eachTable(root, "", doc, func(at string, _, table map[string]any) {
		if at == path {
			found = table
		}
	})
	return found
}

// FuzzJSONSchema checks that the schema never refuses what the parser accepts.
func FuzzJSONSchema(f *testing.F) {
	for _, text := range richFiles() {
		f.Add([]byte(text))
	}
	dozen, err := os.ReadFile("testdata/dozen.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(dozen)
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, ps := Parse(FileName, data); ps.Err() != nil {
			return
		}
		if wrong := newValidator(t).file(decodeTOML(t, string(data))); len(wrong) > 0 {
			t.Errorf("the schema refuses %q", wrong)
		}
	})
}
