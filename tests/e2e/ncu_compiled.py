#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare the compiled part of ncu_report (reader/python/ncu_report/_fast.c) with the package without it: the same answers, errors,
docstrings and behavior of objects, over a generated report with each kind of value, and over those of Nsight Compute. Check that objects live
long enough, and no longer.
"""
import glob
import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import PRODUCTS, SRC, clean_env, fixtures, folder, main, run, tap  # noqa: E402

sys.path.insert(0, os.path.join(SRC, "reader/python"))
from libtrace_rules._encode import blob, real, text, whole  # noqa: E402

PACKAGE = os.path.join(SRC, "reader/python")
LIBRARY = os.path.join(PRODUCTS, "lib/libtrace/libtrace-reader.so")
REPORTS = sorted(glob.glob(os.path.join(fixtures("ncu"), "*.ncu-rep")))
PLACE = folder()
MADE = os.path.join(PLACE, "made.ncu-rep")


# ---- a report with each kind of value ----

def short(number):
    """Return the bytes of a value of ValueKind_FLOAT."""
    return b"\x15" + struct.pack("<f", number)


def value_texts():
    nan, inf = float("nan"), float("inf")
    return ([b"", text(1, "wörd"), text(1, ""), b"\x0a\x02\xff\xc3"] + [short(n) for n in (1.5, -1.5, nan, inf)]
            + [real(3, n) for n in (0.0, -0.0, 7.9, -7.9, -1e-300, 2.0 ** 63, 2.0 ** 64, -2.0 ** 64, 1e300, nan, inf, -inf)]
            + [whole(4, n) for n in (0, 1, (1 << 32) - 1)] + [whole(5, n) for n in (0, 1, 1 << 53 | 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)])


def report_make(path):
    """Write a report of one kernel, with metrics that have one value, and metrics with instances of all kinds: with keys, without keys, with keys of some."""
    values = value_texts()
    metrics = [blob(2, value) if value else b"" for value in values]
    instanced = [blob(2, value) for value in values]
    keyed = [blob(1, key) + blob(2, value) for key, value in zip(values[1:] + values[:1], values)]
    metrics += [b"".join(blob(3, one) for one in made) for made in (instanced, keyed, keyed[::-1], instanced[:1], keyed[1:2], keyed[-1:] + instanced)]
    metrics += [blob(2, whole(5, 9)) + metrics[-1], blob(2, text(1, "text")) + metrics[-2]]
    kernel = b"".join(whole(n, 1) for n in range(1, 5)) + text(5, "_Z4made") + text(6, "made") + text(7, "") + blob(10, whole(1, 2)) + blob(11, whole(1, 32))
    kernel += b"".join(blob(13, whole(1, i) + metric) for i, metric in enumerate(metrics)) + whole(22, 1)
    names = b"".join(text(1, f"made__{i}.sum") for i in range(len(metrics)))
    header = whole(1, 0) + whole(2, 1) + blob(4, names) + whole(5, 4 + len(kernel)) + blob(6, whole(1, 1)) + whole(7, 0)
    with open(path, "wb") as out:
        out.write(b"NVR\0" + struct.pack("<I", 2) + b"\x08\x07" + struct.pack("<I", len(header)) + header + struct.pack("<I", len(kernel)) + kernel)


# ---- one script, with and without the compiled part ----

def python(script, *arguments, compiled=True, **more):
    place = os.path.join(PLACE, "script.py")
    with open(place, "w", encoding="utf-8") as out:
        out.write(script)
    env = dict(clean_env(), PYTHONPATH=PACKAGE, LIBTRACE_READER=LIBRARY, PYTHONFAULTHANDLER="1", **more)
    return run([sys.executable, "-B", place, *arguments], env=dict(env, **({} if compiled else {"LIBTRACE_READER_COMPILED": "0"})), limit=120)


INDEXES = """
import json, sys
import ncu_report

class Index:
    def __index__(self): return 1
class Whole(int): pass
class Angry:
    def __ge__(self, other): raise KeyError("angry")
