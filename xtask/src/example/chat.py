"""chat.py MODEL FOLDER: whether ONNX Runtime's CPU provider decodes the same answer from the same prompt.

The folder has the tokens of the prompt and of the answer, as the example wrote them.
"""

import pathlib
import sys

import numpy as np
import onnxruntime

from prompt import ANSWER, PROMPT

END = 2


def decoded(model, count):
    """The first tokens of the answer."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    caches = [it for it in session.get_inputs() if it.name.startswith("past")]
    past = {it.name: np.zeros([1, it.shape[1], 0, it.shape[3]], np.float32) for it in caches}
    tokens, length = PROMPT, 0
    for _ in range(count):
        length += len(tokens)
        feeds = {"input_ids": np.array([tokens]), "seqlens_k": np.array([length - 1], np.int32)}
        feeds |= {"total_sequence_length": np.array(length, np.int32), **past}
        logits, *present = session.run(None, feeds)
        past = dict(zip(past, present, strict=True))
        tokens = [int(logits[0, -1].argmax())]
        yield tokens[0]


def main():
    model, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    prompt, answer = (np.load(folder / f"{name}.npy").tolist() for name in ["prompt", "answer"])
    if prompt != PROMPT:
        raise SystemExit(f"the prompt is {prompt}, not {PROMPT}")
    if answer[: len(ANSWER)] != ANSWER:
        raise SystemExit(f"the answer {answer} does not begin with {ANSWER}")
    expected = list(decoded(model, len(answer) + 1))
    if [*answer, END] != expected:
        raise SystemExit(f"the answer is {answer}, not {expected} as by ONNX Runtime")
    print(f"{len(answer)} tokens and the end are those of ONNX Runtime {onnxruntime.__version__}")


main()
