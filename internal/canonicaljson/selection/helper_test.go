package selection

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"testing"
)

// canonical compiles the expression, which must succeed, and evaluates it on a
// payload, which must survive unchanged.
func canonical(t *testing.T, expression, payload string) (string, error) {
	t.Helper()
	s, err := Compile(expression)
	if err != nil {
		t.Fatalf("Compile(%s): %v", expression, err)
	}
	document := []byte(payload)
	got, err := s.AppendCanonical(nil, document)
	if string(document) != payload {
		t.Fatalf("%s changed its payload", expression)
	}
	return string(got), err
}

func gzipBase64(t *testing.T, data []byte) string {
	t.Helper()
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(zipped.Bytes())
}
