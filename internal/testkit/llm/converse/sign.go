package converse

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// AccessKeyID is the id of the key that is right.
const AccessKeyID = "AKIDTEST"

// SessionToken is what a request with a key for a limited time has to bear, if any.
const SessionToken = "session-token-of-the-script"

const (
	algorithm = "AWS4-HMAC-SHA256"
	service   = "bedrock"
	skew      = 5 * time.Minute // how far a clock may be off
)

// refused is why a request does not prove who sends it. The service calls all of it
// forbidden.
func refused(format string, args ...any) *script.Problem {
	return script.KindProblem(http.StatusForbidden, format, args...)
}

// key says whether a request proves who sends it.
func key(r *http.Request, body []byte, s *script.Script) (sent, right bool) {
	given := r.Header.Get("Authorization")
	sent = strings.HasPrefix(given, algorithm) || takes(r) && given != ""
	return sent, takes(r) && checkKey(r, body, s.Key()) == nil
}

// checkKey computes the signature of a request itself, by hand: the model signs with AWS's
// own library, and a library that checked itself would find no fault.
func checkKey(r *http.Request, body []byte, secret string) *script.Problem {
	given := r.Header.Values("Authorization")
	switch {
	case len(given) == 0:
		return refused("Missing Authentication Token")
	case len(given) > 1:
		return refused("Authorization header is ambiguous")
	case strings.HasPrefix(given[0], "Bearer "):
		if given[0] != "Bearer "+secret {
			return refused("Authentication failed: Please make sure your API Key is valid.")
		}
		return nil
	}
	g, p := parse(given[0])
	if p != nil {
		return p
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch off := time.Since(at).Abs(); {
	case err != nil:
		return refused("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
	case off > skew:
		return refused("Signature expired: %s is now earlier than it may be", at.Format(time.RFC3339))
	case g.date != at.Format("20060102"):
		return refused("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP")
	case g.service != service:
		return refused("Credential should be scoped to correct service: '%s'.", service)
	case g.id != AccessKeyID:
		return refused("The security token included in the request is invalid.")
	}
	if token := r.Header.Get("X-Amz-Security-Token"); token != "" && token != SessionToken {
		return refused("The security token included in the request is expired")
	}
	if p := g.checkHeaders(r); p != nil {
		return p
	}
	canonical, p := g.canonical(r, body)
	if p != nil {
		return p
	}
	if !hmac.Equal([]byte(g.sign(secret, at, canonical)), []byte(g.signature)) {
		return refused("The request signature we calculated does not match the signature you provided. "+
			"Check your AWS Secret Access Key and signing method. The Canonical String for this request should have been '%s'", canonical)
	}
	return nil
}

// given is what an Authorization header says.
type given struct {
	id, date, region, service string
	headers                   []string
	signature                 string
}

func parse(header string) (g given, p *script.Problem) {
	rest, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return g, refused("Authorization header is of an unknown kind")
	}
	for field := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "Credential":
			scope := strings.Split(value, "/")
			if len(scope) != 5 || scope[4] != "aws4_request" {
				return g, refused("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term")
			}
			g.id, g.date, g.region, g.service = scope[0], scope[1], scope[2], scope[3]
		case "SignedHeaders":
			g.headers = strings.Split(value, ";")
		case "Signature":
			g.signature = value
		}
	}
	if g.id == "" || g.region == "" || len(g.headers) == 0 || g.signature == "" {
		return g, refused("Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters.")
	}
	return g, nil
}

// checkHeaders looks at which headers are signed: the host always, and all that are
// AWS's own.
func (g given) checkHeaders(r *http.Request) *script.Problem {
	if !slices.IsSorted(g.headers) || !slices.Contains(g.headers, "host") {
		return refused("'Host' must be a 'SignedHeader' in the AWS Authorization.")
	}
	for name := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(g.headers, name) {
			return refused("'%s' must be a 'SignedHeader' in the AWS Authorization.", name)
		}
	}
	return nil
}

// canonical is the request in the form that is signed. The path is encoded once more than
// it was sent, as all services but S3 have it.
func (g given) canonical(r *http.Request, body []byte) (string, *script.Problem) {
	var elements []string
	for element := range strings.SplitSeq(r.URL.EscapedPath(), "/") {
		elements = append(elements, strings.ReplaceAll(url.QueryEscape(element), "+", "%20"))
	}
	lines := []string{r.Method, strings.Join(elements, "/"), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")}
	for _, name := range g.headers {
		values := slices.Clone(r.Header.Values(name))
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		if len(values) == 0 {
			return "", refused("the signed header '%s' is not in the request", name)
		}
		for i, v := range values {
			values[i] = strings.Join(strings.Fields(v), " ")
		}
		lines = append(lines, name+":"+strings.Join(values, ","))
	}
	sum := sha256.Sum256(body)
	return strings.Join(append(lines, "", strings.Join(g.headers, ";"), hex.EncodeToString(sum[:])), "\n"), nil
}

func (g given) sign(secret string, at time.Time, canonical string) string {
	sum := sha256.Sum256([]byte(canonical))
	scope := strings.Join([]string{g.date, g.region, g.service, "aws4_request"}, "/")
	text := strings.Join([]string{algorithm, at.Format("20060102T150405Z"), scope, hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range []string{g.date, g.region, g.service, "aws4_request"} {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
