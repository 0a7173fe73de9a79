// Package operate is what the command line does for operators: find records, show them, settle,
// forget and resume them, look after the table, and reckon what it costs. It is package records
// in words; package main has its flags.
package operate
