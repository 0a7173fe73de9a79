// Package storekit is for those who write stores: what stores and fronts are made of.
package storekit
