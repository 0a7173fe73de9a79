package dynamotest

// tableClasses are the classes of storage; this database keeps a table's class and charges the same for both.
var tableClasses = []string{"STANDARD", "STANDARD_INFREQUENT_ACCESS"}

// encryption says with which key a table is encrypted at rest. It is kept and shown; there is nothing at rest.
type encryption struct {
	Enabled bool
	Type    string  `json:"SSEType"`
	Key     *string `json:"KMSMasterKeyId"`
}

type encryptionDescription struct {
	Status string
	Type   string `json:"SSEType,omitempty"`
	Key    string `json:"KMSMasterKeyArn,omitempty"`
}

// check refuses what contradicts itself.
func (e *encryption) check() error {
	if e == nil {
		return nil
	}
	var faults constraints
	checkEnum(&faults, e.Type, "sSESpecification.sSEType", "AES256", "KMS")
	if err := faults.err(); err != nil {
		return err
	}
	switch {
	case !e.Enabled && (e.Type != "" || e.Key != nil):
		return invalidParameter("SSEType and KMSMasterKeyId cannot be specified when SSE is disabled")
	case e.Type == "AES256":
		return invalidParameter("SSEType AES256 is not supported")
	}
	return nil
}

// describe is nil where the key is DynamoDB's own.
func (e *encryption) describe() *encryptionDescription {
	if e == nil || !e.Enabled {
		return nil
	}
	d := &encryptionDescription{Status: "ENABLED", Type: "KMS", Key: "arn:aws:kms:" + Region + ":" + account + ":key/aws-dynamodb"}
	if e.Key != nil {
		d.Key = *e.Key
	}
	return d
}
