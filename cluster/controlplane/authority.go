package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	certificateLife = 365 * 24 * time.Hour
	clockSkew       = time.Hour // Between this machine and itself before NTP has set it.
)

// An authority signs every certificate of one control plane and writes them
// to its folder.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// A pair is a certificate and its key, in PEM.
type pair struct{ cert, key []byte }

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make the authority's key: %w", err)
	}
	template, err := newTemplate("finops-test-ca")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign the authority's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("cannot read back the authority's certificate: %w", err)
	}
	a := &authority{dir: dir, cert: cert, key: key, pem: encode("CERTIFICATE", der)}
	signing, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return a, a.write("ca", pair{a.pem, signing})
}

// issue signs a certificate for a client and for a server at the hosts, and
// writes it to <name>.crt and <name>.key.
func (a *authority) issue(name, user string, groups, hosts []string) (pair, error) {
	p, err := a.sign(name, user, groups, hosts)
	if err != nil {
		return pair{}, err
	}
	return p, a.write(name, p)
}

func (a *authority) sign(name, user string, groups, hosts []string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("cannot make the key of %q: %w", name, err)
	}
	template, err := newTemplate(user)
	if err != nil {
		return pair{}, err
	}
	template.Subject.Organization = groups
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("cannot sign the certificate of %q: %w", name, err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{encode("CERTIFICATE", der), private}, nil
}

// kubeconfig issues a client certificate and writes <name>.kubeconfig.
func (a *authority) kubeconfig(name, server, user string, groups ...string) error {
	config, err := a.kubeconfigText(name, server, user, groups...)
	if err != nil {
		return err
	}
	return a.writeFile(name+".kubeconfig", config)
}

func (a *authority) kubeconfigText(name, server, user string, groups ...string) ([]byte, error) {
	p, err := a.issue(name, user, groups, nil)
	if err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: finops-test
clusters:
- name: finops-test
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: %[3]q
  user: {client-certificate-data: %[4]s, client-key-data: %[5]s}
contexts:
- name: finops-test
  context: {cluster: finops-test, user: %[3]q}
`, server, text(a.pem), user, text(p.cert), text(p.key)), nil
}

// serviceAccountKeys writes the pair that signs and checks tokens.
func (a *authority) serviceAccountKeys() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("cannot make the key of service accounts: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("cannot encode the public key of service accounts: %w", err)
	}
	if err := a.writeFile("sa.pub", encode("PUBLIC KEY", public)); err != nil {
		return err
	}
	return a.writeFile("sa.key", private)
}

func (a *authority) write(name string, p pair) error {
	if err := a.writeFile(name+".crt", p.cert); err != nil {
		return err
	}
	return a.writeFile(name+".key", p.key)
}

func (a *authority) writeFile(name string, text []byte) error {
	if err := os.WriteFile(filepath.Join(a.dir, name), text, 0o600); err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return nil
}

func newTemplate(commonName string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("cannot draw a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(certificateLife),
	}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a private key: %w", err)
	}
	return encode("PRIVATE KEY", der), nil
}
