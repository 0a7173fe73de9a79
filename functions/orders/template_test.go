package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What the guard relies on and only the template can give.
func TestTheTemplateSetsTheQueueUpForTheFunction(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	template := string(raw)
	_, queues, _ := strings.Cut(template, "\n  OrdersQueue:\n")
	queues, _, _ = strings.Cut(queues, "\n  OrdersFunction:\n")
	seconds := func(part, property string) []time.Duration {
		var all []time.Duration
		for _, found := range regexp.MustCompile(`(?m)^ +`+property+`: (\d+)`).FindAllStringSubmatch(part, -1) {
			n, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Duration(n)*time.Second)
		}
		return all
	}
	if got := seconds(template, "Timeout"); len(got) == 0 || got[0] != timeout {
		t.Errorf("the timeouts are %v, want %v for all functions that have none of their own", got, timeout)
	}
	if got := seconds(queues, "VisibilityTimeout"); len(got) != 1 || got[0] != 6*timeout {
		t.Errorf("the visibility timeout is %v, want six times the function's %v", got, timeout)
	}
	var comeBack time.Duration
	retentions := seconds(queues, "MessageRetentionPeriod")
	for _, retention := range retentions {
		comeBack += retention
	}
	if len(retentions) != 2 || comeBack >= remembered {
		t.Errorf("messages may come back for %v (%v), and orders are remembered for %v", comeBack, retentions, remembered)
	}
	for _, setting := range []string{"FunctionResponseTypes: [ReportBatchItemFailures]", "maxReceiveCount: 5", "deadLetterTargetArn: !GetAtt OrdersDeadLetterQueue.Arn"} {
		if !strings.Contains(template, setting) {
			t.Errorf("template.yaml lacks %s", setting)
		}
	}
}
