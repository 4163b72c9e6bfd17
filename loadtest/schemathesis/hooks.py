"""What a JSON Schema cannot say about the requests of this API."""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    """In bodies that are meant to be valid, a sale ends after it begins, and has a unit for each segment."""
    if case.operation.label != "POST /coupons" or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if case.body.get("segments", 1) > max(1, case.body["stock"]):
        case.body = {**case.body, "segments": 1}
    begin, end = case.body["begin_time"], case.body["end_time"]
    if int(end[:4]) - int(begin[:4]) < 2:  # else the zones cannot change the order
        case.body = {**case.body, "begin_time": "2000" + begin[4:], "end_time": "9996" + end[4:]}  # both are leap years
