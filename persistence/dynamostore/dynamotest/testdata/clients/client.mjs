// What programs in JavaScript say to DynamoDB with the SDK: clients, the document client, waiters and paginators.
//
//   node client.mjs ENDPOINT
//
// It looks for the SDK's packages where it stands.
import assert from 'node:assert/strict'
import {
  CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDBClient, ExecuteStatementCommand, UpdateTableCommand,
  ConditionalCheckFailedException, TransactionCanceledException, paginateScan, waitUntilTableExists, waitUntilTableNotExists,
} from '@aws-sdk/client-dynamodb'
import { DynamoDBStreamsClient, DescribeStreamCommand, GetRecordsCommand, GetShardIteratorCommand } from '@aws-sdk/client-dynamodb-streams'
import {
  BatchGetCommand, BatchWriteCommand, DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand, TransactWriteCommand, UpdateCommand,
  paginateQuery,
} from '@aws-sdk/lib-dynamodb'

const where = { endpoint: process.argv[2], region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }
const client = new DynamoDBClient(where)
const documents = DynamoDBDocumentClient.from(client)
const TableName = 'javascript-orders'

await client.send(new CreateTableCommand({
  TableName, BillingMode: 'PAY_PER_REQUEST',
  KeySchema: [{ AttributeName: 'customer', KeyType: 'HASH' }, { AttributeName: 'at', KeyType: 'RANGE' }],
  AttributeDefinitions: [{ AttributeName: 'customer', AttributeType: 'S' }, { AttributeName: 'at', AttributeType: 'N' }],
  StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
}))
await waitUntilTableExists({ client, maxWaitTime: 60 }, { TableName })

for (let from = 0; from < 50; from += 25) {
  const puts = Array.from({ length: 25 }, (_, i) => ({ PutRequest: { Item: { customer: 'ann', at: from + i, state: i % 2 ? 'sent' : 'new', lines: [{ sku: 'x', n: i }] } } }))
  await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: puts } }))
}
const got = await documents.send(new GetCommand({ TableName, Key: { customer: 'ann', at: 3 }, ConsistentRead: true, ReturnConsumedCapacity: 'TOTAL' }))
assert.deepEqual(got.Item, { customer: 'ann', at: 3, state: 'sent', lines: [{ sku: 'x', n: 3 }] })
assert.equal(got.ConsumedCapacity.CapacityUnits, 1)
const pages = []
const query = { TableName, KeyConditionExpression: 'customer = :c AND #at >= :at', ExpressionAttributeNames: { '#at': 'at' }, ExpressionAttributeValues: { ':c': 'ann', ':at': 5 } }
for await (const page of paginateQuery({ client: documents, pageSize: 20 }, query)) pages.push(page.Count)
assert.deepEqual(pages.filter(Boolean), [20, 20, 5])
let scanned = 0
for await (const page of paginateScan({ client, pageSize: 30 }, { TableName })) scanned += page.Count
assert.equal(scanned, 50)
const both = await documents.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys: [{ customer: 'ann', at: 1 }, { customer: 'bob', at: 1 }] } } }))
assert.equal(both.Responses[TableName].length, 1)

await client.send(new UpdateTableCommand({
  TableName, AttributeDefinitions: [{ AttributeName: 'state', AttributeType: 'S' }],
  GlobalSecondaryIndexUpdates: [{ Create: { IndexName: 'states', KeySchema: [{ AttributeName: 'state', KeyType: 'HASH' }], Projection: { ProjectionType: 'KEYS_ONLY' } } }],
}))
await waitUntilTableExists({ client, maxWaitTime: 60 }, { TableName })
const sent = await documents.send(new QueryCommand({
  TableName, IndexName: 'states', Select: 'COUNT', KeyConditionExpression: '#s = :s', ExpressionAttributeNames: { '#s': 'state' }, ExpressionAttributeValues: { ':s': 'sent' },
}))
assert.equal(sent.Count, 24)

const updated = await documents.send(new UpdateCommand({
  TableName, Key: { customer: 'ann', at: 3 }, UpdateExpression: 'SET #l[0].n = #l[0].n + :n', ExpressionAttributeNames: { '#l': 'lines' }, ExpressionAttributeValues: { ':n': 1 }, ReturnValues: 'ALL_NEW',
}))
assert.equal(updated.Attributes.lines[0].n, 4)
await assert.rejects(
  documents.send(new PutCommand({ TableName, Item: { customer: 'ann', at: 3 }, ConditionExpression: 'attribute_not_exists(customer)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })),
  (e) => e instanceof ConditionalCheckFailedException && e.Item.state !== undefined,
)
await assert.rejects(
  documents.send(new TransactWriteCommand({ TransactItems: [
    { Put: { TableName, Item: { customer: 'bob', at: 1 } } },
    { Delete: { TableName, Key: { customer: 'ann', at: 3 }, ConditionExpression: 'attribute_not_exists(customer)' } },
  ] })),
  (e) => e instanceof TransactionCanceledException && e.CancellationReasons[1].Code === 'ConditionalCheckFailed',
)
await assert.rejects(client.send(new ExecuteStatementCommand({ Statement: `SELECT * FROM "${TableName}"` })), { name: 'UnknownOperationException' })

const streams = new DynamoDBStreamsClient(where)
const { Table } = await client.send(new DescribeTableCommand({ TableName }))
const StreamArn = Table.LatestStreamArn
const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }))
const { ShardIterator } = await streams.send(new GetShardIteratorCommand({ StreamArn, ShardId: StreamDescription.Shards[0].ShardId, ShardIteratorType: 'TRIM_HORIZON' }))
const { Records } = await streams.send(new GetRecordsCommand({ ShardIterator }))
assert.equal(Records.length, 51)
assert.equal(Records[50].eventName, 'MODIFY')

await client.send(new DeleteTableCommand({ TableName }))
await waitUntilTableNotExists({ client, maxWaitTime: 60 }, { TableName })
console.log('AWS SDK for JavaScript: ok')
