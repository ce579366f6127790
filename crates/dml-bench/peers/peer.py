"""One other library, measured on request: the part that all of them share.

Started as `python3 -c SCRIPT NAME MEANING SOURCE`, with the texts of `meaning.py` and of
`libraries/NAME.py`. The first line that it prints is {"version": ..} or {"error": ..}. Then each line
read is a request, each line printed its answer:

    {"prepare": NAME, "case": CASE, "type": "FLOAT32", "sizes": [4096, 4096], "inputs": [[4096, 4096], ..],
     "parameters": .., "device": DEVICE}                               -> {} or {"error": ..}
    {"run": NAME}                                                      -> {"ns": ..} or {"error": ..}

A run is timed here, and its result compared with the expected one after the time was taken.

The library is in a process of its own, which is stopped between requests: some have threads that
never sleep (IREE's on lavapipe), and what takes turns with them would get what they leave.

A library is a class `Library` with `version`, made once, and `prepare(kind, dtype, sizes, device)`,
which returns something `Prepared`. Libraries that use Vulkan take the device whose name begins with
`device`; for the others it has no meaning. One that has more than one kind of operator has `more(kind,
request)` as well, for those that it names in `KINDS`; the request has numpy's `dtype` too. What
`meaning.py` has is there for it.
"""

import gc
import json
import os
import signal
import sys
from time import perf_counter_ns

WARM_UP_RUNS = 3
# A run that takes this long needs no warm-up but the first run.
LONG_NS = 500_000_000


def numpy_type(name):
    return {"INT8": "i1", "UINT8": "u1", "FLOAT16": "f2", "FLOAT32": "f4", "FLOAT64": "f8"}[name]


class Prepared:
    """Something to run: `run()` is timed, `result()` is an array of numpy's.

    The result is compared with `expected`, from which it may differ by `tolerance` times the greatest of
    its elements; without one it has to be identity matrices.
    """

    def __init__(self, run, result=None, before=None, expected=None, tolerance=0):
        self.run = run
        self.last = None
        self.result = result or (lambda: self.last)
        self.before = before or (lambda: None)
        self.expected = expected
        self.tolerance = tolerance

    def timed(self):
        # The memory of the last run is freed before the clock starts.
        self.last = None
        self.before()
        start = perf_counter_ns()
        self.last = self.run()
        return perf_counter_ns() - start


def batches(sizes):
    count = 1
    for size in sizes[:-2]:
        count *= size
    return count


def check(prepared, sizes):
    """Raises where the last result is not the expected one."""
    result = prepared.result()
    if result is None:
        return
    import numpy

    if list(result.shape) != list(sizes):
        raise ValueError(f"its result has the shape {list(result.shape)}")
    if prepared.expected is not None:
        most = prepared.tolerance * numpy.abs(prepared.expected).max()
        if not (numpy.abs(result - prepared.expected) <= most).all():
            raise ValueError("its result is wrong")
        return
    ones = min(sizes[-2:]) * batches(sizes)
    diagonal = numpy.einsum("...ii->...i", result[..., : min(sizes[-2:]), : min(sizes[-2:])])
    # All ones where they belong, and nothing else anywhere.
    if not (diagonal == 1).all() or numpy.count_nonzero(result) != ones:
        raise ValueError("its result is wrong")


def load(name, meaning, source):
    # The library's own name is no name for this file, which imports it.
    names = {"Prepared": Prepared}
    exec(compile(meaning, "meaning.py", "exec"), names)
    exec(compile(source, f"libraries/{name}.py", "exec"), names)
    return names["Library"]()


def serve(requests, answers):
    """The process of the library."""

    def answer(value):
        print(json.dumps(value), file=answers, flush=True)

    try:
        library = load(*sys.argv[1:4])
    except Exception as error:
        return answer({"error": f"{type(error).__name__}: {error}"})
    answer({"version": library.version})
    made, case = {}, None
    for line in requests:
        request = json.loads(line)
        try:
            if "prepare" in request:
                name, sizes = request["prepare"], request["sizes"]
                # Objects of an earlier case are freed: a device of IREE's has threads that never sleep.
                if request["case"] != case:
                    made.clear()
                    gc.collect()
                    case = request["case"]
                kind = name.split(":")[1]
                dtype = request["dtype"] = numpy_type(request["type"])
                if kind in getattr(library, "KINDS", ()):
                    prepared = library.more(kind, request)
                else:
                    prepared = library.prepare(kind, dtype, sizes, request["device"])
                for _ in range(WARM_UP_RUNS):
                    time = prepared.timed()
                    check(prepared, sizes)
                    if time > LONG_NS:
                        break
                made[name] = prepared, sizes
                answer({})
            else:
                prepared, sizes = made[request["run"]]
                time = prepared.timed()
                check(prepared, sizes)
                answer({"ns": time})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]})


def pass_on(library, requests, answers):
    """Passes requests and answers on, and stops the library's process where it has nothing to do."""
    # The first line comes without a request.
    while line := answers.readline():
        os.kill(library, signal.SIGSTOP)
        print(line, end="", flush=True)
        request = sys.stdin.readline()
        if not request:
            break
        os.kill(library, signal.SIGCONT)
        print(request, end="", file=requests, flush=True)


def main():
    requests, answers = os.pipe(), os.pipe()
    library = os.fork()
    if library == 0:
        os.close(requests[1])
        # Whatever a library prints must not be taken for an answer, and it has nothing to read.
        os.dup2(2, 1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        serve(os.fdopen(requests[0]), os.fdopen(answers[1], "w"))
        # Libraries are not shut down: some crash then.
        os._exit(0)
    os.close(requests[0])
    os.close(answers[1])
    try:
        pass_on(library, os.fdopen(requests[1], "w"), os.fdopen(answers[0]))
    finally:
        os.kill(library, signal.SIGKILL)
        os.waitpid(library, 0)


main()
