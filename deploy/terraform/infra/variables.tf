variable "name" {
  description = "Of the function, and of what belongs to it."
  type        = string
  default     = "payout"
}

variable "alarm_topic_arn" {
  description = "SNS topic that is told of alarms; empty for none."
  type        = string
  default     = ""
}
