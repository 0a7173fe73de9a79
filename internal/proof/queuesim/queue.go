package queuesim

import (
	"crypto/md5" //nolint:gosec // SQS's own checksum of a body
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// QueueConfig describes a queue. It is a FIFO queue if its name ends in ".fifo".
type QueueConfig struct {
	Name       string
	Visibility time.Duration
	// MaxReceive is how often a message is received before it goes to the
	// dead-letter queue; 0 has no such queue.
	MaxReceive int
	// Seed shuffles the order in which a standard queue delivers, has some of its
	// messages delivered twice at a time, and forgets some of their deletions until
	// they are visible again. 0 delivers in the order of sending, and once.
	Seed uint64
}

// Letter is what is sent.
type Letter struct {
	Body            string
	Group           string // MessageGroupId
	DeduplicationID string // MessageDeduplicationId, of FIFO queues
}

// deduplication is for how long a FIFO queue drops what is sent again.
const deduplication = 5 * time.Minute

// longestHidden is for how long a queue hides a message at most, from when it was received.
const longestHidden = 12 * time.Hour

// Queue is an SQS queue.
type Queue struct {
	config QueueConfig

	mu       sync.Mutex
	dice     *mathrand.Rand // nil for a queue that is on its best behaviour
	messages []*message     // without what is deleted; of a FIFO queue in the order of sending
	dead     []Letter
	sent     map[string]sending
	sequence int
}

type sending struct {
	id string
	at time.Time
}

type message struct {
	Letter
	id       string
	sequence int
	sent     time.Time
	first    time.Time // received
	received time.Time // last
	visible  time.Time
	receives int
	receipts []string
}

// NewQueue returns an empty queue.
func NewQueue(config QueueConfig) *Queue {
	q := &Queue{config: config, sent: make(map[string]sending)}
	if config.Seed != 0 && !q.fifo() {
		q.dice = mathrand.New(mathrand.NewPCG(config.Seed, 0))
	}
	return q
}

// odd is how often a standard queue does what it seldom does: one time in so many.
const odd = 10

func (q *Queue) atOdds() bool { return q.dice != nil && q.dice.IntN(odd) == 0 }

func (q *Queue) fifo() bool { return strings.HasSuffix(q.config.Name, ".fifo") }

func (q *Queue) arn() string { return "arn:aws:sqs:eu-west-1:123456789012:" + q.config.Name }

// Send adds a message and returns its id. A FIFO queue drops what it has been sent
// within five minutes, and returns the id of the first. It refuses a message without
// a group or a deduplication id: Send panics.
func (q *Queue) Send(l Letter) string {
	if q.fifo() && (l.Group == "" || l.DeduplicationID == "") {
		panic("queuesim: a FIFO queue refuses a message without MessageGroupId or MessageDeduplicationId")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if earlier, known := q.sent[l.DeduplicationID]; q.fifo() && known && now.Sub(earlier.at) < deduplication {
		return earlier.id
	}
	q.sequence++
	m := &message{Letter: l, id: rand.Text(), sequence: q.sequence, sent: now, visible: now}
	q.messages = append(q.messages, m)
	if q.fifo() {
		q.sent[l.DeduplicationID] = sending{m.id, now}
	}
	return m.id
}

// Receive delivers up to most messages and hides them for the visibility timeout.
// A group of a FIFO queue is locked while one of its messages is hidden.
func (q *Queue) Receive(most int) []events.SQSMessage {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dice != nil {
		q.dice.Shuffle(len(q.messages), func(i, j int) { q.messages[i], q.messages[j] = q.messages[j], q.messages[i] })
	}
	now := time.Now()
	locked := make(map[string]bool)
	var batch []events.SQSMessage
	kept := q.messages[:0]
	for _, m := range q.messages {
		free := len(batch) < most && !m.visible.After(now) && (!q.fifo() || !locked[m.Group])
		if !free {
			locked[m.Group] = true // its followers wait with it
			kept = append(kept, m)
			continue
		}
		if q.config.MaxReceive > 0 && m.receives >= q.config.MaxReceive {
			q.dead = append(q.dead, m.Letter)
			continue
		}
		kept = append(kept, m)
		batch = append(batch, q.deliver(m, now))
	}
	q.messages = kept
	return batch
}

func (q *Queue) deliver(m *message, now time.Time) events.SQSMessage {
	receipt := rand.Text()
	m.receipts = append(m.receipts, receipt)
	m.received, m.visible = now, now.Add(q.config.Visibility)
	if q.atOdds() {
		m.visible = now // at least once: somebody else gets it as well
	}
	if m.receives++; m.receives == 1 {
		m.first = now
	}
	sum := md5.Sum([]byte(m.Body)) //nolint:gosec // see the import
	attributes := map[string]string{
		"ApproximateReceiveCount":          strconv.Itoa(m.receives),
		"SentTimestamp":                    strconv.FormatInt(m.sent.UnixMilli(), 10),
		"SenderId":                         "AIDAEXAMPLE",
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.first.UnixMilli(), 10),
	}
	if m.Group != "" {
		attributes["MessageGroupId"] = m.Group
	}
	if q.fifo() {
		attributes["MessageDeduplicationId"] = m.DeduplicationID
		attributes["SequenceNumber"] = fmt.Sprintf("%020d", m.sequence)
	}
	return events.SQSMessage{
		MessageId: m.id, ReceiptHandle: receipt, Body: m.Body, Md5OfBody: hex.EncodeToString(sum[:]),
		Attributes: attributes, EventSource: "aws:sqs", EventSourceARN: q.arn(), AWSRegion: "eu-west-1",
	}
}

// Delete deletes a message by the receipt of any of its deliveries. In a FIFO queue
// only the latest one counts, and only as long as the message is hidden.
func (q *Queue) Delete(receipt string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.atOdds() {
		return
	}
	for at, m := range q.messages {
		for n, r := range m.receipts {
			if r != receipt {
				continue
			}
			if q.fifo() && (n != len(m.receipts)-1 || !m.visible.After(time.Now())) {
				return
			}
			q.messages = append(q.messages[:at:at], q.messages[at+1:]...)
			return
		}
	}
}

// ChangeVisibility makes a message visible again after so long from now, and tells whether it
// was in flight by that receipt: otherwise nothing changes. The queue hides no message for
// longer than twelve hours from when it was received.
func (q *Queue) ChangeVisibility(receipt string, after time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, m := range q.messages {
		if len(m.receipts) == 0 || m.receipts[len(m.receipts)-1] != receipt || !m.visible.After(now) {
			continue
		}
		if now.Add(after).After(m.received.Add(longestHidden)) {
			return false
		}
		m.visible = now.Add(after)
		return true
	}
	return false
}

// Len is how many messages are in the queue, hidden ones too.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}

// DeadLetters are the messages that have been received too often.
func (q *Queue) DeadLetters() []Letter {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]Letter(nil), q.dead...)
}
