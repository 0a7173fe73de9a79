package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the payroll relies on and only the template can give.
func TestTheTemplateStartsThePayrollAgain(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, function, _ := strings.Cut(string(template), "\n  PayrollFunction:\n")
	function, _, _ = strings.Cut(function, "\n\n")
	for _, setting := range []string{
		fmt.Sprintf("Timeout: %d\n", int(timeout.Seconds())),
		"EventInvokeConfig:\n        MaximumRetryAttempts: 2\n",
		"OnFailure:\n            Type: SQS\n            Destination: !GetAtt PayrollUnfinishedQueue.Arn\n",
		`Input: '{"scheduled_time": "<aws.scheduler.scheduled-time>"}'`,
	} {
		if !strings.Contains(function, setting) {
			t.Errorf("template.yaml lacks %s", setting)
		}
	}
}
