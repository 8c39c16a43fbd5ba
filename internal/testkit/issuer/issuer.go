// Package issuer is an issuer of tokens for builds, on loopback, with real keys that the test makes.
//
// Start reading at [Start], then [Issuer.Token].
package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// An Issuer is one.
type Issuer struct {
	*httptest.Server

	mu    sync.Mutex
	key   *ecdsa.PrivateKey
	count int
	fails bool
}

// Start starts an issuer, which ends with the test.
func Start(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{}
	i.Rotate(t)
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

// Rotate replaces the key.
func (i *Issuer) Rotate(t testing.TB) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.count = key, i.count+1
}

// Fail lets every request fail, or none.
func (i *Issuer) Fail(fails bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fails = fails
}

// ServeHTTP says what the issuer is, and shows its keys.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var answer any
	switch {
	case i.fails:
		http.Error(w, "not now", http.StatusInternalServerError)
		return
	case r.URL.Path == "/.well-known/openid-configuration":
		answer = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}}
	case r.URL.Path == "/keys":
		point, err := i.key.PublicKey.Bytes()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		const size = 32
		answer = map[string]any{"keys": []any{map[string]string{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": fmt.Sprint(i.count), "x": encode(point[1 : 1+size]), "y": encode(point[1+size:]),
		}}}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, answer)
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// parts are the header and the claims of a token.
func (i *Issuer) parts(t testing.TB, algorithm, audience string, more map[string]any) string {
	t.Helper()
	claims := map[string]any{"iss": i.URL, "aud": audience, "sub": "build", "iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix()}
	maps.Copy(claims, more)
	var texts [2]string
	for n, part := range []any{map[string]string{"alg": algorithm, "typ": "JWT", "kid": fmt.Sprint(i.count)}, claims} {
		data, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		texts[n] = encode(data)
	}
	return texts[0] + "." + texts[1]
}

// Token signs a token for an audience, with claims.
func (i *Issuer) Token(t testing.TB, audience string, claims map[string]any) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	signed := i.parts(t, "ES256", audience, claims)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + encode(signature[:])
}

// Unsigned is a token that says that it needs no signature.
func (i *Issuer) Unsigned(t testing.TB, audience string, claims map[string]any) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.parts(t, "none", audience, claims) + "."
}
