// Measures hand-offs between goroutines: a ring of goroutines passes a token round. In the baseline
// one goroutine runs the rounds of each task in turn, and passes the token to itself (with Gosched,
// it does nothing).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"
)

type plan struct {
	Handoff     string
	Tasks       int
	SizeBytes   int `json:"size_bytes"`
	StrideBytes int `json:"stride_bytes"`
}

type window struct {
	Arm    string
	Walk   bool
	Rounds int
	WarmUp int `json:"warm_up"`
}

// link has the functions that pass the token to a task (give) and receive it in that task (take).
type link struct{ give, take func() }

func channel(room int) link {
	c := make(chan int, room)
	return link{func() { c <- 1 }, func() { <-c }}
}

func cond(lock *sync.Mutex) link {
	c, isThere := sync.NewCond(lock), false
	give := func() { lock.Lock(); isThere = true; c.Signal(); lock.Unlock() }
	take := func() {
		lock.Lock()
		for !isThere {
			c.Wait()
		}
		isThere = false
		lock.Unlock()
	}
	return link{give, take}
}

func nothing() {}

func (p plan) links(isAlone bool) []link {
	links, lock := make([]link, p.Tasks), &sync.Mutex{}
	for i := range links {
		switch {
		case p.Handoff == "channel" && isAlone:
			links[i] = channel(1) // no other goroutine receives the token
		case p.Handoff == "channel":
			links[i] = channel(0)
		case p.Handoff == "cond":
			links[i] = cond(lock)
		case isAlone:
			links[i] = link{nothing, nothing} // even the yield of a single goroutine would go through the scheduler
		default:
			links[i] = link{runtime.Gosched, nothing}
		}
	}
	return links
}

// walk adds 1 to each element of the array, in steps of the stride.
func (p plan) walk(array []float64) {
	stride := max(p.StrideBytes/8, 1)
	for first := 0; first < stride; first++ {
		for i := first; i < len(array); i += stride {
			array[i]++
		}
	}
}

// rounds runs the rounds of a task that has the token. It returns the time of the rounds after the
// warm-up, and the time of their walks.
func (p plan) rounds(w window, array []float64, give, take func()) (all, walked time.Duration) {
	var start time.Time
	for round := -w.WarmUp; round < w.Rounds; round++ {
		if round == 0 {
			start, walked = time.Now(), 0
		}
		if w.Walk {
			begin := time.Now()
			p.walk(array)
			walked += time.Since(begin)
		}
		give()
		take()
	}
	return time.Since(start), walked
}

func (p plan) together(w window, arrays [][]float64, ring []link) (all, walked time.Duration) {
	of := make([]time.Duration, p.Tasks)
	var done sync.WaitGroup
	for i := 1; i < p.Tasks; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			ring[i].take()
			_, of[i] = p.rounds(w, arrays[i], ring[(i+1)%p.Tasks].give, ring[i].take)
		}()
	}
	all, walked = p.rounds(w, arrays[0], ring[1%p.Tasks].give, ring[0].take)
	for i := 1; i < p.Tasks; i++ {
		ring[i].give() // the task waits for this token after its last round
	}
	done.Wait()
	for _, more := range of {
		walked += more
	}
	return all, walked
}

func kernelSwitches() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Nvcsw + usage.Nivcsw
}

func main() {
	input := json.NewDecoder(bufio.NewReader(os.Stdin))
	var p plan
	if input.Decode(&p) != nil {
		os.Exit(1)
	}
	arrays := make([][]float64, p.Tasks)
	for i := range arrays {
		arrays[i] = make([]float64, p.SizeBytes/8)
		p.walk(arrays[i])
	}
	ring, alone := p.links(false), p.links(true)
	collections := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	fmt.Printf("{\"ready\":\"%s\"}\n", runtime.Version())
	for {
		var w window
		if input.Decode(&w) != nil {
			return
		}
		metrics.Read(collections)
		before, kernel := collections[0].Value.Uint64(), kernelSwitches()
		var all, walked time.Duration
		if w.Arm == "switch" {
			all, walked = p.together(w, arrays, ring)
		} else {
			for i, link := range alone {
				more, moreWalked := p.rounds(w, arrays[i], link.give, link.take)
				all, walked = all+more, walked+moreWalked
			}
		}
		kernel = kernelSwitches() - kernel
		metrics.Read(collections)
		fmt.Printf("{\"ns\":%d,\"walk_ns\":%d,\"handoffs\":%d,\"collections\":%d,\"kernel_switches\":%d}\n",
			all, walked, w.Rounds*p.Tasks, collections[0].Value.Uint64()-before, kernel)
	}
}
