package builds

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
)

// issuerOf returns the issuer that a token names. It is not verified: it only chooses the keys that verify
// it.
func issuerOf(token string) (string, error) {
	parts := strings.Split(token, ".")
	const parted = 3 // header, claims, signature
	if len(parts) != parted {
		return "", errors.New("this is not a token")
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", errors.New("this is not a token")
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(data, &claims); err != nil || claims.Issuer == "" {
		return "", errors.New("the token names no issuer")
	}
	return claims.Issuer, nil
}
