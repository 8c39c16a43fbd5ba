// Command oneline prints one line: the least that a Go program can do, for scale.
package main

import "fmt"

func main() { fmt.Println("0.1.0") }
