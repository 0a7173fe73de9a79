output "function_name" {
  description = "What to invoke, with {\"id\": \"r-1\", \"amount\": 4999}."
  value       = aws_lambda_function.function.function_name
}

output "idempotency_table_name" {
  value = aws_dynamodb_table.idempotency.name
}

output "log_group" {
  value = aws_cloudwatch_log_group.function.name
}