INDEXES = [None, *range(30), -1, -2, 10**6, 2**31, 2**32, 2**62, 2**63, 2**64, -2**31, -2**63, -2**63 - 1, -2**64, True, False, 1.0, 1.5, float("nan"),
           float("inf"), "1", b"1", [], (), Index(), Whole(1), Whole(2**70), Angry()]
METHODS = ("value", "as_double", "as_uint64", "as_string", "kind")
NONE = ("num_instances", "correlation_ids", "has_correlation_ids", "name", "unit", "description", "instances", "to_dict", "__str__", "__repr__")

def told(function, *arguments, **names):
    try:
        answer = function(*arguments, **names)
        return [type(answer).__name__, repr(answer)]
    except Exception as error:
        return [type(error).__name__, str(error)]

def of(metric):
    calls = [(getattr(metric, name), (index,)) for name in METHODS for index in INDEXES]
    calls += [(getattr(metric, name), arguments) for name in METHODS for arguments in ((), (0, 0), (0, 0, 0))]
    calls += [(getattr(type(metric), name), (who, 0)) for name in METHODS for who in (metric, None, 3)]
    calls += [(getattr(metric, name), arguments) for name in NONE for arguments in ((), (None,), (0,), (0, 0))]
    return ([told(function, *arguments) for function, arguments in calls] + [told(metric.value, idx=1), told(metric.value, instance=1), told(metric.as_double, instance=1),
            told(metric.as_uint64, instance=1), told(metric.as_uint64, 0, instance=1), told(type(metric).value), told(type(metric).as_double, instance=1)])

answers = {}
for action in ncu_report.load_report(sys.argv[1])[0]:
    for name in action:
        metric = action[name]
        metric.as_double(0), metric.as_uint64(0), metric.value(0)
        keys = metric.correlation_ids()
        answers[name] = [of(metric), of(keys) if keys else None]
json.dump([ncu_report.COMPILED, answers], sys.stdout)
"""


def indexes():
    results = [python(INDEXES, MADE, compiled=compiled) for compiled in (True, False)]
    if not tap.ok(not any(r.status for r in results), "all indexes are asked for", b"".join(r.err for r in results)[-2000:].decode()):
        return
    (compiled, with_it), (not_compiled, without) = (json.loads(r.out) for r in results)
    wrong = [f"{name} {i}: {a}, {b}" for name in without for some, others in zip(with_it[name], without[name])
             for i, (a, b) in enumerate(zip(some or (), others or ())) if a != b] + [name for name in without if list(map(bool, with_it[name])) != list(map(bool, without[name]))]
    tap.ok(compiled and not not_compiled and not wrong and len(without) == len(with_it) > 30,
           f"{sum(len(part or ()) for parts in without.values() for part in parts)} calls give and raise the same", "\n".join(wrong[:10]))


KIND = """
import copy, inspect, json, pickle, pydoc, sys, typing, weakref
import ncu_report
from ncu_report import IMetric, IMutableMetric

def told(function):
    try:
        return repr(function())
    except Exception as error:
        return type(error).__name__

class Own(IMetric):
    "With a value of its own."
    def value(self, idx=None):
        return 42 if idx is None else super().value(idx)

class Twice(IMetric):
    def as_double(self, instance=None):
        return 2 * super().as_double(instance)

