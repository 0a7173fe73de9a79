// Package blake2 is BLAKE2b with 64 bytes and BLAKE2s with 32 bytes, without keys (RFC
// 7693), which Go's standard library lacks.
package blake2

import (
	"encoding/binary"
	"math/bits"
)

// Sizes of the digests in bytes.
const (
	SizeB = 64
	SizeS = 32
)

const (
	blockB = 128
	blockS = 64
)

var ivB = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

var ivS = [8]uint32{
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
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

// SumB returns BLAKE2b-512 of data.
func SumB(data []byte) [SizeB]byte {
	h := ivB
	h[0] ^= 0x01010000 ^ SizeB
	compress := func(b []byte, counted uint64, last uint64) {
		var m [16]uint64
		for i := range m {
			m[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		v := [16]uint64(append(append(make([]uint64, 0, 16), h[:]...), ivB[:]...))
		v[12] ^= counted
		v[14] ^= last
		rounds(&v, &m, 12, func(x uint64, by int) uint64 { return bits.RotateLeft64(x, -by) }, [4]int{32, 24, 16, 63})
		for i := range h {
			h[i] ^= v[i] ^ v[i+8]
		}
	}
	counted := uint64(0)
	for ; len(data) > blockB; data = data[blockB:] {
		counted += blockB
		compress(data[:blockB], counted, 0)
	}
	var last [blockB]byte
	copy(last[:], data)
	compress(last[:], counted+uint64(len(data)), ^uint64(0))
	var sum [SizeB]byte
	for i, word := range h {
		binary.LittleEndian.PutUint64(sum[8*i:], word)
	}
	return sum
}

// SumS returns BLAKE2s-256 of data.
func SumS(data []byte) [SizeS]byte {
	h := ivS
	h[0] ^= 0x01010000 ^ SizeS
	compress := func(b []byte, counted uint64, last uint32) {
		var m [16]uint32
		for i := range m {
			m[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		v := [16]uint32(append(append(make([]uint32, 0, 16), h[:]...), ivS[:]...))
		v[12] ^= uint32(counted)
		v[13] ^= uint32(counted >> 32)
		v[14] ^= last
		rounds(&v, &m, 10, func(x uint32, by int) uint32 { return bits.RotateLeft32(x, -by) }, [4]int{16, 12, 8, 7})
		for i := range h {
			h[i] ^= v[i] ^ v[i+8]
		}
	}
	counted := uint64(0)
	for ; len(data) > blockS; data = data[blockS:] {
		counted += blockS
		compress(data[:blockS], counted, 0)
	}
	var last [blockS]byte
	copy(last[:], data)
	compress(last[:], counted+uint64(len(data)), ^uint32(0))
	var sum [SizeS]byte
	for i, word := range h {
		binary.LittleEndian.PutUint32(sum[4*i:], word)
	}
	return sum
}

// rounds is the part that both share: it mixes the words of a message into the state.
func rounds[W uint32 | uint64](v, m *[16]W, count int, right func(x W, by int) W, by [4]int) {
	mix := func(i, j, k, l int, x, y W) {
		v[i] += v[j] + x
		v[l] = right(v[l]^v[i], by[0])
		v[k] += v[l]
		v[j] = right(v[j]^v[k], by[1])
		v[i] += v[j] + y
		v[l] = right(v[l]^v[i], by[2])
		v[k] += v[l]
		v[j] = right(v[j]^v[k], by[3])
	}
	for round := range count {
		s := sigma[round%10]
		for i := range 4 {
			mix(i, i+4, i+8, i+12, m[s[2*i]], m[s[2*i+1]])
		}
		for i := range 4 {
			mix(i, (i+1)%4+4, (i+2)%4+8, (i+3)%4+12, m[s[2*i+8]], m[s[2*i+9]])
		}
	}
}
