"""What PynamoDB, an object mapper, says to DynamoDB.

    python pynamodb_models.py ENDPOINT
"""

import os
import sys

os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local")

import pynamodb  # noqa: E402 (it reads the environment)
from pynamodb.attributes import ListAttribute, MapAttribute, NumberAttribute, UnicodeAttribute, VersionAttribute  # noqa: E402
from pynamodb.connection import Connection  # noqa: E402
from pynamodb.exceptions import PutError, UpdateError  # noqa: E402
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, KeysOnlyProjection, LocalSecondaryIndex  # noqa: E402
from pynamodb.models import Model  # noqa: E402
from pynamodb.transactions import TransactWrite  # noqa: E402


class ByState(GlobalSecondaryIndex):
    class Meta:
        index_name = "by-state"
        projection = AllProjection()

    state = UnicodeAttribute(hash_key=True)
    at = NumberAttribute(range_key=True)


class ByTotal(LocalSecondaryIndex):
    class Meta:
        index_name = "by-total"
        projection = KeysOnlyProjection()

    customer = UnicodeAttribute(hash_key=True)
    total = NumberAttribute(range_key=True)


class Order(Model):
    class Meta:
        table_name = "pynamodb-orders"
        region = "us-east-1"
        host = sys.argv[1]
        billing_mode = "PAY_PER_REQUEST"

    customer = UnicodeAttribute(hash_key=True)
    at = NumberAttribute(range_key=True)
    state = UnicodeAttribute(default="new")
    total = NumberAttribute(default=0)
    lines = ListAttribute(default=list)
    address = MapAttribute(default=dict)
    version = VersionAttribute()
    by_state = ByState()
    by_total = ByTotal()


Order.create_table(wait=True)
assert Order.exists()
with Order.batch_write() as batch:
    for i in range(40):
        batch.save(Order("ann", i, state="sent" if i % 2 else "new", total=100 - i, lines=[i, "x"], address={"city": "Oslo"}))
assert [o.at for o in Order.query("ann", Order.at > 35, scan_index_forward=False)] == [39, 38, 37, 36]
assert [o.at for o in Order.by_state.query("new", Order.at < 5)] == [0, 2, 4]
assert [o.at for o in Order.by_total.query("ann", Order.total <= 63)] == [39, 38, 37]
assert Order.count("ann") == 40 and len(list(Order.scan(Order.state == "sent", page_size=7))) == 20

order = Order.get("ann", 3)
assert order.address.city == "Oslo" and order.lines == [3, "x"], order.to_simple_dict()
stale = Order.get("ann", 3)
order.update(actions=[Order.total.add(5), Order.state.set("paid"), Order.lines.set(Order.lines.append(["y"]))])
assert order.total == 102 and order.lines[-1] == "y"
try:
    stale.save()
    raise AssertionError("a stale version was saved")
except PutError as failed:
    assert failed.cause_response_code == "ConditionalCheckFailedException"
try:
    order.update(actions=[Order.state.set("new")], condition=Order.state == "sent")
    raise AssertionError("the condition holds")
except UpdateError as failed:
    assert failed.cause_response_code == "ConditionalCheckFailedException"

with TransactWrite(connection=Connection(region="us-east-1", host=sys.argv[1])) as transaction:
    transaction.save(Order("bob", 1))
    transaction.delete(Order.get("ann", 39))
assert Order.count("ann") == 39 and Order.count("bob") == 1
assert sorted(o.at for o in Order.batch_get([("ann", 1), ("ann", 2), ("ann", 39)])) == [1, 2]
Order.delete_table()
print(f"PynamoDB {pynamodb.__version__}: ok")