action = ncu_report.load_report(sys.argv[1])[0][0]
names = action.metric_names()
metric = action["made__27.sum"]
own, twice = (kind(metric._result, metric._at, metric._name) for kind in (Own, Twice))
added = action.add_metric("mine")
added.set_double(IMetric.ValueKind_DOUBLE, 1.5)
added.set_uint64(0, IMetric.ValueKind_UINT64, 7)
added.mutable_correlation_ids().set_string(0, IMetric.ValueKind_STRING, "seven")
again = pickle.loads(pickle.dumps(added))
copied, deep = copy.copy(metric), copy.deepcopy(added)
methods = [name for name in dir(IMetric) if name[0] != "_" and callable(getattr(IMetric, name))]
strange = IMetric(None, 0, "strange")
wrong = [IMetric(metric._result, at, "wrong") for at in (-1, 10 ** 6)]
bare = IMetric.__new__(IMetric)
out = {
    "signatures": {name: str(inspect.signature(getattr(IMetric, name))) for name in methods},
    "bound": {name: str(inspect.signature(getattr(metric, name))) for name in methods},
    "hints": {name: str(sorted(typing.get_type_hints(getattr(IMetric, name), vars(ncu_report)).items())) for name in methods},
    "docs": {name: [inspect.getdoc(getattr(IMetric, name)), pydoc.render_doc(getattr(IMetric, name)).split("\\n", 1)[1]] for name in methods},
    "named": {name: [getattr(IMetric, name).__name__, getattr(IMetric, name).__qualname__, getattr(IMetric, name).__module__] for name in methods},
    "class": [IMetric.__doc__, IMetric.__module__, list(inspect.signature(IMetric).parameters), IMetric.__name__],
    "listed": [line for line in pydoc.plain(pydoc.render_doc(IMetric)).split("\\n") if line.startswith(" |  ") and "(self" in line and "__" not in line],
    "own": [own.value(), own.as_double(), own.as_uint64(), own.value(9), own.as_double(9), own.num_instances(), twice.as_double(9), metric.as_double(9)],
    "copied": [copied.value(9), copied.as_double(9), copied.name(), copied.num_instances(), type(copied).__name__, copied is metric],
    "again": [[m.value(), m.kind(), m.instances(), m.as_double(0), m.as_uint64(0), m.correlation_ids().value(0), m.name()] for m in (added, again, deep)],
    "raised": [told(lambda: pickle.dumps(metric)) in ("TypeError", "ValueError"), told(lambda: weakref.ref(metric)), told(lambda: setattr(metric, "x", 1)),
               told(lambda: metric.__dict__), told(strange.value), told(lambda: strange.as_double(0)), told(strange.num_instances), told(bare.value),
               told(lambda: bare.as_double(0)), told(bare.num_instances), told(lambda: IMetric()), told(lambda: IMetric(1)),
               told(lambda: wrong[1].value()), told(lambda: wrong[1].as_double(0)), told(lambda: wrong[1].num_instances())],
    "equal": [metric == action["made__27.sum"], metric == metric, isinstance(hash(metric), int), bool(metric), metric is action["made__27.sum"]],
    "types": [isinstance(metric, IMetric), issubclass(IMutableMetric, IMetric), type(metric.correlation_ids()) is IMetric, isinstance(metric.correlation_ids(), IMetric)],
}
json.dump(out, sys.stdout)
"""


def behavior():
    results = [python(KIND, MADE, compiled=compiled) for compiled in (True, False)]
    if not tap.ok(not any(r.status for r in results), "objects are looked at", b"".join(r.err for r in results)[-2000:].decode()):
        return
    with_it, without = (json.loads(r.out) for r in results)
    for part, wanted in without.items():
        tap.ok(with_it[part] == wanted and wanted, f"with and without the compiled part: {part}", f"{with_it[part]}\n{wanted}")


# ---- lifetimes ----

LIVES = """
import gc, random, sys, threading, tracemalloc, weakref
import ncu_report
from ncu_report import IMetric
from ncu_report._metric import MetricColumns
path = sys.argv[1]
assert ncu_report.COMPILED

def alive():
    gc.collect()
    return sum(isinstance(thing, MetricColumns) for thing in gc.get_objects())

def answers(metric):
    keys = metric.correlation_ids()
    return [repr((m.value(), [(m.value(i), m.as_double(i), m.as_uint64(i)) for i in range(-2, m.num_instances() + 2)])) for m in ([metric, keys] if keys else [metric])]

def outlive():
    report = ncu_report.load_report(path)
    kept = [report[0][0][name] for name in report[0][0]]
    wanted = [answers(metric) for metric in kept]
    keys = [metric.correlation_ids() for metric in kept]
    fresh = [ncu_report.load_report(path)[0][0][name] for name in report[0][0]]  # their reports are gone before anything is asked
    del report
    assert alive() == 1 + len(fresh)
    junk = [bytes(random.randrange(4096)) for _ in range(1000)]
    assert [answers(metric) for metric in kept] == wanted and [answers(metric) for metric in fresh] == wanted and len(junk) == 1000
    key = next(key for key in keys if key)
    del kept, fresh, keys
    before = answers(key)
    assert alive() == 1 and answers(key) == before

