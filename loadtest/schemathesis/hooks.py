"""What a JSON Schema cannot say about the requests of this API."""

import itertools
import os

import schemathesis
from schemathesis.core import NOT_SET

numbers = itertools.count()


@schemathesis.hook
def before_load_schema(context, raw_schema):
    for schema in raw_schema["components"]["schemas"].values():
        for member in schema["properties"].values():
            if "x-pattern" in member:
                member["pattern"] = member["x-pattern"]


@schemathesis.hook
def before_call(context, case, kwargs):
    """In requests that are meant to be valid, a sale ends after it begins, and has a unit for each segment; and no key is
    one of another request, also of another run: the administrators of all are one. Methods that an operation does not
    have come without its body, which nginx would refuse before it asks an instance (413)."""
    if case.method.upper() != case.operation.method.upper():
        case.body = NOT_SET
        return
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = f"{os.getpid()}-{next(numbers)}"
    if case.operation.label == "POST /coupons":
        if case.body.get("segments", 1) > max(1, case.body["stock"]):
            case.body = {**case.body, "segments": 1}
        begin, end = int(case.body["begin_time"][:4]), int(case.body["end_time"][:4])
        if end - begin < 2 or begin > 9990:  # else neither the zones nor an update can change the order
            case.body = {**case.body, **apart(case.body)}
    elif case.operation.label == "PATCH /coupons/{id}":
        case.body = {**case.body, **apart(case.body)}


def apart(body):
    """The times of a body in years that are far apart, and leap years as their days may need."""
    years = {"begin_time": "2000", "end_time": "9996"}
    return {name: year + body[name][4:] for name, year in years.items() if name in body}
