package coldstart

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"
)

// tlsServer serves a handler over TLS, with HTTP/1.1 as DynamoDB does.
type tlsServer struct {
	url string

	server *http.Server
	served chan struct{} // closed when the server has ended
}

// serveTLS uses a new certificate, and writes it to the file bundle for the functions to
// trust: in PEM, as AWS_CA_BUNDLE has it.
func serveTLS(ctx context.Context, handler http.Handler, bundle string) (*tlsServer, error) {
	certificate, err := newCertificate()
	if err != nil {
		return nil, err
	}
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(bundle, trusted, 0o600); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &tlsServer{
		url:    "https://" + listener.Addr().String(),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: functionTimeout},
		served: make(chan struct{}),
	}
	secured := tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	go func() {
		defer close(s.served)
		_ = s.server.Serve(secured) // until it is closed
	}()
	return s, nil
}

func (s *tlsServer) close() error {
	err := s.server.Close()
	<-s.served
	return err
}

// newCertificate signs itself and is good for this machine and a day.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "ikkai bench-cold"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
