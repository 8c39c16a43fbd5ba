package gemini

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

const (
	email = "robot@p.iam.gserviceaccount.com"
	scope = "https://www.googleapis.com/auth/cloud-platform"
)

// account is the key of the service account, made when it is first needed and never
// written down by us.
var account = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // the machine gives no random numbers
	}
	return key
})

// keyID names the key of an account. One that was made for another key of the script is not
// the right one.
func keyID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:20])
}

// ServiceAccount is the credentials file of the account that the token server at root
// knows. It gives a token for the script whose key this is.
func ServiceAccount(root, key string) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(account())
	if err != nil {
		panic(err) // it is a key
	}
	return credentials(map[string]string{
		"type": "service_account", "project_id": "p", "private_key_id": keyID(key),
		"private_key":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email": email, "client_id": "1", "token_uri": root + "/token",
	})
}

// AuthorizedUser is the credentials file of a user who logged in.
func AuthorizedUser(root, key string) []byte {
	return credentials(map[string]string{
		"type": "authorized_user", "client_id": "client", "client_secret": "secret-" + key,
		"refresh_token": "refresh-" + key, "token_uri": root + "/token",
	})
}

func credentials(members map[string]string) []byte {
	data, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		panic(err) // they are texts
	}
	return data
}

// tokens is the token server.
func tokens(w http.ResponseWriter, r *http.Request, body []byte, s *script.Script) bool {
	if r.URL.Path != "/token" {
		return false
	}
	form, err := url.ParseQuery(string(body))
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	why, scheme := "", "http"
	if r.TLS != nil {
		scheme = "https"
	}
	switch grant := form.Get("grant_type"); {
	case err != nil || r.Method != http.MethodPost:
		why = "Bad Request"
	case grant == "urn:ietf:params:oauth:grant-type:jwt-bearer":
		why = checkAssertion(form.Get("assertion"), scheme+"://"+r.Host+"/token", s.Key())
	case grant == "refresh_token":
		if form.Get("client_id") != "client" || form.Get("client_secret") != "secret-"+s.Key() || form.Get("refresh_token") != "refresh-"+s.Key() {
			why = "Token has been expired or revoked."
		}
	default:
		why = "Bad Request"
	}
	if why != "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant","error_description":` + script.Quote(why) + `}`)) // a client that has left needs none
		return true
	}
	_, _ = w.Write([]byte(`{"access_token":` + script.Quote(token(s.Key())) + `,"expires_in":3599,"token_type":"Bearer"}`))
	return true
}

// checkAssertion says what is wrong with what an account says about itself, or "".
func checkAssertion(assertion, audience, key string) string {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return "Invalid JWT"
	}
	var head struct {
		Alg string `json:"alg"`
		Kid string `json:"kid"`
	}
	var claims struct {
		Iss   string `json:"iss"`
		Aud   string `json:"aud"`
		Scope string `json:"scope"`
		Iat   int64  `json:"iat"`
		Exp   int64  `json:"exp"`
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !decodePart(parts[0], &head) || !decodePart(parts[1], &claims) {
		return "Invalid JWT"
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now := time.Now().Unix()
	switch {
	case head.Alg != "RS256" || head.Kid != keyID(key) || rsa.VerifyPKCS1v15(&account().PublicKey, crypto.SHA256, sum[:], signature) != nil:
		return "Invalid JWT Signature."
	case claims.Iss != email:
		return "Invalid grant: account not found"
	case claims.Aud != audience || claims.Scope != scope:
		return "Invalid JWT: the audience or the scope is not right"
	case claims.Iat > now || claims.Exp <= now || claims.Exp > now+3700:
		return "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
	}
	return ""
}

func decodePart(text string, v any) bool {
	data, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(data, v) == nil
}
