package lab_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

const conf = "../../deploy/nginx"

// listenUnix listens on a new Unix socket and returns the socket's path too.
func listenUnix(t *testing.T) (l net.Listener, socket string) {
	t.Helper()
	dir, err := labtest.Lab(t).Dir("instance")
	check.NoError(t, err)
	socket = filepath.Join(dir, "s")
	l, err = net.Listen("unix", socket)
	check.NoError(t, err)
	return l, socket
}

// startInstance serves h on a Unix socket. kill closes the listener and all
// connections.
func startInstance(t *testing.T, h http.HandlerFunc) (upstream string, kill func()) {
	t.Helper()
	l, socket := listenUnix(t)
	srv := httptest.NewUnstartedServer(h)
	_ = srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	kill = func() {
		srv.CloseClientConnections()
		srv.Close()
	}
	t.Cleanup(kill)
	return "unix:" + socket, kill
}

func startNginx(t *testing.T, upstreams ...string) *lab.Nginx {
	t.Helper()
	return labtest.Start(t, func(l *lab.Lab) (*lab.Nginx, error) { return lab.StartNginx(l, conf, upstreams...) })
}

func edit(file, before, after string) lab.Edit {
	return lab.Edit{File: file, Before: before, After: after}
}

// verbose lets nginx also log warnings.
var verbose = edit("nginx.conf", "error_log stderr crit", "error_log stderr warn")

// serve starts nginx in front of an instance that serves h, or of none if h is nil. With edits it
// has the deployed limits.
func serve(t *testing.T, h http.HandlerFunc, edits ...lab.Edit) *lab.Nginx {
	t.Helper()
	upstream := "127.0.0.1:1"
	if h != nil {
		upstream, _ = startInstance(t, h)
	}
	if len(edits) == 0 {
		return startNginx(t, upstream)
	}
	return labtest.Start(t, func(l *lab.Lab) (*lab.Nginx, error) {
		return lab.StartEditedNginx(edits...)(l, conf, upstream)
	})
}

// copyOfConf copies conf for a test that changes it.
func copyOfConf(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	check.NoError(t, os.CopyFS(dir, os.DirFS(conf)))
	return dir
}

func post(t *testing.T, url string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	check.NoError(t, err)
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	check.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func TestClientCannotForgeAddress(t *testing.T) {
	t.Parallel()
	n := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-For")+" "+r.Header.Get("X-Real-IP"))
	})
	resp := post(t, n.URL, http.Header{"X-Forwarded-For": {"6.6.6.6"}, "X-Real-Ip": {"6.6.6.6"}})
	body, _ := io.ReadAll(resp.Body)
	if string(body) != "127.0.0.1 127.0.0.1" {
		t.Errorf("the instance gets the addresses %q", body)
	}
}

func TestNginxReusesConnectionsToInstances(t *testing.T) {
	t.Parallel()
	opened := make(chan net.Conn, 300)
	l, socket := listenUnix(t)
	srv := &http.Server{ConnState: func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened <- c
		}
	}}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	url := startNginx(t, "unix:"+socket).URL
	for range 200 {
		post(t, url, nil)
	}
	if n := len(opened); n > 10 {
		t.Errorf("200 sequential requests opened %d connections", n)
	}
}

// The other tests here cover the configuration with the lab's site files. This
// one covers compose's site files, with addresses for the hosts that exist only
// in compose.
func TestComposeSiteFilesAreValid(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	path, err := lab.LookPath("nginx")
	check.NoError(t, err)
	dir := copyOfConf(t)
	file := filepath.Join(dir, "site", "upstream.conf")
	b, err := os.ReadFile(file)
	check.NoError(t, err)
	host := regexp.MustCompile(`server instances:`)
	if n := len(host.FindAll(b, -1)); n != 2 {
		t.Fatalf("upstream.conf names %d servers, want the instances, and the same as backup", n)
	}
	b = host.ReplaceAll(b, []byte("server 127.0.0.1:"))
	if !resolvesUpstreams(t, path) {
		b = regexp.MustCompile(`(?m)^resolver .*| resolve\b`).ReplaceAll(b, nil)
	}
	check.NoError(t, os.WriteFile(file, b, 0o644))
	out, err := exec.Command(path, "-t", "-p", dir+"/", "-c", filepath.Join(dir, "nginx.conf"), "-e",
		"stderr").CombinedOutput()
	if err != nil {
		t.Errorf("nginx -t: %v: %s", err, out)
	}
}

// resolvesUpstreams reports whether nginx has the directive resolver and the
// parameter resolve in upstreams. Compose's nginx does; the distributions' may
// be older than 1.27.3, the first version with both.
func resolvesUpstreams(t *testing.T, path string) bool {
	t.Helper()
	out, err := exec.Command(path, "-v").CombinedOutput()
	check.NoError(t, err)
	var minor, patch int
	if _, err := fmt.Sscanf(string(out), "nginx version: nginx/1.%d.%d", &minor, &patch); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return minor > 27 || minor == 27 && patch >= 3
}

// listenBriefly listens with an accept queue for 21 connections. Those that are
// repeated fit into it, once the others have been accepted.
func listenBriefly(t *testing.T) net.Listener {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check.NoError(t, err)
	err = errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 20))
	f := os.NewFile(uintptr(fd), "listener")
	l, listenErr := net.FileListener(f)
	check.NoError(t, errors.Join(err, listenErr, f.Close()))
	return l
}

// The instances accept nothing for longer than the kernel waits before it connects
// again, so their queues overflow.
func TestFullAcceptQueuesAreNoDeadInstances(t *testing.T) {
	t.Parallel()
	labtest.NeedServers(t)
	const claims = 60
	var addresses []string
	for range 2 {
		l := listenBriefly(t)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(201)
		})}
		time.AfterFunc(1500*time.Millisecond, func() { _ = srv.Serve(l) })
		t.Cleanup(func() { _ = srv.Close() })
		addresses = append(addresses, l.Addr().String())
	}
	url := startNginx(t, addresses...).URL
	statuses := make(chan int, claims)
	for range claims {
		go func() {
			resp, err := http.Post(url+"/coupons/1/orders", "", nil)
			if err != nil {
				statuses <- 0
				return
			}
			_ = resp.Body.Close()
			statuses <- resp.StatusCode
		}()
	}
	count := map[int]int{}
	for range claims {
		count[<-statuses]++
	}
	if count[201] != claims {
		t.Errorf("statuses %v, want %d of 201", count, claims)
	}
}

// As when two replicas are recreated together: nginx learns of it later.
func TestNginxGoesOnAfterTwoDeadInstances(t *testing.T) {
	t.Parallel()
	alive, _ := startInstance(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	dead := make([]string, 2)
	for i := range dead {
		l, socket := listenUnix(t)
		_ = l.Close()
		dead[i] = "unix:" + socket
	}
	n := startNginx(t, dead[0], dead[1], alive)
	resp, err := http.Post(n.URL+"/coupons/1/orders", "", nil)
	check.NoError(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("status %d from the third instance", resp.StatusCode)
	}
}
