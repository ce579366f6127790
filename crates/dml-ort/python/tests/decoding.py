"""decoding.py FOLDER: greedy decoding with SmolLM2-135M-Instruct, on the device and by the CPU provider.

FOLDER has f32.onnx and int4.onnx, as xtask/src/models/smollm2.py writes them. Each model decodes 64 tokens with the CPU
provider, on the best device in several ways, and on every other device in the first of these, always in a process of
its own; of each way both models follow each other. Prints a table of times, memory and nodes, and fails where tokens differ from the CPU provider's, an answer does not begin as it should, or nodes other than the
arithmetic of shapes are not on the device.

Caches of keys and values grow by a token in each run, or have one size: then all runs of one token have the same shapes,
and the same total_sequence_length, so that the plug-in compiles one program for them.
"""

import collections
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import onnxruntime as ort

import graphs
from prompt import ANSWER, PROMPT

TOKENS = 64
MODELS = ["f32", "int4"]
CPU = "CPU provider"
# The size of caches that do not grow: the prompt and the answer.
FIXED = 128
# Numerics, and whether caches grow.
WAYS = [("exact", "growing"), ("exact", "fixed"), ("fast", "fixed")]


def steps(made, caches):
    """Decodes: for each token its id, and the seconds and CPU seconds of its run. The first run takes the prompt."""
    size = FIXED if caches == "fixed" else 0
    inputs = [it for it in made.get_inputs() if it.name.startswith("past")]
    past = {it.name: np.zeros([1, it.shape[1], size, it.shape[3]], np.float32) for it in inputs}
    tokens, length = PROMPT, 0
    for _ in range(TOKENS):
        length += len(tokens)
        feeds = {"input_ids": np.array([tokens]), "seqlens_k": np.array([length - 1], np.int32)}
        feeds |= {"total_sequence_length": np.array(max(size, length), np.int32), **past}
        start, busy = time.perf_counter(), time.process_time()
        logits, *present = made.run(None, feeds)
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        past = dict(zip(past, present, strict=True))
        tokens = [int(logits[0, -1].argmax())]
        yield tokens[0], seconds, busy


def decode(source, place, numerics, caches):
    """Decodes in this process; `place` is that of a device in the list, or -1 for the CPU provider."""
    begin = time.perf_counter()
    if place < 0:
        made, groups, others = ort.InferenceSession(source, providers=["CPUExecutionProvider"]), [], []
    else:
        made = graphs.session(source, graphs.register()[place], {"numerics": numerics})
        groups, others = graphs.assigned(made)
    created = time.perf_counter() - begin
    tokens, seconds, busy = zip(*steps(made, caches), strict=True)
    return {
        "tokens": tokens,
        "create": created,
        "prompt": seconds[0],
        "token": statistics.median(seconds[1:]),
        "busy": statistics.median(busy[1:]),
        "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "own": sum(map(len, groups)),
        "groups": len(groups),
        "others": others,
    }


def in_process(source, place, numerics, caches):
    command = [sys.executable, __file__, str(source), str(place), numerics, caches]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def row(name, where, found, same):
    others = collections.Counter(found["others"])
    listed = ", ".join(f"{count} {operator}" for operator, count in others.most_common())
    nodes = f"{found['own']} of {found['own'] + others.total()} in {found['groups']}" if found["groups"] else ""
    milliseconds = [f"{found[it] * 1e3:.0f}" for it in ["prompt", "token", "busy"]]
    cells = [name, where, f"{same} of {TOKENS}", f"{found['create']:.1f}", *milliseconds, f"{found['resident']:.0f}"]
    print("|", " | ".join([*cells, nodes, listed]), "|", flush=True)


def check(source, expected, place, device, way):
    """Decodes on a device and prints a row; what is wrong."""
    wrong, name, found = [], source.stem, in_process(source, place, *way)
    where = f"{device}, {way[0]}, {way[1]} caches"
    pairs = zip(found["tokens"], expected["tokens"], strict=True)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), TOKENS)
    row(name, where, found, same)
    if same < TOKENS:
        wrong.append(f"{name} on {where}: token {same} differs from the {CPU}'s")
    if missed := set(found["others"]) - graphs.ARITHMETIC:
        wrong.append(f"{name} on {where}: not on the device: {', '.join(sorted(missed))}")
    return wrong


def main():
    sources, wrong = [pathlib.Path(sys.argv[1]) / f"{name}.onnx" for name in MODELS], []
    devices = [it.ep_metadata["name"] for it in graphs.register()]
    print(", ".join(f"{it.name} has {it.stat().st_size / 2**20:.0f} MiB" for it in sources), end="\n\n")
    heads = ["Model", "Where", "Same tokens", "Session, s", "Prompt, ms", "Token, ms", "Token, CPU ms", "Peak RSS, MiB"]
    print("|", " | ".join([*heads, "Nodes in groups", "Others"]), "|\n" + "|---" * 10 + "|")
    answers = [in_process(source, -1, *WAYS[0]) for source in sources]
    for source, answer in zip(sources, answers, strict=True):
        row(source.stem, CPU, answer, TOKENS)
        if answer["tokens"][: len(ANSWER)] != ANSWER:
            wrong.append(f"{source.stem} by the {CPU}: answers {answer['tokens']}")
    for place, device in enumerate(devices):
        for way in WAYS if place == 0 else WAYS[:1]:
            for source, answer in zip(sources, answers, strict=True):
                wrong += check(source, answer, place, device, way)
    sys.exit("\n".join(wrong) or 0)


if len(sys.argv) == 5:
    print(json.dumps(decode(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])))
else:
    main()
