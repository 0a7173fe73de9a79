package deploy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/deploy"
)

func ExampleInfrastructures() {
	fmt.Println(deploy.Infrastructures())
	// Output: [cdk-go cdk-ts sam terraform]
}

func ExampleFiles() {
	files, err := deploy.Files("refund", "sam")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Join(slices.Sorted(maps.Keys(files)), " "))
	// Output: .gitignore Makefile README.md handler.go handler_test.go main.go samconfig.toml template.yaml
}
