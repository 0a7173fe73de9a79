locals {
  # What the filters count in the log. A metric of the log has a namespace of its own.
  counted = {
    # The guard's events after which a person should look: an outcome that is not recorded or replaced by another run's,
    # what could not be undone, and a table out of reach.
    IdempotencyFaults = "{ ($.event = \"lease_lost\") || ($.event = \"not_stored\") || ($.event = \"store_failed\") || ($.event = \"compensation_failed\") }"
    # Requests that can't go on by themselves, however often they are repeated.
    IdempotencyStuck = "{ $.event = \"stuck\" }"
  }

  function = { FunctionName = aws_lambda_function.function.function_name }
  table    = { TableName = aws_dynamodb_table.idempotency.name }

  alarms = {
    IdempotencyFaults = {
      description = "Idempotency records could not be written or settled; look for the attribute \"event\" in the log."
      namespace   = var.name, metric = "IdempotencyFaults", dimensions = {}, statistic = "Sum", threshold = 1
    }
    IdempotencyStuck = {
      description = "A request waits for a person; the log has its key, and says in \"code\" what nobody knows."
      namespace   = var.name, metric = "IdempotencyStuck", dimensions = {}, statistic = "Sum", threshold = 1
    }
    FunctionErrors = {
      description = "The function fails or is killed by its time-out."
      namespace   = "AWS/Lambda", metric = "Errors", dimensions = local.function, statistic = "Sum", threshold = 1
    }
    FunctionThrottles = {
      description = "Lambda turns requests away."
      namespace   = "AWS/Lambda", metric = "Throttles", dimensions = local.function, statistic = "Sum", threshold = 1
    }
    # What is killed at its time-out has perhaps done half of what it should.
    FunctionDuration = {
      description = "A run takes 80 % of the function's time-out."
      namespace   = "AWS/Lambda", metric = "Duration", dimensions = local.function, statistic = "Maximum", threshold = 0.8 * 1000 * local.timeout
    }
    # A throttled table turns requests away before anything has happened; the guard fails closed.
    TableThrottles = {
      description = "DynamoDB turns away writes of records."
      namespace   = "AWS/DynamoDB", metric = "WriteThrottleEvents", dimensions = local.table, statistic = "Sum", threshold = 1
    }
  }
}

resource "aws_cloudwatch_log_metric_filter" "counted" {
  for_each = local.counted

  name           = each.key
  log_group_name = aws_cloudwatch_log_group.function.name
  pattern        = each.value

  metric_transformation {
    namespace = var.name
    name      = each.key
    value     = "1"
    unit      = "Count"
  }
}

resource "aws_cloudwatch_metric_alarm" "alarm" {
  for_each = local.alarms

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  period              = 300
  evaluation_periods  = 1
  threshold           = each.value.threshold
  comparison_operator = "GreaterThanOrEqualToThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arn == "" ? [] : [var.alarm_topic_arn]
}
