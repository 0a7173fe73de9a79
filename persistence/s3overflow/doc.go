// Package s3overflow keeps the blobs of package overflow in Amazon S3, or in what
// speaks its protocol. It is a package of its own, so that nobody links the SDK's S3
// client who does not use it.
//
//	blobs, err := s3overflow.New(s3.NewFromConfig(cfg), s3overflow.Config{Bucket: "results"})
//	store, err := overflow.New(table, blobs, overflow.Config{})
//
// # Requests
//
// One PutObject for each blob that is written, one GetObject for each that is read, one
// DeleteObject for each that turned out to be of no use. An object is sent with its
// CRC-32, and S3 refuses what arrives damaged; package overflow compares what is read
// with the digest in the record.
//
// # The bucket
//
// Private, in the function's Region, encrypted by its default. Nothing else deletes
// expired objects, so it needs a lifecycle rule for the prefix:
//
//	LifecycleConfiguration:
//	  Rules:
//	    - Status: Enabled
//	      Prefix: idempotency/
//	      ExpirationInDays: 3 # more than the longest TTL, and a day
//	      NoncurrentVersionExpirationInDays: 1 # if the bucket keeps versions
//
// S3 counts whole days from midnight UTC. An object that goes before its record is a
// lost result, so a day too many is better than one too few. Objects carry the expiry of
// their record as the header Expires, for whoever cleans up otherwise; S3 itself does
// nothing about it.
//
// # Permissions
//
//	s3:PutObject, s3:GetObject, s3:DeleteObject on arn:aws:s3:::results/idempotency/*
//	s3:ListBucket on arn:aws:s3:::results
//
// Without s3:ListBucket S3 answers 403 in place of 404 for an object that is not there.
// That is not certain to be a loss, so replays of it fail with a
// [*persistence.Fault] then. With a key of one's own, also kms:GenerateDataKey and
// kms:Decrypt on it.
package s3overflow
