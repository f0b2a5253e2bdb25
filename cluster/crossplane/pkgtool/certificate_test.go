package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// authority is what Crossplane keeps in crossplane-root-ca: an RSA key in the
// old form.
func authority(t *testing.T) map[string][]byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Crossplane"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
}

// TestCertificate: core trusts the authority, the API server the certificate
// itself; both call the package by its Service, and core a Function by its address.
func TestCertificate(t *testing.T) {
	ca := authority(t)
	files, err := certificate(ca, "provider-finops", "crossplane-system")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(files[corev1.TLSCertKey], files[corev1.TLSPrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	for name, trusted := range map[string][]byte{"Authority": ca[corev1.TLSCertKey], "Itself": files[corev1.TLSCertKey]} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(trusted)
		for _, host := range []string{"provider-finops.crossplane-system.svc", "provider-finops.crossplane-system", "127.0.0.1"} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
				t.Errorf("%s: cannot trust it as %s: %v", name, host, err)
			}
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: x509.NewCertPool()}); err == nil {
		t.Error("It is trusted by nobody's authority.")
	}
	ca[corev1.TLSCertKey] = []byte("no PEM")
	if _, err := certificate(ca, "provider-finops", "crossplane-system"); err == nil {
		t.Error("An authority that is none signs.")
	}
}
