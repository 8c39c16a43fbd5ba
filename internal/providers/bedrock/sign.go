package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sigv4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const service = "bedrock"

// A signer proves by AWS's signature, version 4, who sends a request. The signature
// covers the path, the headers and the body, and is good for some minutes; so each call
// gets its own.
type signer struct {
	signer *sigv4.Signer
	key    aws.Credentials
	region string
	now    func() time.Time
}

func newSigner(cfg *Config) *signer {
	s := &signer{
		signer: sigv4.NewSigner(),
		key:    aws.Credentials{AccessKeyID: cfg.AccessKeyID, SecretAccessKey: cfg.SecretAccessKey, SessionToken: cfg.SessionToken},
		region: cfg.Region,
		now:    cfg.Now,
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

func (s *signer) sign(r *http.Request, body [][]byte) error {
	if r.Header.Get("Authorization") != "" {
		return nil // the user's own, for a gateway that signs
	}
	sum := sha256.New()
	for _, piece := range body {
		sum.Write(piece)
	}
	return s.signer.SignHTTP(r.Context(), s.key, r, hex.EncodeToString(sum.Sum(nil)), service, s.region, s.now())
}
