"""Writes the tokens that ONNX Runtime's CPU provider answers to tokens.txt.

    DML_WRITE_DECODER=decoder.onnx cargo test -p dml-import --test long_decoding
    python record.py decoder.onnx
"""

import pathlib
import sys

import numpy
import onnxruntime

THREADS, STEPS = 4, 200
# Logits of other backends differ by less than 5e-6.
MARGIN = 2e-5
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
caches = [it.name for it in session.get_inputs() if it.name.startswith("past")]
margins = []


def prompt(length):
    return [(it * it + 5 * it + 3 * length) % 64 for it in range(length)]


def run(tokens, past):
    """The next token and the caches after these tokens."""
    before = past[0].shape[2]
    total = before + len(tokens)
    row = lambda numbers: numpy.array([list(numbers)], numpy.int64)
    inputs = {
        "input_ids": row(tokens),
        "position_ids": row(range(before, total)),
        "attention_mask": row([1] * total),
    }
    logits, *present = session.run(None, inputs | dict(zip(caches, past)))
    second, first = numpy.sort(logits[0, -1])[-2:]
    margins.append(first - second)
    return int(logits[0, -1].argmax()), present


empty = [numpy.zeros((1, 2, 0, 8), numpy.float32)] * len(caches)
lines = [[run(prompt(length), empty)[0] for length in range(1, STEPS + 1)]]
for thread in range(THREADS):
    token, past = run(prompt(7 + 9 * thread), empty)
    tokens = []
    for _ in range(STEPS):
        tokens.append(token)
        token, past = run([token], past)
    lines.append([*tokens, token])
print([len(set(line)) for line in lines], min(margins))
assert min(margins) > MARGIN, "rounding may decide between two tokens"
head = f"# Greedy tokens of onnxruntime {onnxruntime.__version__} on the CPU, see record.py: after prompts, then of each thread.\n"
text = head + "".join(" ".join(map(str, line)) + "\n" for line in lines)
pathlib.Path(__file__).with_name("tokens.txt").write_text(text)
