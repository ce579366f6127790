"""voice_activity.py MODEL FOLDER: whether ONNX Runtime finds the same probabilities of speech.

The folder has what the example heard and found. The model is called as its package `silero-vad` calls it.
"""

import pathlib
import sys

import numpy as np
import onnxruntime

CHUNK, CONTEXT = 512, 64
RATE = np.array(16_000, np.int64)


def main():
    model, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    audio, found = np.load(folder / "audio.npy"), np.load(folder / "probabilities.npy")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    state = np.zeros((2, 1, 128), np.float32)
    context = np.zeros((1, CONTEXT), np.float32)
    expected = []
    for chunk in audio[: audio.size // CHUNK * CHUNK].reshape(-1, 1, CHUNK):
        heard = np.concatenate([context, chunk], 1)
        probability, state = session.run(None, {"input": heard, "state": state, "sr": RATE})
        context = heard[:, -CONTEXT:]
        expected.append(probability.item())
    expected = np.array(expected, np.float32)
    if expected.min() > 0.1 or expected.max() < 0.9:
        raise SystemExit("ONNX Runtime finds speech everywhere or nowhere: this shows nothing")
    difference = np.abs(found - expected)
    wrong = np.flatnonzero(~(difference <= 1e-4 + 1e-3 * np.abs(expected)))
    if wrong.size:
        at = wrong[0]
        raise SystemExit(f"chunk {at}: {found[at]} is not ONNX Runtime's {expected[at]}; {wrong.size} such chunks")
    name = f"ONNX Runtime {onnxruntime.__version__}"
    print(f"{found.size} probabilities are those of {name}; the largest difference is {difference.max():.1e}")


main()
