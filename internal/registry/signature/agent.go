package signature

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// How long an agent can take. It can ask the user for a confirmation, and a device waits for a touch.
const (
	listPatience = 10 * time.Second
	signPatience = 2 * time.Minute
)

// An agentConn is a connection to the agent of the user.
type agentConn struct {
	conn  net.Conn
	agent agent.ExtendedAgent
}

// openAgent connects to an agent. The socket is that of the user's environment: no file of a project
// names it.
func openAgent(ctx context.Context, socket string) (*agentConn, error) {
	var d net.Dialer
	limited, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	conn, err := d.DialContext(limited, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("the SSH agent at %s cannot be reached: %w", socket, err)
	}
	return &agentConn{conn: conn, agent: agent.NewClient(conn)}, nil
}

// Close ends the connection.
func (a *agentConn) Close() error { return a.conn.Close() }

// patience bounds what follows, until stop is called.
func (a *agentConn) patience(ctx context.Context, d time.Duration) (stop func()) {
	limited, cancel := context.WithTimeout(ctx, d)
	after := context.AfterFunc(limited, func() { a.conn.Close() })
	return func() { after(); cancel() }
}

// An agentKey is a key that an agent holds.
type agentKey struct {
	public  ssh.PublicKey
	comment string
	signer  ssh.Signer
}

// signers are the keys that the agent holds. Those of kinds that no SSH library knows are left out.
func (a *agentConn) signers(ctx context.Context) (all []agentKey, err error) {
	stop := a.patience(ctx, listPatience)
	defer stop()
	held, err := a.agent.List()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("the SSH agent does not list its keys: %w", err)
	}
	for _, one := range held {
		public, err := ssh.ParsePublicKey(one.Blob)
		if err != nil {
			continue
		}
		if _, certificate := public.(*ssh.Certificate); certificate {
			continue
		}
		all = append(all, agentKey{public, one.Comment, &heldSigner{a.agent, public}})
	}
	return all, nil
}

// A heldSigner signs with a key of an agent.
type heldSigner struct {
	agent  agent.ExtendedAgent
	public ssh.PublicKey
}

func (s *heldSigner) PublicKey() ssh.PublicKey { return s.public }

// Sign signs. With an RSA key, it does not use the default of agents, which is SHA-1.
func (s *heldSigner) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	if s.public.Type() == ssh.KeyAlgoRSA {
		return s.agent.SignWithFlags(s.public, data, agent.SignatureFlagRsaSha512)
	}
	return s.agent.Sign(s.public, data)
}
