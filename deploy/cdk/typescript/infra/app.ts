import { App, CfnOutput, Duration, RemovalPolicy, Stack, StackProps } from 'aws-cdk-lib'
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch'
import * as actions from 'aws-cdk-lib/aws-cloudwatch-actions'
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb'
import * as iam from 'aws-cdk-lib/aws-iam'
import * as lambda from 'aws-cdk-lib/aws-lambda'
import * as logs from 'aws-cdk-lib/aws-logs'
import * as sns from 'aws-cdk-lib/aws-sns'
import { Construct } from 'constructs'
import * as path from 'node:path'

// The operation of the guard in handler.go: the function may touch no other records.
const operation = 'payout'

const timeout = Duration.seconds(10)

class FunctionStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props)

    // One item for each request, which DynamoDB removes after the guard's retention (a day, by default). It is what
    // prevents a second effect. So neither a deletion of the stack, nor a change that replaces the table, nor a slip of
    // the hand deletes it. Restored records would be of requests whose retries are long over, so there is no
    // point-in-time recovery.
    const table = new dynamodb.Table(this, 'IdempotencyTable', {
      partitionKey: { name: 'idempotency_key', type: dynamodb.AttributeType.STRING },
      timeToLiveAttribute: 'expire_at',
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
      encryption: dynamodb.TableEncryption.AWS_MANAGED, // records hold results
    })

    const logGroup = new logs.LogGroup(this, 'FunctionLogs', {
      retention: logs.RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    })

    // A role of its own: the default one may write to every log group of the account. CDK adds what tracing needs.
    const role = new iam.Role(this, 'FunctionRole', { assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com') })
    role.addToPolicy(
      new iam.PolicyStatement({
        sid: 'Logs',
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    )
    // Not grantReadWriteData, which allows Scan and Query, too: they could read other requests' results. Writes that commit
    // with the record (dynamostore.Enlist) need their own permissions on their own tables, and none for transactions.
    role.addToPolicy(
      new iam.PolicyStatement({
        sid: 'IdempotencyRecords',
        actions: ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:GetItem'],
        resources: [table.tableArn],
        conditions: {
          // Its own operation's records only, also where functions share a table; a tenant's are payout#@tenant#…
          'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [`${operation}#*`] },
          // Without a key there is nothing that ForAllValues could refuse.
          Null: { 'dynamodb:LeadingKeys': 'false' },
        },
      }),
    )

    const fn = new lambda.Function(this, 'Function', {
      runtime: lambda.Runtime.PROVIDED_AL2023,
      architecture: lambda.Architecture.ARM_64,
      handler: 'bootstrap',
      code: lambda.Code.fromAsset(path.join(__dirname, '..', 'dist')), // make build
      memorySize: 512,
      // A run that was killed locks its request until its time-out, and for a minute at most.
      timeout,
      tracing: lambda.Tracing.ACTIVE,
      role,
      logGroup,
      loggingFormat: lambda.LoggingFormat.JSON, // the filters below read attributes
      applicationLogLevelV2: lambda.ApplicationLogLevel.INFO,
      systemLogLevelV2: lambda.SystemLogLevel.WARN,
      environment: { IDEMPOTENCY_TABLE: table.tableName },
    })

    // cdk deploy --context alarmTopicArn=arn:…; without it there is nobody to tell.
    const topicArn = this.node.tryGetContext('alarmTopicArn')
    const topic = topicArn && sns.Topic.fromTopicArn(this, 'AlarmTopic', topicArn)
    const alarm = (id: string, alarmDescription: string, metric: cloudwatch.IMetric, threshold = 1) => {
      const a = new cloudwatch.Alarm(this, id, {
        alarmDescription,
        metric,
        threshold,
        evaluationPeriods: 1,
        comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      })
      if (topic) a.addAlarmAction(new actions.SnsAction(topic))
    }
    const counted = (metricName: string, pattern: string) =>
      new logs.MetricFilter(this, metricName, {
        logGroup,
        filterPattern: logs.FilterPattern.literal(pattern),
        metricNamespace: this.stackName,
        metricName,
        metricValue: '1',
        unit: cloudwatch.Unit.COUNT,
      }).metric({ statistic: 'Sum', period: Duration.minutes(5) })

    // The guard's events after which a person should look: an outcome that is not recorded or replaced by another run's,
    // what could not be undone, and a table out of reach.
    alarm(
      'IdempotencyFaultsAlarm',
      'Idempotency records could not be written or settled; look for the attribute "event" in the log.',
      counted(
        'IdempotencyFaults',
        '{ ($.event = "lease_lost") || ($.event = "not_stored") || ($.event = "store_failed") || ($.event = "compensation_failed") }',
      ),
    )
    // Requests that can't go on by themselves, however often they are repeated.
    alarm(
      'IdempotencyStuckAlarm',
      'A request waits for a person; the log has its key, and says in "code" what nobody knows.',
      counted('IdempotencyStuck', '{ $.event = "stuck" }'),
    )
    alarm('FunctionErrorsAlarm', 'The function fails or is killed by its time-out.', fn.metricErrors())
    alarm('FunctionThrottlesAlarm', 'Lambda turns requests away.', fn.metricThrottles())
    // What is killed at its time-out has perhaps done half of what it should.
    alarm(
      'FunctionDurationAlarm',
      "A run takes 80 % of the function's time-out.",
      fn.metricDuration({ statistic: 'Maximum' }),
      0.8 * timeout.toMilliseconds(),
    )
    // A throttled table turns requests away before anything has happened; the guard fails closed.
    alarm(
      'TableThrottlesAlarm',
      'DynamoDB turns away writes of records.',
      table.metric('WriteThrottleEvents', { statistic: 'Sum' }),
    )

    // What to invoke, with {"id": "r-1", "amount": 4999}.
    new CfnOutput(this, 'FunctionName', { value: fn.functionName })
    new CfnOutput(this, 'IdempotencyTableName', { value: table.tableName })
    new CfnOutput(this, 'LogGroup', { value: logGroup.logGroupName })
  }
}

new FunctionStack(new App(), operation)
