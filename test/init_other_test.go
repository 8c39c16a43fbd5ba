//go:build !linux

package test

func initScreen() {}
