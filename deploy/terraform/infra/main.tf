locals {
  # That of the guard in handler.go: the function may touch no other records.
  operation = "payout"

  timeout = 10
}

# One item for each request, which DynamoDB removes after the guard's retention (a day, by default). It is what prevents a
# second effect. So neither a destroy, nor a change that replaces the table, nor a slip of the hand deletes it. Restored
# records would be of requests whose retries are long over, so there is no point-in-time recovery.
resource "aws_dynamodb_table" "idempotency" {
  name                        = "${var.name}-idempotency"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "idempotency_key"
  deletion_protection_enabled = true

  attribute {
    name = "idempotency_key"
    type = "S"
  }

  ttl {
    attribute_name = "expire_at"
    enabled        = true
  }

  server_side_encryption { # records hold results
    enabled = true
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_cloudwatch_log_group" "function" {
  name              = "/aws/lambda/${var.name}"
  retention_in_days = 30
}

# A role of its own. AWSLambdaBasicExecutionRole may write to every log group of the account.
resource "aws_iam_role" "function" {
  name               = "${var.name}-function"
  assume_role_policy = data.aws_iam_policy_document.lambda.json
}

data "aws_iam_policy_document" "lambda" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

resource "aws_iam_role_policy" "function" {
  name   = "function"
  role   = aws_iam_role.function.id
  policy = data.aws_iam_policy_document.function.json
}

data "aws_iam_policy_document" "function" {
  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.function.arn}:*"]
  }

  statement {
    sid       = "Traces"
    actions   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
    resources = ["*"] # there are none to name
  }

  # Neither Scan nor Query, which could read other requests' results. Writes that commit with the record
  # (dynamostore.Enlist) need their own permissions on their own tables, and none for transactions.
  statement {
    sid       = "IdempotencyRecords"
    actions   = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:GetItem"]
    resources = [aws_dynamodb_table.idempotency.arn]

    # Its own operation's records only, also where functions share a table; a tenant's are payout#@tenant#…
    condition {
      test     = "ForAllValues:StringLike"
      variable = "dynamodb:LeadingKeys"
      values   = ["${local.operation}#*"]
    }

    # Without a key there is nothing that ForAllValues could refuse.
    condition {
      test     = "Null"
      variable = "dynamodb:LeadingKeys"
      values   = ["false"]
    }
  }
}

# dist/function.zip is made by "make build".
resource "aws_lambda_function" "function" {
  function_name    = var.name
  role             = aws_iam_role.function.arn
  runtime          = "provided.al2023"
  architectures    = ["arm64"]
  handler          = "bootstrap"
  filename         = "${path.module}/../dist/function.zip"
  source_code_hash = filebase64sha256("${path.module}/../dist/function.zip")
  memory_size      = 512
  # A run that was killed locks its request until its time-out, and for a minute at most.
  timeout = local.timeout

  environment {
    variables = {
      IDEMPOTENCY_TABLE = aws_dynamodb_table.idempotency.name
    }
  }

  logging_config {
    log_format            = "JSON" # the filters read attributes
    application_log_level = "INFO"
    system_log_level      = "WARN"
    log_group             = aws_cloudwatch_log_group.function.name
  }

  tracing_config {
    mode = "Active"
  }

  # Without its permissions the first request would fail.
  depends_on = [aws_iam_role_policy.function]
}
