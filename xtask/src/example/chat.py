"""chat.py MODEL FOLDER: whether ONNX Runtime's CPU provider decodes the same answer from the same prompt.

The folder has the tokens of the prompt and of the answer, as the example wrote them.
"""

import pathlib
import sys

import numpy as np
import onnxruntime

# "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
# "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n", by the package `tokenizers`
PROMPT = [1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712, 8182, 2]
PROMPT += [198, 1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]
# "The capital of France is Paris"
ANSWER = [504, 3575, 282, 4649, 314, 7042]
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
