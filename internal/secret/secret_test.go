package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

const (
	key  = "sk-ant-Ab1/xY+z93kQ==pLmN0"
	odd  = "p\"a\\ss w0rd<\n>'ünï&%41\t🔑end"
	hide = "[redacted: KEY]"
)

func set(values ...string) *Set {
	s := new(Set)
	for i := 0; i < len(values); i += 2 {
		s.Add(values[i], values[i+1])
	}
	return s
}

func jsonText(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Every form in which a secret gets into text by accident is found.
func TestRedactForms(t *testing.T) {
	for _, secret := range []string{key, odd, "k3j4h5g6f7d8s9a0", "12345678", "twelve-chars"} {
		inJSON := jsonText(t, secret)
		forms := map[string]string{
			"raw":          secret,
			"json":         inJSON,
			"json in json": jsonText(t, inJSON),
			"three times":  jsonText(t, jsonText(t, inJSON)),
			"json, slash":  strings.ReplaceAll(inJSON, "/", `\/`),
			"all as \\u":   unicodeEscapes(secret, "%04x"),
			"all as \\U":   unicodeEscapes(secret, "%04X"),
			"quoted":       strconv.Quote(secret),
			"ascii":        strconv.QuoteToASCII(secret),
			"query":        "https://x.example/?key=" + url.QueryEscape(secret) + "&y=1",
			"path":         "https://x.example/" + url.PathEscape(secret) + "/y",
			"lower query":  "key=" + lowerPercent(url.QueryEscape(secret)),
			"base64":       base64.StdEncoding.EncodeToString([]byte(secret)),
			"base64, url":  base64.URLEncoding.EncodeToString([]byte(secret)),
			"unpadded":     base64.RawStdEncoding.EncodeToString([]byte(secret)),
			"of a line":    base64.StdEncoding.EncodeToString([]byte(secret + "\n")),
			"base64 json":  jsonText(t, base64.StdEncoding.EncodeToString([]byte(secret))),
			"log":          fmt.Sprintf("level=INFO msg=%q", "key is "+secret),
		}
		if len(secret) >= 16 {
			forms["basic"] = "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+secret))
			forms["basic 2"] = "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+secret))
			forms["wrapped"] = wrap(base64.StdEncoding.EncodeToString([]byte(secret)), 7, "\n")
			forms["wrapped json"] = wrap(base64.StdEncoding.EncodeToString([]byte(secret)), 7, `\n`)
		}
		s := set("KEY", secret)
		for name, form := range forms {
			for _, text := range []string{form, "before " + form + " after", form + form} {
				got := s.Redact(text)
				if !strings.Contains(got, hide) || strings.Contains(got, secret) || strings.Contains(got, form) {
					t.Errorf("%s of %q:\n in %q\nout %q", name, secret, text, got)
				}
				for i := range len(secret) - 5 {
					if strings.Contains(got, secret[i:i+6]) {
						t.Errorf("%s of %q: a part is left:\n in %q\nout %q", name, secret, text, got)
					}
				}
			}
		}
	}
}

func unicodeEscapes(text, format string) string {
	var b strings.Builder
	data, _ := json.Marshal(text)
	var plain string
	_ = json.Unmarshal(data, &plain)
	for _, u := range utf16Of(plain) {
		fmt.Fprintf(&b, `\u`+format, u)
	}
	return b.String()
}

func utf16Of(s string) (units []uint16) {
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			units = append(units, uint16(0xd800+r>>10), uint16(0xdc00+r&0x3ff))
			continue
		}
		units = append(units, uint16(r))
	}
	return units
}

