// Package blake2b is BLAKE2b with 64 bytes and no key (RFC 7693), which Go's standard
// library lacks.
package blake2b

import (
	"encoding/binary"
	"math/bits"
)

// Size of a digest in bytes.
const Size = 64

const block = 128

var iv = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

var sigma = [10][16]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

// Sum512 returns the digest of data.
func Sum512(data []byte) [Size]byte {
	h := iv
	h[0] ^= 0x01010000 ^ Size
	counted := uint64(0) // far below 2⁶⁴ here
	for len(data) > block {
		counted += block
		compress(&h, [block]byte(data), counted, false)
		data = data[block:]
	}
	var last [block]byte
	copy(last[:], data)
	compress(&h, last, counted+uint64(len(data)), true)
	var sum [Size]byte
	for i, word := range h {
		binary.LittleEndian.PutUint64(sum[8*i:], word)
	}
	return sum
}

func compress(h *[8]uint64, b [block]byte, counted uint64, last bool) {
	var m [16]uint64
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	var v [16]uint64
	copy(v[:8], h[:])
	copy(v[8:], iv[:])
	v[12] ^= counted
	if last {
		v[14] = ^v[14]
	}
	mix := func(i, j, k, l int, x, y uint64) {
		v[i] += v[j] + x
		v[l] = bits.RotateLeft64(v[l]^v[i], -32)
		v[k] += v[l]
		v[j] = bits.RotateLeft64(v[j]^v[k], -24)
		v[i] += v[j] + y
		v[l] = bits.RotateLeft64(v[l]^v[i], -16)
		v[k] += v[l]
		v[j] = bits.RotateLeft64(v[j]^v[k], -63)
	}
	for round := range 12 {
		s := sigma[round%10]
		for i := range 4 {
			mix(i, i+4, i+8, i+12, m[s[2*i]], m[s[2*i+1]])
		}
		for i := range 4 {
			mix(i, (i+1)%4+4, (i+2)%4+8, (i+3)%4+12, m[s[2*i+8]], m[s[2*i+9]])
		}
	}
	for i := range h {
		h[i] ^= v[i] ^ v[i+8]
	}
}
