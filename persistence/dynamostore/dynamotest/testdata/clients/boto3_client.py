"""What programs in Python say to DynamoDB with boto3: the client, the resource layer, waiters and paginators.

    python boto3_client.py ENDPOINT
"""

import sys
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

where = dict(region_name="us-east-1", endpoint_url=sys.argv[1], aws_access_key_id="local", aws_secret_access_key="local")
client = boto3.client("dynamodb", **where)
name = "boto3-orders"

client.create_table(
    TableName=name,
    KeySchema=[{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
    AttributeDefinitions=[
        {"AttributeName": "customer", "AttributeType": "S"},
        {"AttributeName": "at", "AttributeType": "N"},
        {"AttributeName": "state", "AttributeType": "S"},
    ],
    LocalSecondaryIndexes=[{
        "IndexName": "states",
        "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "state", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "ALL"},
    }],
    BillingMode="PAY_PER_REQUEST",
    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    Tags=[{"Key": "team", "Value": "orders"}],
)
client.get_waiter("table_exists").wait(TableName=name)
described = client.describe_table(TableName=name)["Table"]
assert client.list_tags_of_resource(ResourceArn=described["TableArn"])["Tags"] == [{"Key": "team", "Value": "orders"}]

table = boto3.resource("dynamodb", **where).Table(name)
with table.batch_writer() as batch:
    for i in range(60):
        batch.put_item({"customer": "ann", "at": i, "state": "sent" if i % 2 else "new", "total": Decimal("9.90"), "tags": {"a", "b"}})

found = table.query(KeyConditionExpression=Key("customer").eq("ann") & Key("at").between(10, 19), FilterExpression=Attr("state").eq("new"))
assert [int(i["at"]) for i in found["Items"]] == [10, 12, 14, 16, 18], found
assert found["Items"][0]["total"] == Decimal("9.90") and found["Items"][0]["tags"] == {"a", "b"}
sent = table.query(IndexName="states", KeyConditionExpression=Key("customer").eq("ann") & Key("state").begins_with("se"), Select="COUNT")
assert sent["Count"] == 30
pages = list(client.get_paginator("scan").paginate(TableName=name, PaginationConfig={"PageSize": 25}))
assert [len(p["Items"]) for p in pages] == [25, 25, 10]

updated = table.update_item(
    Key={"customer": "ann", "at": 1}, UpdateExpression="SET #t = #t + :n REMOVE tags", ConditionExpression=Attr("state").eq("sent"),
    ExpressionAttributeNames={"#t": "total"}, ExpressionAttributeValues={":n": 1}, ReturnValues="UPDATED_NEW",
)
assert updated["Attributes"] == {"total": Decimal("10.9")}
try:
    table.put_item(Item={"customer": "ann", "at": 1}, ConditionExpression=Attr("customer").not_exists(), ReturnValuesOnConditionCheckFailure="ALL_OLD")
    raise AssertionError("the condition holds")
except client.exceptions.ConditionalCheckFailedException as failed:
    assert failed.response["Item"]["total"] == {"N": "10.9"}

# The legacy parameters, as libraries before 2014 send them.
old = client.query(
    TableName=name, AttributesToGet=["at"], ScanIndexForward=False, Limit=1,
    KeyConditions={"customer": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "ann"}]}},
)
assert old["Items"] == [{"at": {"N": "59"}}]
client.update_item(
    TableName=name, Key={"customer": {"S": "ann"}, "at": {"N": "2"}},
    Expected={"state": {"Value": {"S": "new"}}}, AttributeUpdates={"state": {"Action": "PUT", "Value": {"S": "sent"}}},
)

try:
    client.transact_write_items(TransactItems=[
        {"Put": {"TableName": name, "Item": {"customer": {"S": "bob"}, "at": {"N": "1"}}}},
        {"ConditionCheck": {"TableName": name, "Key": {"customer": {"S": "ann"}, "at": {"N": "1"}}, "ConditionExpression": "attribute_not_exists(customer)"}},
    ])
    raise AssertionError("the check holds")
except client.exceptions.TransactionCanceledException as cancelled:
    assert [r["Code"] for r in cancelled.response["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]

streams = boto3.client("dynamodbstreams", **where)
arn = described["LatestStreamArn"]
shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
records = streams.get_records(ShardIterator=iterator)["Records"]
assert [r["eventName"] for r in records] == ["INSERT"] * 60 + ["MODIFY"] * 2, len(records)

try:
    client.execute_statement(Statement=f'SELECT * FROM "{name}"')
    raise AssertionError("PartiQL is not served")
except ClientError as refused:
    assert refused.response["Error"]["Code"] == "UnknownOperationException", refused

client.delete_table(TableName=name)
client.get_waiter("table_not_exists").wait(TableName=name)
print(f"boto3 {boto3.__version__}: ok")
