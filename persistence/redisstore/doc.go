// Package redisstore keeps idempotency records in Redis or Valkey.
package redisstore
