// Command visitor walks through a world and leaves a trace at each place: it shows that
// a world sees who comes.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := visit(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "visitor:", err)
		os.Exit(1)
	}
}

// visit asks every host for a page, and sends a packet to the address that comes last.
func visit(ctx context.Context, places []string) error {
	if len(places) < 2 {
		return errors.New("usage: visitor HOST… ADDRESS")
	}
	last := len(places) - 1
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a visitor without the authority
	}}
	for _, host := range places[:last] {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/visit", http.NoBody)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", net.JoinHostPort(places[last], "443"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("visit")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 100))
	return err
}
