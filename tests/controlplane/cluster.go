package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// cluster is the folder of a control plane: its objects, its keys and the administrator's
// kubeconfig, which also says where the server listens.
type cluster struct {
	folder string
	keys   keys
	server string
}

// The contexts of the kubeconfig: an administrator who is known by a certificate, and one who is
// known by a bearer token.
const (
	byCertificate = "certificate"
	byToken       = "token"
)

const clusterName = "controlplane"

// openCluster gives the cluster that is kept in a folder. A folder without one gets one.
func openCluster(folder string) (*cluster, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	opened := &cluster{folder: folder, keys: keys(filepath.Join(folder, "keys"))}
	config, err := clientcmd.LoadFromFile(opened.kubeconfig())
	if errors.Is(err, os.ErrNotExist) {
		return opened, opened.make()
	}
	if err != nil {
		return nil, err
	}
	known, ok := config.Clusters[clusterName]
	if !ok {
		return nil, fmt.Errorf("%s was not written by this program", opened.kubeconfig())
	}
	opened.server = known.Server
	return opened, nil
}

func (c *cluster) kubeconfig() string { return filepath.Join(c.folder, "kubeconfig") }
func (c *cluster) tokens() string     { return c.keys.path("tokens.csv") }

// make writes what a new cluster needs; the kubeconfig comes last, for it says that all is there.
func (c *cluster) make() error {
	if err := os.MkdirAll(string(c.keys), 0o700); err != nil {
		return err
	}
	if err := c.keys.write(); err != nil {
		return err
	}
	token := rand.Text()
	known := token + ",admin,admin,system:masters\n"
	if err := os.WriteFile(c.tokens(), []byte(known), 0o600); err != nil {
		return err
	}
	c.server = fmt.Sprintf("https://127.0.0.1:%d", freePort())
	return c.writeKubeconfig(token)
}

func (c *cluster) writeKubeconfig(token string) error {
	certFile, keyFile := c.keys.admin()
	authority, err1 := os.ReadFile(c.keys.authority())
	cert, err2 := os.ReadFile(certFile)
	key, err3 := os.ReadFile(keyFile)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	config := api.NewConfig()
	config.Clusters[clusterName] = &api.Cluster{Server: c.server, CertificateAuthorityData: authority}
	config.AuthInfos[byCertificate] = &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.AuthInfos[byToken] = &api.AuthInfo{Token: token}
	for _, name := range []string{byCertificate, byToken} {
		config.Contexts[name] = &api.Context{Cluster: clusterName, AuthInfo: name}
	}
	config.CurrentContext = byCertificate
	return clientcmd.WriteToFile(*config, c.kubeconfig())
}

// freePort gives a port that nobody listens on, below those that the kernel gives to clients: none
// of them must get it while the server that had it is started again.
func freePort() int {
	for {
		port := 20000 + mathrand.IntN(10000)
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			listener.Close()
			return port
		}
	}
}
