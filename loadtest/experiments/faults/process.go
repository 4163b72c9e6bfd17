package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/holder"
)

const (
	// startLimit is how long a holder may take to be ready: a JVM needs seconds on
	// a busy machine.
	startLimit = 3 * time.Minute
	// maxLateness is how much older than its arrival a line may be.
	maxLateness = 2 * time.Second
	// maxLines is what a holder may say in one trial: a hundred lines a second, for a
	// quarter of an hour.
	maxLines = 100_000
)

// A process is a holder that runs.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	exited chan struct{} // closed after the last line
	killed bool          // by kill

	mu         sync.Mutex
	lines      []holder.Line
	stopped    bool  // by SIGSTOP: its lines may be late
	misconduct error // the first breach of the protocol
}

// startHolder starts the holder of command, a line for the shell, and returns when
// it is ready. Its standard error is log.
func startHolder(command string, env []string, log *os.File) (*process, error) {
	p := &process{cmd: exec.Command("/bin/sh", "-c", "exec "+command), exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), env...), log
	in, inErr := p.cmd.StdinPipe()
	out, outErr := p.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	p.in = in
	stopWatch, err := lab.StartChild(p.cmd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	go func() {
		p.listen(out)
		stopWatch()
		close(p.exited)
	}()
	if _, ok := p.await(0, startLimit, holder.Ready); !ok {
		p.kill()
		return nil, fmt.Errorf("%s: not ready: %w", command, p.fault())
	}
	return p, nil
}

// listen records the lines of out until it ends, and ends the holder.
func (p *process) listen(out io.Reader) {
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		p.record(holder.ParseLine(scanner.Text()))
	}
	if err := scanner.Err(); err != nil {
		p.record(holder.Line{}, fmt.Errorf("a line: %w", err))
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // who closes its output, but runs on
	_ = p.cmd.Wait()                                      // how it ends says nothing: experiments kill holders
}

// record records a line, or what is wrong with it.
func (p *process) record(l holder.Line, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	late := holder.Now() - l.At
	switch {
	case err != nil:
	case len(p.lines) >= maxLines:
		err = errors.New("says too much")
	case late < -time.Millisecond:
		err = fmt.Errorf("%q: its time has not come yet", l)
	case late > maxLateness && !p.stopped:
		err = fmt.Errorf("%q: arrived %s late", l, late.Round(time.Millisecond))
	default:
		p.lines = append(p.lines, l)
	}
	if p.misconduct == nil {
		p.misconduct = err
	}
}

// said returns how many lines there are.
func (p *process) said() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// await returns the first line from the given one on that has one of words. It
// returns false when limit is over, or the holder has ended or broken the protocol.
func (p *process) await(from int, limit time.Duration, words ...holder.Word) (holder.Line, bool) {
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		over := time.Now().After(end) || p.fault() != nil // before the look at the last line
		p.mu.Lock()
		lines := p.lines[min(from, len(p.lines)):]
		p.mu.Unlock()
		i := slices.IndexFunc(lines, func(l holder.Line) bool { return slices.Contains(words, l.Word) })
		if i >= 0 {
			return lines[i], true
		}
		if over {
			return holder.Line{}, false
		}
		from += len(lines)
	}
}

// take returns the lines so far and forgets them.
func (p *process) take() []holder.Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.lines
	p.lines = nil
	return lines
}

// fault returns what the holder did wrong, if anything.
func (p *process) fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
		return errors.Join(p.misconduct, errors.New("the holder has ended"))
	default:
		return p.misconduct
	}
}

func (p *process) command(format string, args ...any) {
	_, _ = fmt.Fprintf(p.in, format+"\n", args...) // a holder that has ended says nothing
}

// acquire tells the holder to acquire, for at most wait.
func (p *process) acquire(key string, lease, wait time.Duration) {
	p.command("acquire %s %d %d", key, lease.Milliseconds(), wait.Milliseconds())
}

// acquired returns the first answer to acquire from the given line on, within limit, and
// whether the holder holds.
func (p *process) acquired(from int, limit time.Duration) (l holder.Line, holds bool) {
	l, _ = p.await(from, limit, holder.Acquired, holder.Refused, holder.Unknown)
	return l, l.Word == holder.Acquired
}

// release has the holder release, and returns its answer, if it comes within limit.
func (p *process) release(limit time.Duration) holder.Line {
	from := p.said()
	p.command("release")
	l, _ := p.await(from, limit, holder.Released, holder.Lost, holder.Unknown)
	return l
}

// suspend stops all threads of the holder until resume.
func (p *process) suspend() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.signal(syscall.SIGSTOP)
}

func (p *process) resume() { p.signal(syscall.SIGCONT) }

func (p *process) kill() {
	p.killed = true
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// signal sends sig to the holder and its children, unless it has ended.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.exited:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// close ends the holder: by the end of its input, or by force.
func (p *process) close() {
	p.resume()
	_ = p.in.Close()
	select {
	case <-p.exited:
	case <-time.After(2 * time.Second):
		p.kill()
	}
}
