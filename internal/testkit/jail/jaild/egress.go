package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/testkit/jail"
)

// fakeProxy plays a proxy that misbehaves as its listeners say. It refuses every connection.
func fakeProxy(ctx context.Context) error {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return err
	}
	listeners, err := egress.ParseProxyConfig(line)
	if err != nil {
		return err
	}
	name := listeners.Listeners[0].Name
	switch name {
	case jail.Silent:
		_, err := io.Copy(io.Discard, input)
		return err
	case jail.Babble:
		fmt.Println("hello")
		_, err := io.Copy(io.Discard, input)
		return err
	case jail.Complain:
		return errors.New("no listener\x1b[31m today")
	}
	var ready []egress.Listener
	var id int64
	var turn sync.Mutex
	for _, g := range listeners.Listeners {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", g.Address)
		if err != nil {
			return err
		}
		ready = append(ready, egress.Listener{Name: g.Name, Address: g.Address, Allow: g.Allow})
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				turn.Lock()
				id++
				refuse(c, g.Name, id)
				turn.Unlock()
			}
		}()
	}
	say(egress.Line{Ready: ready})
	_, err = io.Copy(io.Discard, input) // it ends with its parent
	return err
}

func refuse(c net.Conn, listener string, id int64) {
	a := egress.Access{ID: id, Listener: listener, Host: "evil.example\x1b]0;", Port: 443, Reason: egress.ReasonDomain}
	switch listener {
	case jail.Mortal:
		os.Exit(3)
	case jail.Forger:
		a.Listener = "another"
	case jail.Shouter:
		for {
			fmt.Print(strings.Repeat("x", 64<<10))
		}
	}
	say(egress.Line{Access: &a})
	fmt.Fprint(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
	c.Close()
}

func say(l egress.Line) {
	data, err := json.Marshal(l)
	if err == nil {
		fmt.Println(string(data))
	}
}
