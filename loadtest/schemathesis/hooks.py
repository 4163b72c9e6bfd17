"""What a JSON Schema cannot say about the requests of this API."""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    """In bodies that are meant to be valid, a sale ends after it begins, and has a unit for each segment."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
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