def cycles():
    class Own(IMetric):
        pass
    metric = ncu_report.load_report(path)[0][0]["made__27.sum"]
    own = Own(metric._result, metric._at, metric._name)
    own.me, own.method = own, own.value
    gone = weakref.ref(own)
    assert alive() == 1 and own.as_double(9) == metric.as_double(9)
    del own, metric
    assert alive() == 0 and gone() is None
    class Mark:
        pass
    mark, loop = Mark(), IMetric(None, 0, "x")
    gone, loop._result = weakref.ref(mark), [loop, mark]
    del mark, loop
    assert gc.collect() and gone() is None

def use(action, names):
    for name in names:
        metric = action[name]
        metric.as_double(0)
        answers(metric)
        for wrong in (2 ** 70, -2 ** 70, True, "1", 1.5, None, []):
            for method in (metric.value, metric.as_double, metric.as_uint64, metric.num_instances, metric.correlation_ids, IMetric.value):
                try:
                    method(wrong)
                except (TypeError, AttributeError):
                    pass
        IMetric(metric._result, 0, name, side=1).__init__(metric._result, 0, name)
        metric._result.show_metrics(0, 0, 0, 0)
        metric._result.show_instances(0, 0, 0, 0, 0)
        try:
            metric._result.show_instances(0, 0, 0, 0, b"")
        except TypeError:
            pass

def counts():
    action = ncu_report.load_report(path)[0][0]
    names = action.metric_names()
    held = [action["made__27.sum"]._result, names[0], IMetric, IMetric.value, IMetric.value.__wrapped__, ncu_report._metric._Keys]
    for _ in range(3):
        use(action, names)
    gc.collect()
    before = [sys.getrefcount(thing) for thing in held]
    tracemalloc.start()
    use(action, names)
    gc.collect()
    memory = tracemalloc.get_traced_memory()[0]
    for _ in range(30):
        use(action, names)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - memory
    assert [sys.getrefcount(thing) for thing in held] == before, before
    assert grown < 20000, grown
    del held, action
    gc.collect()
    memory = [tracemalloc.get_traced_memory()[0]]
    for _ in range(4):  # Python keeps some objects for later; the least of the arrays here, lost each time, would be 14,000 bytes in each round
        for _ in range(100):
            use(ncu_report.load_report(path)[0][0], names)
        gc.collect()
        memory.append(tracemalloc.get_traced_memory()[0])
    grown = [after - before for before, after in zip(memory, memory[1:])]
    assert alive() == 0 and min(grown) < 10000, grown

def threads():
    sys.setswitchinterval(1e-6)
    for _ in range(10):
        report, found, ready = ncu_report.load_report(path), [], threading.Barrier(4)
        def ask():
            action = report[0][0]
            ready.wait()
            found.append([answers(action[name]) for name in action])
        asking = [threading.Thread(target=ask) for _ in range(4)]
        [thread.start() for thread in asking]
        [thread.join() for thread in asking]
        assert len(found) == 4 and all(one == found[0] for one in found)

