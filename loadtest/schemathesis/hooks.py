"""What a JSON Schema cannot say about the requests of this API."""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    """A sale ends after it begins: make it so in bodies that are meant to be valid."""
    if case.operation.label != "POST /coupons" or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    begin, end = case.body["begin_time"], case.body["end_time"]
    if int(end[:4]) - int(begin[:4]) < 2:  # else the zones cannot change the order
        case.body = {**case.body, "begin_time": "2000" + begin[4:], "end_time": "9996" + end[4:]}  # both are leap years
