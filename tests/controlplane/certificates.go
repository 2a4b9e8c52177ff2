package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const validity = 365 * 24 * time.Hour

// keys is the folder of a cluster's certificates and private keys.
type keys string

func (k keys) path(name string) string  { return filepath.Join(string(k), name) }
func (k keys) authority() string        { return k.path("ca.crt") }
func (k keys) serviceAccounts() string  { return k.path("service-accounts.key") }
func (k keys) server() (string, string) { return k.path("server.crt"), k.path("server.key") }
func (k keys) admin() (string, string)  { return k.path("admin.crt"), k.path("admin.key") }

// write makes an authority for one cluster, the certificates that it signs, and the key for the
// tokens of service accounts. The authority's own key is kept nowhere.
func (k keys) write() error {
	root, rootKey, err := newAuthority()
	if err != nil {
		return err
	}
	authority := signer{root, rootKey}
	serverCert, serverKey := k.server()
	adminCert, adminKey := k.admin()
	_, err = writeKey(k.serviceAccounts())
	return errors.Join(
		err,
		writeCertificate(k.authority(), root),
		authority.issue(serverCert, serverKey, x509.Certificate{
			Subject:     pkix.Name{CommonName: "kube-apiserver"},
			DNSNames:    []string{"localhost", "kubernetes.default.svc"},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}),
		authority.issue(adminCert, adminKey, x509.Certificate{
			Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}),
	)
}

func newAuthority() (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	root, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "controlplane"}, key)
	return root, key, err
}

// signer is an authority that signs certificates.
type signer struct {
	root *x509.Certificate
	key  crypto.Signer
}

func (s signer) issue(certFile, keyFile string, template x509.Certificate) error {
	key, err := writeKey(keyFile)
	if err != nil {
		return err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return err
	}
	template.NotBefore = s.root.NotBefore
	template.NotAfter = time.Now().Add(validity)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	signed, err := x509.CreateCertificate(rand.Reader, &template, s.root, key.Public(), s.key)
	if err != nil {
		return fmt.Errorf("signing %s: %w", certFile, err)
	}
	return writeCertificate(certFile, &x509.Certificate{Raw: signed})
}

func writeKey(file string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	return key, keyutil.WriteKey(file, text)
}

func writeCertificate(file string, certificate *x509.Certificate) error {
	text, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return err
	}
	return cert.WriteCert(file, text)
}
