package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// A Program describes a process to run.
type Program struct {
	Name string   // used in messages and as the name of the log file
	Path string   // the executable
	Args []string // without the executable
	Dir  string   // the working directory, which also gets the log file
	Env  []string // KEY=value, added to the environment of this process
	// Address is where clients connect: host:port, the path of a Unix socket, or a URL.
	Address string
	// Ready returns nil when the server serves requests. Start polls it.
	Ready func(ctx context.Context) error
}

// A Server is a child process that has been ready at least once.
type Server struct {
	// Address is that of the program, if it has one.
	Address string

	program Program

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

func (p Program) log() string { return filepath.Join(p.Dir, p.Name+".log") }

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

// Start runs p and returns when it is ready. The lab stops the server when it
// closes. The error of a server that does not become ready within a minute, or
// ends before, includes the end of its log.
func (l *Lab) Start(p Program) (*Server, error) {
	s := &Server{Address: p.Address, program: p}
	if err := s.start(); err != nil {
		return nil, err
	}
	l.onClose(s.Stop)
	return s, nil
}

// program returns the program of d in a new directory, whose name begins with name. Rest
// gets the directory, and returns the arguments and what else differs: the path, if d is nil.
func (l *Lab) program(d *Dependency, name string, rest func(dir string) (Program, error)) (p Program, err error) {
	path := ""
	if d != nil {
		if path, err = l.path(d); err != nil {
			return p, err
		}
	}
	dir, err := l.Dir(name)
	if err != nil {
		return p, err
	}
	p, err = rest(dir)
	p.Name, p.Path, p.Dir = name, cmp.Or(p.Path, path), dir
	return p, err
}

// serve starts the program of d.
func (l *Lab) serve(d *Dependency, name string, rest func(dir string) (Program, error)) (*Server, error) {
	p, err := l.program(d, name, rest)
	if err != nil {
		return nil, err
	}
	return l.Start(p)
}

// serveTCP starts the program of d on a free loopback port.
func (l *Lab) serveTCP(
	d *Dependency, name string, rest func(dir, address string) (Program, error),
) (*Server, error) {
	return WithFreePort(func(port int) (*Server, error) {
		return l.serve(d, name, func(dir string) (Program, error) {
			address := fmt.Sprintf("127.0.0.1:%d", port)
			p, err := rest(dir, address)
			p.Address = cmp.Or(p.Address, address)
			return p, err
		})
	})
}

// startEach starts n servers, one after the other.
func startEach[S any](n int, start func(i int) (S, error)) (all []S, err error) {
	for i := range n {
		s, err := start(i)
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

func killAll[S interface{ Kill() }](all []S) {
	for _, s := range all {
		s.Kill()
	}
}

// spawn starts the process, with its output in the log. It is killed when ctx or this process
// ends. Call stopWatch after it has ended.
func (p Program) spawn(ctx context.Context) (cmd *exec.Cmd, stopWatch func(), err error) {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd = exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, log, log
	cmd.Env = append(os.Environ(), p.Env...)
	if stopWatch, err = StartChild(cmd); err != nil {
		err = fmt.Errorf("lab: start %s: %w", p.Name, err)
	}
	return cmd, stopWatch, err
}

func (s *Server) start() error {
	cmd, stopWatch, err := s.program.spawn(context.Background())
	if err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		stopWatch()
		close(exited)
	}()
	s.mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()
	return s.awaitReady()
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := errors.New("not checked yet")
	for pause := time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 50*time.Millisecond) {
		if err = s.program.Ready(ctx); err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("lab: %s ended before it was ready: %s", s.program.Name, s.LogTail())
		case <-time.After(pause):
		}
	}
	s.Kill()
	return fmt.Errorf("lab: %s is not ready: %w: %s", s.program.Name, err, s.LogTail())
}

// Stop sends the stop signal and waits for the server to end. After 20 seconds
// it kills the server and returns an error. Stopping a server that has ended
// is no error.
func (s *Server) Stop() error {
	s.Signal(syscall.SIGTERM)
	s.Signal(syscall.SIGCONT) // a paused process does not handle the stop signal
	select {
	case <-s.Exited():
		return nil
	case <-time.After(stopTimeout):
		s.Kill()
		return fmt.Errorf("lab: %s did not stop in %s: %s", s.program.Name, stopTimeout, s.LogTail())
	}
}

// Kill ends the server and its child processes (nginx has some) by SIGKILL and
// returns when the server has ended.
func (s *Server) Kill() {
	select {
	case <-s.Exited():
	default:
		_ = syscall.Kill(-s.PID(), syscall.SIGKILL)
		<-s.Exited()
	}
}

// Pause suspends the server by SIGSTOP. On Linux it returns when all threads
// have stopped, elsewhere at once.
func (s *Server) Pause() {
	s.Signal(syscall.SIGSTOP)
	awaitStop(s.PID())
}

// Resume continues a paused server.
func (s *Server) Resume() { s.Signal(syscall.SIGCONT) }

// Restart starts a server that has ended, with the data it left, and returns
// when it is ready.
func (s *Server) Restart() error { return s.start() }

// Exited returns a channel that is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exited
}

// PID returns the process id of the last process started.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}

// Signal sends sig to the process, unless it has ended.
func (s *Server) Signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.cmd.Process.Signal(sig)
}

// LogTail returns the last lines that the server has printed, of 4,000 bytes at most, without colours.
func (s *Server) LogTail() string { return tail(s.program.log()) }

var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func tail(path string) string {
	const size = 4000
	b, _ := os.ReadFile(path)
	if len(b) > size {
		b = b[len(b)-size:]
		b = b[bytes.IndexByte(b, '\n')+1:]
	}
	return colour.ReplaceAllString(string(b), "")
}
