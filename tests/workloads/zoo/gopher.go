// gopher - gopher SECONDS: Go, on the main goroutine and on one more.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sink uint64

//go:noinline
func leaf(x uint64) uint64 {
	for i := 0; i < 200000; i++ {
		x = x*6364136223846793005 + 144269
	}
	return x
}

//go:noinline
func middle(x uint64) uint64 { return leaf(x) + 1 }

//go:noinline
func outer(x uint64) uint64 { return middle(x) + 1 }

func dig(end time.Time, x uint64) uint64 {
	for time.Now().Before(end) {
		x = outer(x)
	}
	return x
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "usage: gopher SECONDS")
		os.Exit(2)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	fmt.Println("ready")
	done := make(chan uint64)
	go func() { done <- dig(end, 1) }()
	sink = dig(end, 2) + <-done
}
