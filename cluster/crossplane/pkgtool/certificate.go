package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	certificateLife = 365 * 24 * time.Hour
	clockSkew       = time.Hour
)

// certificate signs one for the package's Service, and for loopback, with
// Crossplane's own authority.
func certificate(authority map[string][]byte, pkg, namespace string) (map[string][]byte, error) {
	ca, err := first(authority[corev1.TLSCertKey], x509.ParseCertificate)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority's certificate: %w", err)
	}
	caKey, err := first(authority[corev1.TLSPrivateKeyKey], x509.ParsePKCS1PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority's key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("cannot draw a serial number: %w", err)
	}
	host := pkg + "." + namespace
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: pkg},
		DNSNames:     []string{"localhost", host, host + ".svc", host + ".svc.cluster.local"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("cannot sign: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a key: %w", err)
	}
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		"ca.crt":                authority[corev1.TLSCertKey],
	}, nil
}

// first reads the first block of a PEM text.
func first[T any](text []byte, read func([]byte) (T, error)) (T, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		var none T
		return none, errors.New("it is no PEM text")
	}
	return read(block.Bytes)
}
