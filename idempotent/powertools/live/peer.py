"""A function that uses the real Powertools for Python. Commands come as lines of JSON on
stdin, answers go out as lines on stdout; see peer in live_test.go."""

import json
import os
import sys
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
out = sys.stdout
sys.stdout = sys.stderr


def answer(**fields):
    out.write(json.dumps(fields) + "\n")
    out.flush()


def configure(command):
    """The environment is read when the packages are configured."""
    os.environ["AWS_LAMBDA_FUNCTION_NAME"] = command["functionName"]


os.environ.update(AWS_REGION="eu-central-1", AWS_DEFAULT_REGION="eu-central-1", AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none")

import boto3  # noqa: E402
import jmespath  # noqa: E402
from aws_lambda_powertools.utilities.idempotency import BasePersistenceLayer, DynamoDBPersistenceLayer, IdempotencyConfig, idempotent  # noqa: E402


class Recorder(BasePersistenceLayer):
    """Remembers what it is told to write."""

    def __init__(self):
        super().__init__()
        self.put = self.updated = self.hash = None

    def _get_record(self, idempotency_key):
        raise NotImplementedError

    def _put_record(self, data_record):
        self.put, self.hash = data_record.idempotency_key, data_record.payload_hash

    def _update_record(self, data_record):
        self.updated = data_record.idempotency_key

    def _delete_record(self, data_record):
        raise NotImplementedError


class Text:
    """A hash function that hashes nothing."""

    def __init__(self, data):
        self.data = data

    def hexdigest(self):
        return self.data.decode()


def evaluate(expression, events):
    """What is hashed for the key of each event: see outcome in expressions_test.go."""
    store = Recorder()
    try:
        store.configure(IdempotencyConfig(event_key_jmespath=expression), "f")
    except Exception:
        return None
    store.hash_function = Text
    outcomes = []
    for event in events:
        try:
            key = store._get_hashed_idempotency_key(json.loads(event))
            outcomes.append("-" if key is None else "=" + key.split("#", 1)[1])
        except Exception:
            outcomes.append("!")
    return outcomes


class Context:
    def __init__(self, remaining):
        self.remaining = remaining

    def get_remaining_time_in_millis(self):
        return self.remaining


clients = {}


def client(endpoint):
    if endpoint not in clients:
        clients[endpoint] = boto3.client("dynamodb", endpoint_url=endpoint)
    return clients[endpoint]


def layer(command):
    if "endpoint" not in command:
        return Recorder()
    table = command.get("table", {})
    return DynamoDBPersistenceLayer(
        table_name="idempotency",
        boto3_client=client(command["endpoint"]),
        sort_key_attr=table.get("sortKey"),
        static_pk_value=table.get("partitionValue"),
        **({"expiry_attr": "exp_at", "status_attr": "st", "data_attr": "resp"} if table.get("renamed") else {}),
    )


def run(command):
    configure(command)
    store, calls = layer(command), 0
    config = IdempotencyConfig(
        event_key_jmespath=command.get("eventKey", ""),
        payload_validation_jmespath=command.get("validation", ""),
        raise_on_no_idempotency_key=command.get("raise", False),
        hash_function=command.get("hash", "md5"),
    )
    config.register_lambda_context(Context(command.get("remaining", 30000)))

    def lambda_handler(event, context):
        nonlocal calls
        calls += 1
        if command.get("hold"):
            answer(running=True)
            sys.stdin.readline()
        if command.get("fail"):
            raise RuntimeError("failed")
        return json.loads(command.get("result", "null"))

    lambda_handler.__module__, lambda_handler.__qualname__ = "app", "lambda_handler"
    result, error = None, None
    try:
        wrapped = idempotent(lambda_handler, persistence_store=store, config=config, **({"key_prefix": command["prefix"]} if command.get("prefix") else {}))
        result = wrapped(json.loads(command["event"]), config.lambda_context)
    except Exception as e:
        error = type(e).__name__
        if e.__cause__ is not None and error == "IdempotencyPersistenceLayerError":
            error += ": " + type(e.__cause__).__name__
    written = {"put": store.put, "updated": store.updated, "hash": store.hash} if isinstance(store, Recorder) else {}
    answer(calls=calls, result=json.dumps(result), error=error, **written)


answer(version=version("aws-lambda-powertools"), parts=["jmespath " + jmespath.__version__, "Python " + sys.version.split()[0]])
for line in iter(sys.stdin.readline, ""):
    command = json.loads(line)
    if "expressions" in command:
        configure(command)
        answer(outcomes=[evaluate(expression, command["events"]) for expression in command["expressions"]])
    else:
        run(command)
