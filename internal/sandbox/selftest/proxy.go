package selftest

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// OutsideHost is the host that the proxy is asked for and must refuse. It is always the
// same, so that reports of refused hosts can leave it out.
const OutsideHost = "outside.selftest.example"

// proxy checks that the proxy answers, refuses a host that is not allowed, and refuses a
// client without a token. If it works without tokens, only the policies of skills keep
// them from the ports of other skills.
func proxy(ctx context.Context, spec Spec) (string, error) {
	if spec.Proxy == nil {
		return "", errors.New("there is no proxy")
	}
	if spec.Proxy.User == nil && !spec.Tokenless {
		return "", errors.New("the proxy wants no token")
	}
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	refuses := func(user *url.Userinfo, want int, what string) error {
		got, err := connect(ctx, spec.Proxy.Host, user)
		switch {
		case err != nil:
			return fmt.Errorf("the proxy does not answer: %w", err)
		case got != want:
			return fmt.Errorf("the proxy answers %d to %s, and must answer %d", got, what, want)
		}
		return nil
	}
	err := refuses(spec.Proxy.User, http.StatusForbidden, "an outside host")
	if err != nil || spec.Tokenless {
		return "refuses an outside host; asks for no token", err
	}
	return "refuses an outside host, and a client without a token", refuses(nil, http.StatusProxyAuthRequired, "a client without a token")
}

// connect asks a proxy for the outside host and returns the status of its answer.
func connect(ctx context.Context, address string, user *url.Userinfo) (int, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, reason(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	request := "CONNECT " + OutsideHost + ":443 HTTP/1.1\r\nHost: " + OutsideHost + ":443\r\n"
	if user != nil {
		password, _ := user.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return 0, reason(err)
	}
	const most = 16 << 10
	answered, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, most)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return 0, err
	}
	_ = answered.Body.Close()
	return answered.StatusCode, nil
}
