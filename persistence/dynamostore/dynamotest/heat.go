package dynamotest

import (
	"math"
	"slices"
	"time"
)

// What a partition bears a second ("Best practices for designing and using partition keys effectively"), how many a new
// table with on-demand capacity begins with ("DynamoDB warm throughput": 12,000 reads and 4,000 writes a second), and for
// how long provisioned capacity that is not used can be used later ("burst capacity").
const (
	partitionReads  = 3000
	partitionWrites = 1000
	newPartitions   = 4
	burst           = 300 * time.Second
)

// AWS publishes no figure for when a partition is split for heat; these are ours: after refusals for one minute, with no
// second free of them.
const (
	splitAfter = time.Minute
	coolAfter  = time.Second
)

// direction is whether a request reads or writes, as the reasons for throttling spell it.
type direction string

const (
	fetching direction = "Read"
	writing  direction = "Write"
)

// bucket is capacity that refills with time: so much a second, saved up to a limit. The zero bucket is full. A request is
// let through while there is anything left, and what it takes may be more than that, since its cost is known afterwards.
type bucket struct {
	taken float64
	at    time.Time
}

func (b *bucket) refill(now time.Time, rate float64) {
	b.taken = max(0, b.taken-rate*now.Sub(b.at).Seconds())
	b.at = now
}

// capacityPair is a bucket for reading and one for writing.
type capacityPair struct{ reads, writes bucket }

func (p *capacityPair) of(d direction) *bucket {
	if d == writing {
		return &p.writes
	}
	return &p.reads
}

func (p *capacityPair) take(cost Capacity) {
	p.reads.taken += cost.Read
	p.writes.taken += cost.Write
}

// heat is the throughput of a table or global index: that of its partitions, each of which bears the same, and over them
// what is provisioned.
type heat struct {
	partitions  []*partition // in the order of their places, the first from the very beginning on
	provisioned capacityPair
	scale       float64 // share of what a partition bears on AWS
	cut         int     // how many leading key values a place has where a partition may be split; 0 is all
}

// partition is a range of places up to the next partition's.
type partition struct {
	low  place
	left capacityPair

	refusals, last time.Time // when refusals began that have not stopped since, and the last of them
	recent         [64]place // the places asked for last, in no order
	asked          int
}

func newHeat(now time.Time, onDemand bool, provisioned throughput, scale float64, cut int) *heat {
	h := &heat{scale: scale, cut: cut}
	count := newPartitions
	if !onDemand {
		count = int(math.Ceil(float64(provisioned.Read)/h.bears(fetching) + float64(provisioned.Write)/h.bears(writing)))
		// There is nothing unused yet that could be saved.
		h.provisioned.take(Capacity{Read: float64(provisioned.Read), Write: float64(provisioned.Write)}.times(burst.Seconds() - 1))
		h.provisioned.reads.at, h.provisioned.writes.at = now, now
	}
	for number := range max(count, 1) {
		h.partitions = append(h.partitions, &partition{low: segment(number, max(count, 1)).low})
	}
	return h
}

// bears is what a partition bears a second.
func (h *heat) bears(d direction) float64 {
	if d == writing {
		return partitionWrites * h.scale
	}
	return partitionReads * h.scale
}

// at is the partition that has the place, and its number.
func (h *heat) at(p place) (int, *partition) {
	number, _ := slices.BinarySearchFunc(h.partitions, p, func(candidate *partition, p place) int { return candidate.low.compare(p) })
	number = max(number-1, 0)
	return number, h.partitions[number]
}

// admit lets a request for the place through, or says which limit it exceeds.
func (h *heat) admit(now time.Time, p place, d direction, provisioned float64) (limit string, ok bool) {
	if provisioned > 0 {
		total := h.provisioned.of(d)
		total.refill(now, provisioned)
		if total.taken >= provisioned*burst.Seconds() {
			return "ProvisionedThroughputExceeded", false
		}
	}
	number, asked := h.at(p)
	asked.recent[asked.asked%len(asked.recent)] = p
	asked.asked++
	rate := h.bears(d)
	left := asked.left.of(d)
	left.refill(now, rate)
	if left.taken < rate {
		return "", true
	}
	if now.Sub(asked.last) > coolAfter {
		asked.refusals = now
	}
	asked.last = now
	if now.Sub(asked.refusals) >= splitAfter {
		h.split(number)
	}
	return "KeyRangeThroughputExceeded", false
}

// take books what was consumed at the place.
func (h *heat) take(p place, cost Capacity) {
	h.provisioned.take(cost)
	_, asked := h.at(p)
	asked.left.take(cost)
}

// share books what was consumed by a read of many rows, by the shares of the partitions they are in; where there are no rows,
// the partition where it looked for them bears it.
func (h *heat) share(p place, cost Capacity, shares map[*partition]float64) {
	h.provisioned.take(cost)
	total := 0.0
	for _, share := range shares {
		total += share
	}
	if total == 0 {
		_, asked := h.at(p)
		asked.left.take(cost)
		return
	}
	for asked, share := range shares {
		asked.left.take(cost.times(share / total))
	}
}

// split makes two partitions of one, so that each has about half of what was asked for last. What is one item, or where
// partitions must not be split one partition key, stays together: nothing makes it faster.
func (h *heat) split(number int) {
	hot := h.partitions[number]
	recent := slices.Clone(hot.recent[:min(hot.asked, len(hot.recent))])
	for i, p := range recent {
		if h.cut > 0 {
			p.keys = p.keys[:h.cut]
		}
		p.edge = ahead
		recent[i] = p
	}
	slices.SortFunc(recent, place.compare)
	middle := recent[len(recent)/2]
	if middle.compare(recent[0]) == 0 {
		next := slices.IndexFunc(recent, func(p place) bool { return p.compare(middle) > 0 })
		if next < 0 {
			hot.refusals = hot.last // to be looked at again in a minute
			return
		}
		middle = recent[next]
	}
	h.partitions = slices.Replace(h.partitions, number, number+1, &partition{low: hot.low}, &partition{low: middle})
}
