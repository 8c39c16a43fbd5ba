package outside

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"sync"
	"time"
)

// An Authority makes certificates for whatever name it is asked for.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	made        sync.Map // of *tls.Certificate, by name
}

// NewAuthority makes one: its certificate, which tests trust, and its key, both PEM.
func NewAuthority() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "world of tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), nil
}

// ReadAuthority reads what [NewAuthority] made.
func ReadAuthority(certificate, key []byte) (*Authority, error) {
	c, _ := pem.Decode(certificate)
	k, _ := pem.Decode(key)
	if c == nil || k == nil {
		return nil, errors.New("the authority is not PEM")
	}
	parsed, err := x509.ParseCertificate(c.Bytes)
	if err != nil {
		return nil, err
	}
	private, err := x509.ParseECPrivateKey(k.Bytes)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: parsed, key: private}, nil
}

// For returns a certificate for a name; one without names where the client gave none.
func (a *Authority) For(name string) (*tls.Certificate, error) {
	if c, ok := a.made.Load(name); ok {
		return c.(*tls.Certificate), nil
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "a host of tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else if name != "" {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &private.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: private}
	a.made.Store(name, c)
	return c, nil
}
