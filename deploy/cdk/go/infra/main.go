//go:build ignore

// Command infra describes the function's stack with the CDK, which needs Node at run time.
package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
)

// operation is that of the guard in handler.go: the function may touch no other records.
const operation = "payout"

const timeoutSeconds = 10

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	newStack(app, operation)
	app.Synth(nil)
}

func newStack(app awscdk.App, id string) {
	stack := awscdk.NewStack(app, jsii.String(id), nil)

	// One item for each request, which DynamoDB removes after the guard's retention (a day, by default). It is what
	// prevents a second effect. So neither a deletion of the stack, nor a change that replaces the table, nor a slip of
	// the hand deletes it. Restored records would be of requests whose retries are long over, so there is no
	// point-in-time recovery.
	table := awsdynamodb.NewTable(stack, jsii.String("IdempotencyTable"), &awsdynamodb.TableProps{
		PartitionKey:        &awsdynamodb.Attribute{Name: jsii.String("idempotency_key"), Type: awsdynamodb.AttributeType_STRING},
		TimeToLiveAttribute: jsii.String("expire_at"),
		BillingMode:         awsdynamodb.BillingMode_PAY_PER_REQUEST,
		DeletionProtection:  jsii.Bool(true),
		RemovalPolicy:       awscdk.RemovalPolicy_RETAIN,
		Encryption:          awsdynamodb.TableEncryption_AWS_MANAGED, // records hold results
	})

	logGroup := awslogs.NewLogGroup(stack, jsii.String("FunctionLogs"), &awslogs.LogGroupProps{
		Retention:     awslogs.RetentionDays_ONE_MONTH,
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})

	function := awslambda.NewFunction(stack, jsii.String("Function"), &awslambda.FunctionProps{
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: awslambda.Architecture_ARM_64(),
		Handler:      jsii.String("bootstrap"),
		Code:         awslambda.Code_FromAsset(jsii.String("../dist"), nil), // make build
		MemorySize:   jsii.Number(512),
		// A run that was killed locks its request until its time-out, and for a minute at most.
		Timeout:               awscdk.Duration_Seconds(jsii.Number(timeoutSeconds)),
		Tracing:               awslambda.Tracing_ACTIVE,
		Role:                  newRole(stack, table, logGroup),
		LogGroup:              logGroup,
		LoggingFormat:         awslambda.LoggingFormat_JSON, // the filters below read attributes
		ApplicationLogLevelV2: awslambda.ApplicationLogLevel_INFO,
		SystemLogLevelV2:      awslambda.SystemLogLevel_WARN,
		Environment:           &map[string]*string{"IDEMPOTENCY_TABLE": table.TableName()},
	})

	addAlarms(stack, function, table, logGroup)

	// What to invoke, with {"id": "r-1", "amount": 4999}.
	awscdk.NewCfnOutput(stack, jsii.String("FunctionName"), &awscdk.CfnOutputProps{Value: function.FunctionName()})
	awscdk.NewCfnOutput(stack, jsii.String("IdempotencyTableName"), &awscdk.CfnOutputProps{Value: table.TableName()})
	awscdk.NewCfnOutput(stack, jsii.String("LogGroup"), &awscdk.CfnOutputProps{Value: logGroup.LogGroupName()})
}

// newRole is a role of its own: the default one may write to every log group of the account. CDK adds what tracing needs.
func newRole(stack awscdk.Stack, table awsdynamodb.Table, logGroup awslogs.LogGroup) awsiam.Role {
	role := awsiam.NewRole(stack, jsii.String("FunctionRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:       jsii.String("Logs"),
		Actions:   jsii.Strings("logs:CreateLogStream", "logs:PutLogEvents"),
		Resources: &[]*string{logGroup.LogGroupArn()},
	}))
	// Not GrantReadWriteData, which allows Scan and Query, too: they could read other requests' results. Writes that commit
	// with the record (dynamostore.Enlist) need their own permissions on their own tables, and none for transactions.
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:       jsii.String("IdempotencyRecords"),
		Actions:   jsii.Strings("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:GetItem"),
		Resources: &[]*string{table.TableArn()},
		Conditions: &map[string]any{
			// Its own operation's records only, also where functions share a table; a tenant's are payout#@tenant#…
			"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": []string{operation + "#*"}},
			// Without a key there is nothing that ForAllValues could refuse.
			"Null": map[string]any{"dynamodb:LeadingKeys": "false"},
		},
	}))
	return role
}

func addAlarms(stack awscdk.Stack, function awslambda.Function, table awsdynamodb.Table, logGroup awslogs.LogGroup) {
	// cdk deploy --context alarmTopicArn=arn:…; without it there is nobody to tell.
	var topic awssns.ITopic
	if arn, _ := stack.Node().TryGetContext(jsii.String("alarmTopicArn")).(string); arn != "" {
		topic = awssns.Topic_FromTopicArn(stack, jsii.String("AlarmTopic"), &arn)
	}
	alarm := func(id, description string, metric awscloudwatch.Metric, threshold float64) {
		a := awscloudwatch.NewAlarm(stack, &id, &awscloudwatch.AlarmProps{
			AlarmDescription:   &description,
			Metric:             metric,
			Threshold:          &threshold,
			EvaluationPeriods:  jsii.Number(1),
			ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
			TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
		})
		if topic != nil {
			a.AddAlarmAction(awscloudwatchactions.NewSnsAction(topic))
		}
	}
	counted := func(name, pattern string) awscloudwatch.Metric {
		filter := awslogs.NewMetricFilter(stack, &name, &awslogs.MetricFilterProps{
			LogGroup:        logGroup,
			FilterPattern:   awslogs.FilterPattern_Literal(&pattern),
			MetricNamespace: stack.StackName(),
			MetricName:      &name,
			MetricValue:     jsii.String("1"),
			Unit:            awscloudwatch.Unit_COUNT,
		})
		return filter.Metric(&awscloudwatch.MetricOptions{Statistic: jsii.String("Sum"), Period: awscdk.Duration_Minutes(jsii.Number(5))})
	}

	// The guard's events after which a person should look: an outcome that is not recorded or replaced by another run's,
	// what could not be undone, and a table out of reach.
	alarm("IdempotencyFaultsAlarm", `Idempotency records could not be written or settled; look for the attribute "event" in the log.`,
		counted("IdempotencyFaults", `{ ($.event = "lease_lost") || ($.event = "not_stored") || ($.event = "store_failed") || ($.event = "compensation_failed") }`), 1)
	// Requests that can't go on by themselves, however often they are repeated.
	alarm("IdempotencyStuckAlarm", `A request waits for a person; the log has its key, and says in "code" what nobody knows.`,
		counted("IdempotencyStuck", `{ $.event = "stuck" }`), 1)
	alarm("FunctionErrorsAlarm", "The function fails or is killed by its time-out.", function.MetricErrors(nil), 1)
	alarm("FunctionThrottlesAlarm", "Lambda turns requests away.", function.MetricThrottles(nil), 1)
	// What is killed at its time-out has perhaps done half of what it should.
	alarm("FunctionDurationAlarm", "A run takes 80 % of the function's time-out.",
		function.MetricDuration(&awscloudwatch.MetricOptions{Statistic: jsii.String("Maximum")}), timeoutSeconds*1000*0.8)
	// A throttled table turns requests away before anything has happened; the guard fails closed.
	alarm("TableThrottlesAlarm", "DynamoDB turns away writes of records.",
		table.Metric(jsii.String("WriteThrottleEvents"), &awscloudwatch.MetricOptions{Statistic: jsii.String("Sum")}), 1)
}
