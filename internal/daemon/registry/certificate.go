package registry

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// A certificate is read from its files again when they have changed, so that a renewal needs no restart.
type certificate struct {
	cert, key string // paths
	logger    *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	stamps [2]time.Time
}

// readCertificate reads the certificate that the flags name; nil if there is none.
func (o *options) readCertificate(logger *slog.Logger) (*tls.Config, error) {
	if o.tlsCert == "" {
		return nil, nil
	}
	c := &certificate{cert: o.host.Path(o.tlsCert), key: o.host.Path(o.tlsKey), logger: logger}
	if err := c.read(); err != nil {
		return nil, host.Usagef("the certificate cannot be used: %w", err)
	}
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// read reads both files.
func (c *certificate) read() error {
	stamps := c.stamp()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.pair, c.stamps = &pair, stamps
	return nil
}

func (c *certificate) stamp() (all [2]time.Time) {
	for i, path := range []string{c.cert, c.key} {
		if info, err := os.Stat(path); err == nil {
			all[i] = info.ModTime()
		}
	}
	return all
}

// get returns the certificate for a connection. While new files do not fit together, the old one serves.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stamp() != c.stamps {
		if err := c.read(); err != nil {
			c.logger.Warn("the new certificate cannot be used; the old one serves", "error", err.Error())
		} else {
			c.logger.Info("the certificate was read again")
		}
	}
	return c.pair, nil
}
