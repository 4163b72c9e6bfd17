package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A Program says how to run one server.
type Program struct {
	Name  string   // what it is called in messages and in its log's name
	Path  string   // the executable
	Args  []string // without the program itself
	Dir   string   // its working directory, which also gets its log
	Env   []string // added to this process's environment
	Ready func(ctx context.Context) error
	// StopSignal is the signal that asks for an orderly end; the default is SIGTERM.
	StopSignal syscall.Signal
}

// A Server is a child process that has answered at least once.
type Server struct {
	program Program
	log     string

	mu   sync.Mutex
	cmd  *exec.Cmd
	gone chan struct{}
}

func (p Program) log() string { return filepath.Join(p.Dir, p.Name+".log") }

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

// Start runs p and returns when it is ready, or with the end of its log.
func (l *Lab) Start(p Program) (*Server, error) {
	s := &Server{program: p, log: p.log()}
	if err := s.start(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.servers = append(l.servers, s)
	l.mu.Unlock()
	return s, nil
}

func (s *Server) start() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.program.Path, s.program.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.program.Dir, log, log
	cmd.Env = append(os.Environ(), s.program.Env...)
	cmd.SysProcAttr = mortal(s.end())
	untie, err := spawn(cmd, s.end())
	if err != nil {
		return fmt.Errorf("lab: start %s: %w", s.program.Name, err)
	}
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		untie()
		close(gone)
	}()
	s.mu.Lock()
	s.cmd, s.gone = cmd, gone
	s.mu.Unlock()
	return s.awaitReady()
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := errors.New("never asked")
	for pause := time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 50*time.Millisecond) {
		if err = s.program.Ready(ctx); err == nil {
			return nil
		}
		select {
		case <-s.gone:
			return fmt.Errorf("lab: %s ended at once: %s", s.program.Name, s.LogTail())
		case <-time.After(pause):
		}
	}
	s.Kill()
	return fmt.Errorf("lab: %s is not ready: %w: %s", s.program.Name, err, s.LogTail())
}

func (s *Server) end() syscall.Signal {
	if s.program.StopSignal != 0 {
		return s.program.StopSignal
	}
	return syscall.SIGTERM
}

// Stop asks the server to end, waits, and kills it if it does not. A server
// that has already ended is no error.
func (s *Server) Stop() error {
	s.Signal(s.end())
	s.Signal(syscall.SIGCONT) // a paused one could not obey
	select {
	case <-s.Exited():
		return nil
	case <-time.After(stopTimeout):
		s.Kill()
		return fmt.Errorf("lab: %s did not stop in %s: %s", s.program.Name, stopTimeout, s.LogTail())
	}
}

// Kill ends the server, with its own children (nginx has some), by SIGKILL and
// returns when it is gone.
func (s *Server) Kill() {
	select {
	case <-s.Exited():
	default:
		_ = syscall.Kill(-s.PID(), syscall.SIGKILL)
		<-s.Exited()
	}
}

// Pause stops the server in its tracks (SIGSTOP) and, on Linux, returns when
// all its threads stand still; Resume lets it go on.
func (s *Server) Pause() {
	s.Signal(syscall.SIGSTOP)
	awaitStop(s.PID())
}

// Resume undoes Pause.
func (s *Server) Resume() { s.Signal(syscall.SIGCONT) }

// Restart starts a server that has ended again, with the same data.
func (s *Server) Restart() error { return s.start() }

// Exited is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// PID is the process id of the running child.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}

// Signal sends sig; a process that has ended does not mind.
func (s *Server) Signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.cmd.Process.Signal(sig)
}

// LogTail is the end of what the server has printed.
func (s *Server) LogTail() string { return tail(s.log) }

func tail(path string) string {
	const most = 2000
	b, _ := os.ReadFile(path)
	return string(b[max(0, len(b)-most):])
}

// spawn starts cmd, which gets sig when this process ends, on a thread that
// never ends: on Linux a child's death signal follows the thread that started
// it, not the process (golang/go#27505). untie is to be called when cmd is gone.
func spawn(cmd *exec.Cmd, sig syscall.Signal) (untie func(), err error) {
	starting.Do(func() {
		go func() {
			runtime.LockOSThread()
			for start := range starts {
				start()
			}
		}()
	})
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	if err := <-done; err != nil || !tied {
		return func() {}, err
	}
	untie, err = tie(cmd.Process.Pid, sig)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return untie, nil
}

var (
	starting sync.Once
	starts   = make(chan func())
)

// chooses names the variables that choose a server, by its names.
var chooses = map[string]string{
	"mariadbd": "LAB_MYSQLD", "mysqld": "LAB_MYSQLD",
	"redis-server": "LAB_REDIS", "valkey-server": "LAB_REDIS",
}

// LookPath looks name up on PATH and in the places where servers hide from it. The
// path in the variable that chooses it comes first, whatever its file is called.
func LookPath(names ...string) (string, error) {
	for _, name := range names {
		if path := os.Getenv(chooses[name]); path != "" {
			return exec.LookPath(path)
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/sbin", "/opt/homebrew/bin"} {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("lab: none of %v is installed", names)
}

// FreePort names a loopback port that nobody used a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// dialable is a readiness check: something accepts connections.
func dialable(network, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