def hostile():
    from ncu_report._quick import Views, quick
    def refused(error, function, *arguments):
        try:
            function(*arguments)
        except error:
            return
        raise AssertionError((function, arguments))
    import array
    def at(kind, *numbers):
        kept.append(array.array(kind, numbers))
        return kept[-1].buffer_info()[0]
    kept = []
    nulls, kinds = at("Q", *[0] * 200), at("B", *[5] * 200)
    refused(TypeError, Views().show_metrics, b"1", 0, 0, 0)
    refused(TypeError, Views().show_metrics, 1, kinds, nulls)
    for many in (-1, -2 ** 63, 2 ** 60, 2 ** 61, 2 ** 63 - 1):
        refused(MemoryError, Views().show_metrics, many, kinds, nulls, nulls)
    views = Views()
    views.show_instances(0, 0, 0, 0, 0)  # of no metrics
    views = Views()
    views.show_metrics(2, kinds, nulls, at("I", 1, 2 ** 32 - 1))
    for many in (0, 1, 2, 100):
        refused(ValueError, views.show_instances, many, kinds, nulls, kinds, nulls)
    refused(MemoryError, views.show_instances, -1, kinds, nulls, kinds, nulls)
    views = Views()
    views.show_metrics(1, kinds, nulls, at("I", 2))
    refused(ValueError, views.show_instances, 3, kinds, nulls, kinds, nulls)
    views.show_instances(2, kinds, nulls, kinds, nulls)
    assert IMetric(views, 0, "x").as_uint64(1) == 0 and IMetric(views, 0, "x", 99).as_double(1) == 0.0 and IMetric(views, 0, "x", -3).value(1) == 0
    refused(AttributeError, IMetric(views, 1, "x").as_double, 0)  # no metric of it: Python's way, which these have not
    refused(ValueError, quick, len)
    refused(AttributeError, quick, 3)
    refused(TypeError, quick)

for test in sys.argv[2:]:
    globals()[test]()
print("done")
"""


def lives():
    for test, what in (("outlive", "metrics and keys outlive the report and what else was opened"), ("cycles", "cycles are collected"),
                       ("counts", "no reference and no memory is lost"), ("threads", "four threads ask one report"), ("hostile", "arrays that do not fit are refused")):
        result = python(LIVES, MADE, test)
        tap.ok(result.status == 0 and result.out == b"done\n", what, result.err.decode()[-1500:])


OTHER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import ncu_report
path = sys.argv[1]
def values():
    action = ncu_report.load_report(path)[0][0]
    return [action[name].as_double(i) for name in action for i in range(action[name].num_instances())]
before = values()
code = '''
try:
    import ncu_report
except ImportError as error:
    print("ctypes" in str(error) and "no ctypes there")
else:
    action = ncu_report.load_report({!r})[0][0]
    print(repr([action[name].as_double(i) for name in action for i in range(action[name].num_instances())]) == {!r})
'''.format(path, repr(before))
made = interpreters.create()
interpreters.run_string(made, code)
sys.stdout.flush()
interpreters.destroy(made)
assert repr(values()) == repr(before)
"""


def interpreters():
    result = python(OTHER, MADE)
    if b"No module named '_xxsubinterpreters'" in result.err or b"no ctypes there" in result.out:
        tap.skip("a second interpreter in the process", "this Python has none, or none with ctypes")
        return
    tap.ok(result.status == 0 and result.out == b"True\n", "a second interpreter in the process has the same answers, and the first keeps them", f"{result.out} {result.err.decode()[-500:]}")


SUMS = """
import hashlib, sys
import ncu_report
out = hashlib.sha256()
for action in ncu_report.load_report(sys.argv[1])[0]:
    for name in action:
        for metric in (action[name], action[name].correlation_ids()):
            if metric:
                out.update(repr([metric.value(), metric.as_double(), metric.as_uint64(), metric.instances()]
                                + [(metric.value(i), metric.as_double(i), metric.as_uint64(i), metric.kind(i)) for i in range(metric.num_instances() + 1)]).encode())
print(ncu_report.COMPILED, out.hexdigest())
"""


def real_reports():
    for path in REPORTS:
        with_it, without = (python(SUMS, path, compiled=compiled) for compiled in (True, False))
        tap.ok(with_it.out.startswith(b"True ") and with_it.out[4:] == without.out[5:] and without.out.startswith(b"False "),
               f"{os.path.basename(path)}: all values and instances are the same", f"{with_it} {without}")


if __name__ == "__main__":
    if not os.path.exists(LIBRARY) or os.environ.get("SAN"):
        tap.skip("the compiled part of ncu_report", "no libtrace-reader.so, or one with sanitizers, which Python cannot load")
        tap.finish()
    report_make(MADE)
    if python("import ncu_report; print(ncu_report.COMPILED)").out != b"True\n":
        tap.skip("the compiled part of ncu_report", "it was not built: no headers of this Python (python3-dev)")
        tap.finish()
    main(indexes, behavior, lives, interpreters, real_reports)
