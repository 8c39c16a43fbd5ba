package api

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// A Stream is the standard input of a container for writing, and its standard output and
// error, in the frames of stdcopy, for reading.
type Stream struct {
	conn   net.Conn
	buffer *bufio.Reader
}

func (s *Stream) Read(p []byte) (int, error)  { return s.buffer.Read(p) }
func (s *Stream) Write(p []byte) (int, error) { return s.conn.Write(p) }

// CloseWrite ends the standard input. The output stays open.
func (s *Stream) CloseWrite() error {
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.New("this connection cannot be closed in one direction")
	}
	return half.CloseWrite()
}

// Close ends the stream, but not the container.
func (s *Stream) Close() error { return s.conn.Close() }

// upgrade sends a request on a connection of its own, which becomes a stream. Cancelling
// ctx ends the attempt, and later has no effect on the stream.
func (c *Client) upgrade(ctx context.Context, path string, query url.Values) (*Stream, error) {
	req, err := c.request(ctx, http.MethodPost, path, query, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "tcp")
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s := &Stream{conn: conn, buffer: bufio.NewReader(conn)}
	err = s.start(req)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) start(req *http.Request) error {
	if err := req.Write(s.conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(s.buffer, req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		return refusal(resp)
	}
	return nil
}
