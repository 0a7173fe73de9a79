// A function that uses the real Powertools for TypeScript. Commands come as lines of JSON
// on stdin, answers go out as lines on stdout; see peer in live_test.go.
const { createRequire } = require('node:module');
const { readFileSync } = require('node:fs');
const { createInterface } = require('node:readline');
const path = require('node:path');

const load = createRequire(path.join(process.env.POWERTOOLS_LIVE, 'peer.cjs'));
Object.assign(process.env, { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'none', AWS_SECRET_ACCESS_KEY: 'none' });
console.warn = () => {};

const { makeIdempotent, IdempotencyConfig } = load('@aws-lambda-powertools/idempotency');
const { BasePersistenceLayer } = load('@aws-lambda-powertools/idempotency/persistence');
const { DynamoDBPersistenceLayer } = load('@aws-lambda-powertools/idempotency/dynamodb');
const { DynamoDBClient } = load('@aws-sdk/client-dynamodb');

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const answer = (fields) => process.stdout.write(`${JSON.stringify(fields)}\n`);

// Remembers what it is told to write.
class Recorder extends BasePersistenceLayer {
  async _getRecord() { throw new Error('not kept'); }
  async _putRecord(record) { this.put = record.idempotencyKey; this.hash = record.payloadHash; }
  async _updateRecord(record) { this.updated = record.idempotencyKey; }
  async _deleteRecord() { throw new Error('not kept'); }
}

// A layer that hashes nothing.
class Texts extends Recorder {
  generateHash(data) {
    if (typeof data !== 'string') throw new TypeError('not hashed');
    return data;
  }
}

// What is hashed for the key of each event: see outcome in expressions_test.go.
const evaluate = async (expression, events) => {
  const outcomes = [];
  for (const event of events) {
    const store = new Texts();
    let calls = 0;
    const handler = makeIdempotent(async () => { calls++; return null; }, { persistenceStore: store, config: new IdempotencyConfig({ eventKeyJmesPath: expression }) });
    try {
      await handler(JSON.parse(event), {});
      const put = store.put?.slice(store.put.indexOf('#') + 1);
      if (store.put !== store.updated) outcomes.push('~');
      else outcomes.push(store.put === undefined ? '-' : `=${put}`);
    } catch (e) {
      const cause = e.cause ?? e;
      if (['ParseError', 'LexerError', 'IncompleteExpressionError', 'EmptyExpressionError'].includes(cause.name) || (cause.name === 'SyntaxError' && cause.stack.includes('consumeQuotedIdentifier'))) return null;
      outcomes.push(calls > 0 ? '~' : '!');
    }
  }
  return outcomes;
};

const clients = new Map();
const client = (endpoint) => {
  if (!clients.has(endpoint)) clients.set(endpoint, new DynamoDBClient({ endpoint }));
  return clients.get(endpoint);
};

const layer = (command) => {
  if (command.endpoint === undefined) return new Recorder();
  const table = command.table ?? {};
  return new DynamoDBPersistenceLayer({
    tableName: 'idempotency',
    awsSdkV3Client: client(command.endpoint),
    sortKeyAttr: table.sortKey,
    staticPkValue: table.partitionValue,
    ...(table.renamed ? { expiryAttr: 'exp_at', statusAttr: 'st', dataAttr: 'resp' } : {}),
  });
};

const run = async (command) => {
  process.env.AWS_LAMBDA_FUNCTION_NAME = command.functionName;
  const store = layer(command);
  const context = { getRemainingTimeInMillis: () => command.remaining ?? 30000 };
  const config = new IdempotencyConfig({
    eventKeyJmesPath: command.eventKey || undefined,
    payloadValidationJmesPath: command.validation || undefined,
    throwOnNoIdempotencyKey: command.raise ?? false,
    hashFunction: command.hash || undefined,
    lambdaContext: context,
  });
  let calls = 0;
  const handler = makeIdempotent(async () => {
    calls++;
    if (command.hold) {
      answer({ running: true });
      await lines.next();
    }
    if (command.fail) throw new Error('failed');
    return command.result === undefined ? null : JSON.parse(command.result);
  }, { persistenceStore: store, config, keyPrefix: command.prefix || undefined });
  let result;
  let error;
  try {
    result = await handler(JSON.parse(command.event), context);
  } catch (e) {
    error = e.cause && e.name === 'IdempotencyPersistenceLayerError' ? `${e.name}: ${e.cause.name}` : e.name;
  }
  const written = store instanceof Recorder ? { put: store.put, updated: store.updated, hash: store.hash } : {};
  answer({ calls, result: JSON.stringify(result ?? null), error, ...written });
};

const lower = () => {
  const changed = {};
  for (let c = 0; c <= 0x10ffff; c++) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const text = String.fromCodePoint(c);
    if (text.toLowerCase() !== text) changed[text] = text.toLowerCase();
  }
  answer({ lower: changed });
};

(async () => {
  const directory = path.join(process.env.POWERTOOLS_LIVE, 'node_modules', '@aws-lambda-powertools', 'idempotency');
  answer({ version: JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8')).version, parts: [`Node.js ${process.version}`] });
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const command = JSON.parse(line.value);
    if (command.lower) lower();
    else if (command.expressions) {
      process.env.AWS_LAMBDA_FUNCTION_NAME = command.functionName;
      const outcomes = [];
      for (const expression of command.expressions) outcomes.push(await evaluate(expression, command.events));
      answer({ outcomes });
    }
    else await run(command);
  }
})();
