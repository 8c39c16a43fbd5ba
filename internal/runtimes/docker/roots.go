package docker

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"runtime"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/perstack-go/perstack/internal/userfile"
)

// maxRoots is several times what systems have.
const maxRoots = 8 << 20

// rootFiles are the places where distributions of Linux keep the authorities that they
// trust, with what the administrator of the machine added.
func rootFiles() []string {
	if runtime.GOOS != "linux" {
		return nil // elsewhere they are in a store that is not a file
	}
	return []string{
		"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch, Alpine
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL
		"/etc/pki/tls/certs/ca-bundle.crt",                  // older of these
		"/etc/ssl/ca-bundle.pem",                            // openSUSE
		"/etc/ssl/cert.pem",                                 // Void, and BSD-like
	}
}

// Roots returns the authorities that the system trusts, as PEM; where it has no list of
// them, those that Mozilla trusts.
func Roots() []byte {
	for _, path := range rootFiles() {
		if roots, err := RootsIn(path); err == nil {
			return roots
		}
	}
	return mozillaRoots()
}

// RootsIn returns the authorities of a PEM file, once each. Whatever else is in it, such
// as comments or a private key, stays out of the image.
func RootsIn(path string) ([]byte, error) {
	data, err := userfile.Read(path, maxRoots)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	roots := certificates(data)
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s: there is no certificate in it", path)
	}
	return roots, nil
}

// certificates copies the certificates that can be read.
func certificates(data []byte) []byte {
	var out bytes.Buffer
	seen := map[[sha256.Size]byte]bool{}
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" || seen[sha256.Sum256(block.Bytes)] {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			continue // Go would not trust it either
		}
		seen[sha256.Sum256(block.Bytes)] = true
		writeCertificate(&out, block.Bytes)
	}
	return out.Bytes()
}

// mozillaRoots leaves out authorities that are trusted for older certificates alone: a
// file of certificates cannot say so.
func mozillaRoots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			writeCertificate(&out, root.Certificate)
		}
	}
	return out.Bytes()
}

func writeCertificate(out *bytes.Buffer, der []byte) {
	// A buffer takes everything, and a block without headers can always be encoded.
	_ = pem.Encode(out, &pem.Block{Type: "CERTIFICATE", Bytes: der})
}