func lowerPercent(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

func wrap(s string, n int, end string) string {
	var b strings.Builder
	for len(s) > n {
		b.WriteString(s[:n] + end)
		s = s[n:]
	}
	return b.String() + s
}

func TestRedact(t *testing.T) {
	tests := []struct {
		name     string
		secrets  []string
		in, want string
	}{
		{"empty set", nil, key, key},
		{"empty text", []string{"KEY", key}, "", ""},
		{"nothing", []string{"KEY", key}, "nothing to see", "nothing to see"},
		{"in the middle", []string{"KEY", key}, "a" + key + "z", "a" + hide + "z"},
		{"twice", []string{"KEY", key}, key + key, hide + hide},
		{"value with blanks", []string{"KEY", " " + key + "\n"}, key, hide},
		{"too short", []string{"KEY", "1234567"}, "1234567", "1234567"},
		{"just long enough", []string{"KEY", "12345678"}, "x12345678x", "x" + hide + "x"},
		{"two", []string{"KEY", key, "OTHER", "k3j4h5g6f7d8s9a0"}, key + " k3j4h5g6f7d8s9a0", hide + " [redacted: OTHER]"},
		{"one inside another", []string{"OTHER", "abcdefgh12", "KEY", "xxabcdefgh12yy"}, "xxabcdefgh12yy abcdefgh12", hide + " [redacted: OTHER]"},
		{"same value twice", []string{"KEY", key, "OTHER", key}, key, hide},
		{"odd name", []string{"K E\"Y\n\x1b[", key}, key, "[redacted: KEY]"},
		{"no name", []string{"", key}, key, "[redacted: secret]"},
		{"password of a URL", []string{"URL", "postgres://me:s3cretpw@db.example/x"}, "pw is s3cretpw.", "pw is [redacted: URL]."},
		{"a word of the marker", []string{"KEY", "redacted"}, "it was redacted", "it was redacted"},
		{"its own name", []string{"API_TOKEN", "API_TOKEN"}, "API_TOKEN is not set", "API_TOKEN is not set"},

		// Text that was cut.
		{"beginning at the end", []string{"KEY", key}, "see " + key[:8], "see " + hide},
		{"too little at the end", []string{"KEY", key}, "see " + key[:7], "see " + key[:7]},
		{"beginning not at the end", []string{"KEY", key}, key[:20] + ".", key[:20] + "."},
		{"end at the start", []string{"KEY", key}, key[len(key)-8:] + " x", hide + " x"},
		{"too little at the start", []string{"KEY", key}, key[len(key)-7:] + " x", key[len(key)-7:] + " x"},
		{"end not at the start", []string{"KEY", key}, "." + key[6:], "." + key[6:]},
		{"middle is all", []string{"KEY", key}, key[3:20], hide},
		{"cut in an escape", []string{"KEY", "abcdefgh\nijklmnop"}, `abcdefgh\`, hide},
		{"cut in a number", []string{"KEY", "abcdefgh\nijklmnop"}, `abcdefgh\u00`, hide},
		{"cut in a percent", []string{"KEY", "abcdefgh\nijklmnop"}, `abcdefgh%0`, hide},
		{"whole rather than end", []string{"KEY", "ababababab"}, "abababababX", hide + "X"},
		{"cut in a character", []string{"KEY", "passwörd-日本語-12"}, "passwörd-\xe6\x97", hide},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := set(tt.secrets...)
			got := s.Redact(tt.in)
			if got != tt.want {
				t.Errorf("Redact(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
			if again := s.Redact(got); again != got {
				t.Errorf("again: %q, then %q", got, again)
			}
		})
	}
}

// Words in the place of a key stay readable; everything else is hidden.
func TestAddKey(t *testing.T) {
	for value, hidden := range map[string]bool{
		"placeholder": false, "not-needed": false, "no_key_required": false, "changeme": false, "ollama": false, "": false,
		"sk-ant-test1": true, "gateway-key-2": true, "PLACEHOLDER": true, "correct-horse-battery": true, "1234567890": true, "sk-lowercaseonlykey": true,
	} {
		s := new(Set)
		s.AddKey("KEY", value)
		if got := s.Redact("x " + value + " x"); (got == "x "+hide+" x") != hidden {
			t.Errorf("%q: %q", value, got)
		}
	}
}

// Text that was made to be looked at again and again is not.
func TestHostileText(t *testing.T) {
	s := set("KEY", key, "ODD", odd, "RUN", strings.Repeat(`\`, 9)+"a", "SAME", strings.Repeat("a", 40)+"b", "EMOJI", "🔑🔑🔑🔑")
	size := 1 << 16
	if testing.Short() {
		size = 1 << 12
	}
	for _, piece := range []string{`\`, "a", "%", `\u`, `\u005c`, `\ud83d\`, "s\n", `p\"`, "\n", key[:len(key)-1], key[1:],
		"s\x00", "s\x1b[", "s\x1b]", "a\x1b[31m", `a\n`, "a\b", "61", "61 ", "00000000: 61\n", "0000000   a   a\n", "000000:\n"} {
		for _, before := range []string{"", "x", "🔑"} {
			text := before + strings.Repeat(piece, size/len(piece))
			_ = s.Redact(text)
			if got := s.Redact(text + " " + key); strings.Contains(got, key) {
				t.Errorf("behind many %q the secret is left", piece)
			}
		}
	}
	if got := s.Redact(strings.Repeat(`\`, 500) + "a"); strings.Contains(got, strings.Repeat(`\`, 9)+"a") {
		t.Error("a secret of backslashes is left behind others")
	}
}

func TestNilSet(t *testing.T) {
	var s *Set
	s.Add("KEY", key)
	s.AddIfRandom("KEY", key)
	if got := s.Redact(key); got != key || s.String() != "0 secrets" {
		t.Errorf("%q, %s", got, s)
	}
}

// No way of printing a Set, or a struct with one in it, shows a secret.
func TestSetIsNotPrinted(t *testing.T) {
	s := set("KEY", key)
	holder := struct {
		s *Set
		S *Set
	}{s, s}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, v := range []any{s, holder, &holder} {
			text := fmt.Sprintf(format, v)
			if strings.Contains(text, key) || strings.Contains(text, fmt.Sprintf("%x", key)) {
				t.Errorf("%s prints %q", format, text)
			}
		}
	}
	if s.String() != "1 secrets" {
		t.Error(s.String())
	}
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	s := set("KEY", key)
	w := s.Writer(&out)
	for _, line := range []string{"plain\n", "the key is " + key + "\n"} {
		if n, err := fmt.Fprint(w, line); n != len(line) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got, want := out.String(), "plain\nthe key is "+hide+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Adding while others redact: what was added before is hidden all the time.
func TestConcurrentUse(t *testing.T) {
	s := set("KEY", key)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 50 {
				s.Add("MORE", fmt.Sprintf("value-%d-%d-of-many", i, k))
				if got := s.Redact(key); got != hide {
					t.Errorf("%q", got)
				}
			}
		})
	}
	wg.Wait()
	if s.String() != "201 secrets" {
		t.Error(s)
	}
}

// Text without a secret is handed back as it is, without a copy.
func TestRedactPlainCostsNothing(t *testing.T) {
	s := set("KEY", key, "ODD", odd, "OTHER", "k3j4h5g6f7d8s9a0")
	text := strings.Repeat(`{"path":"a/b","content":"line one\nline two\tü \u00e9 sk-ant %41 \\"}`, 50)
	if got := s.Redact(text); got != text {
		t.Fatal("changed")
	}
	if n := testing.AllocsPerRun(10, func() { _ = s.Redact(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// For any secrets and any text around them: none is left, what holds none is not
// changed, and doing it twice changes nothing.
func TestRedactProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.StringMatching(`[A-Za-z0-9+/_=-]{8,40}`),
			rapid.StringMatching(`[ -Z^-~]{8,24}`), // without [ ] and backslash: the marker has them
			rapid.StringMatching(`[a-c\\"\n/%]{8,20}`),
		)
		values := rapid.SliceOfN(value, 1, 6).Draw(t, "values")
		s := new(Set)
		for i, v := range values {
			s.Add(fmt.Sprint("K", i), v)
		}
		piece := rapid.OneOf(rapid.SampledFrom(values), rapid.StringMatching(`[ -~\n]{0,12}`), rapid.Just("日本語"), rapid.Just(`\`))
		text := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "text"), "")
		if rapid.Bool().Draw(t, "as JSON") {
			data, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		got := s.Redact(text)
		for i, v := range values {
			v = strings.TrimSpace(v)
			if len(v) < minLength || strings.Contains(fmt.Sprintf("[redacted: K%d]", i), v) {
				continue
			}
			if strings.Contains(got, v) {
				t.Fatalf("secret %q is left in %q (of %q)", v, got, text)
			}
			data, _ := json.Marshal(v)
			if in := string(data[1 : len(data)-1]); strings.Contains(got, in) {
				t.Fatalf("secret %q is left as JSON in %q (of %q)", v, got, text)
			}
		}
		if again := s.Redact(got); again != got {
			t.Fatalf("%q, again %q", got, again)
		}
	})
}

// Text made of other letters than the secret's is never changed.
func TestInnocentTextStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := set("KEY", rapid.StringMatching(`[A-M0-4]{8,40}`).Draw(t, "secret"))
		text := rapid.StringMatching(`[ -/5-@N-Z\[\]-~\n\t]{0,80}`).Draw(t, "text")
		if got := s.Redact(text); got != text && !strings.Contains(text, "=") {
			// base64 of the secret has letters of its own, but no such text by chance
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add(key, "before "+key+" after")
	f.Add(odd, jsonText(f, odd))
	f.Add("abcdefgh\nijklmnop", `abcdefgh\u00`)
	f.Add(`\\\\\\\\\"`, `\\\\\\\\\\\\\\"`)
	f.Add("12345678", "%31%32%33%34%35%36%37%38")
	f.Add("aaaaaaaaaaaa", "YWFhYWFhYWFhYWFh\nYWFh==")
	f.Fuzz(func(t *testing.T, secret, text string) {
		s := set("KEY", secret)
		got := s.Redact(text)
		secret = strings.TrimSpace(secret)
		if len(secret) < minLength || strings.Contains(hide, secret) {
			if got != text {
				t.Fatalf("nothing to hide, but %q became %q", text, got)
			}
			return
		}
		if strings.ContainsAny(secret, "[]") {
			return // with the marker beside it, it can appear again
		}
		if strings.Contains(got, secret) {
			t.Fatalf("%q is left in %q", secret, got)
		}
		if again := s.Redact(got); again != got {
			t.Fatalf("%q, again %q", got, again)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	s := new(Set)
	for i := range 8 {
		s.Add(fmt.Sprint("KEY", i), fmt.Sprintf("sk-%d-9fKx2LmQ8vTz4Wb7q7W%dx9Zk2mL", i, i))
	}
	for name, piece := range map[string]string{
		"json":    `{"path":"a/b","content":"line one\nline two\tand some more text"}`,
		"lines":   "\tif err := p.refuse(folded, info); err != nil { // its sources\n\t\treturn err\n\t}\n",
		"colours": "\x1b[32mok\x1b[0m  \tsome/packages\t0.1s\n",
		"dump":    "00000010: 3132 3334 3536 3738 3132 3334 3536 3738  1234567812345678\n",
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(piece, 256<<10/len(piece))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Redact(text)
			}
		})
	}
}
