package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCalledWrongly(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		status int
		stdout string // a part of it; "" for none at all
		stderr string
	}{
		{"without a command", nil, 2, "", "usage: ikkai"},
		{"with an unknown command", []string{"dmeo"}, 2, "", `no command "dmeo"`},
		{"asking for help", []string{"--help"}, 0, "usage: ikkai", ""},
		{"asking for help with a command", []string{"demo", "--help"}, 0, "", "-no-color"},
		{"asking for help with another command", []string{"bench-cold", "--help"}, 0, "", "-rounds"},
		{"for a payroll that nobody is on", []string{"payroll", "-employees=0", "-month=2026-11"}, 0, "0 employees are paid for 2026-11", ""},
		{"asking for help with a server", []string{"dynamodb", "--help"}, 0, "", "-idle-timeout"},
		{"for tables that can't be", []string{"dynamodb", "--table", "orders"}, 1, "", `ikkai dynamodb: table "orders": neither a template`},
		{"with an unknown flag", []string{"demo", "--colour"}, 2, "", "-colour"},
		{"for a function without a name", []string{"new", "--iac", "sam"}, 2, "", "takes one argument, not 0"},
		{"for a function with two names", []string{"new", "a1", "--iac", "sam", "b1"}, 2, "", "takes one argument, not 2"},
		{"for a function whose name is none", []string{"new", "Refund!", "--iac", "sam"}, 1, "", `"Refund!" can't name a function`},
		{"for a function on what is not there", []string{"new", "refund", "--iac", "pulumi"}, 1, "", `no infrastructure "pulumi"`},
		{"with an argument too many", []string{"bench", "fast"}, 2, "", `takes no argument "fast"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if got := run(t.Context(), test.args, &stdout, &stderr); got != test.status {
				t.Errorf("the exit status is %d, want %d", got, test.status)
			}
			for _, output := range []struct{ name, got, want string }{
				{"stdout", stdout.String(), test.stdout},
				{"stderr", stderr.String(), test.stderr},
			} {
				if (output.got == "") != (output.want == "") || !strings.Contains(output.got, output.want) {
					t.Errorf("%s is %q, want %q", output.name, output.got, output.want)
				}
			}
		})
	}
}
