package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

const (
	startTimeout = 2 * time.Minute
	drainTimeout = 3 * time.Second
)

// fixedFlags holds the flags of every API server, one a line; lines with # are comments.
//
//go:embed kube-apiserver.flags
var fixedFlags string

// ready is what `up` prints in one line when the API server answers.
type ready struct {
	Kubeconfig string `json:"kubeconfig"`
	Server     string `json:"server"`
	Etcd       string `json:"etcd"`
	Version    string `json:"version"`
}

// up runs etcd and kube-apiserver until SIGTERM, SIGINT or the end of standard input.
func up(arguments []string) error {
	flags := flag.NewFlagSet("up [FLAG] [-- FLAGS OF kube-apiserver]", flag.ExitOnError)
	folder := flags.String("data-dir", "", "where objects, keys and the kubeconfig are; an earlier cluster's are used again, on its port (default: a new folder, removed at the end)")
	_ = flags.Parse(arguments)
	if *folder == "" {
		made, err := os.MkdirTemp("", "controlplane-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(made)
		*folder = made
	}
	cluster, err := openCluster(*folder)
	if err != nil {
		return err
	}
	return cluster.run(flags.Args())
}

func (c *cluster) run(extraFlags []string) error {
	etcd, endpoint, err := startEtcd(filepath.Join(c.folder, "etcd"))
	if err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	defer etcd.Close()
	command := app.NewAPIServerCommand()
	command.SetArgs(append(c.apiServerFlags(endpoint), extraFlags...))
	go stopAtEndOf(os.Stdin)
	go c.announce(command.Context(), endpoint)
	ended := make(chan error, 1)
	go func() { ended <- command.Execute() }()
	select {
	case err := <-ended:
		return err
	case <-command.Context().Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(drainTimeout):
		return nil // a client that keeps its connection would make it a minute
	}
}

func startEtcd(folder string) (*embed.Etcd, string, error) {
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "error"
	config.UnsafeNoFsync = true // a crash of this machine may lose a test's objects
	client := url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", freePort())}
	peer := url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", freePort())}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, "", err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, client.String(), nil
	case err = <-etcd.Err():
	case <-time.After(startTimeout):
		err = fmt.Errorf("not ready after %v", startTimeout)
	}
	etcd.Close()
	return nil, "", err
}

func (c *cluster) apiServerFlags(etcd string) []string {
	serverCert, serverKey := c.keys.server()
	flags := []string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		"--secure-port=" + c.server[strings.LastIndex(c.server, ":")+1:],
		"--tls-cert-file=" + serverCert,
		"--tls-private-key-file=" + serverKey,
		"--client-ca-file=" + c.keys.authority(),
		"--token-auth-file=" + c.tokens(),
		"--service-account-key-file=" + c.keys.serviceAccounts(),
		"--service-account-signing-key-file=" + c.keys.serviceAccounts(),
	}
	for line := range strings.Lines(fixedFlags) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "--") {
			flags = append(flags, line)
		}
	}
	return flags
}

// stopAtEndOf stops this process, as SIGTERM does, when the one that started it is gone.
func stopAtEndOf(input io.Reader) {
	_, _ = io.Copy(io.Discard, input)
	stop()
}

func stop() { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) }

// announce prints the ready line as soon as the server is ready, or stops this process.
func (c *cluster) announce(ctx context.Context, etcd string) {
	version, err := c.waitUntilReady(ctx)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(ready{c.kubeconfig(), c.server, etcd, version})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane up: not ready: %v\n", err)
		stop()
	}
}

// waitUntilReady waits for the server's own checks and its first namespace; it gives its version.
func (c *cluster) waitUntilReady(ctx context.Context) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig())
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	answers := func(ctx context.Context) (bool, error) {
		if client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() != nil {
			return false, nil
		}
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, answers); err != nil {
		return "", err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}
