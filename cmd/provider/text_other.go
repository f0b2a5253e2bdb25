//go:build !linux

package main

// giveBackText is for the kernel that the jobs' pods run on.
func giveBackText() error { return nil }
