"""train.py ANSWERS: whether NumPy, in double precision, gets the losses that the example printed.

The same generator gives the points and the first parameters, and the steps are those of the example's graph.
"""

import pathlib
import sys

import numpy as np

BATCH, BATCHES, STEPS, SHOWN = 64, 8, 250, 25
FEATURES, HIDDEN, CLASSES = 2, 32, 3
PARAMETERS = [(FEATURES, HIDDEN, 1.0), (1, HIDDEN, 0.5), (HIDDEN, CLASSES, 0.25), (1, CLASSES, 0.0)]
# As single precision has them.
RATE, BETA1, BETA2, EPSILON = map(float, np.float32([0.01, 0.9, 0.999, 1e-7]))


def numbers():
    state = 1
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 40) / 2**23 - 1


def log_softmax(x):
    x = x - x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def forward(features, parameters):
    before = features @ parameters[0] + parameters[1]
    hidden = np.maximum(before, 0)
    return before, hidden, hidden @ parameters[2] + parameters[3]


def gradients(features, classes, parameters):
    before, hidden, last = forward(features, parameters)
    logarithms = log_softmax(last)
    of_last = (np.exp(logarithms) - classes) / BATCH
    of_before = of_last @ parameters[2].T * (before > 0)
    of_first = [features.T @ of_before, of_before.sum(0, keepdims=True)]
    of_second = [hidden.T @ of_last, of_last.sum(0, keepdims=True)]
    return -(logarithms * classes).sum() / BATCH, of_first + of_second


def main():
    answers = pathlib.Path(sys.argv[1]).read_text().splitlines()
    number = numbers()
    count = BATCH * BATCHES
    features = np.array([next(number) for _ in range(count * FEATURES)]).reshape(count, FEATURES)
    distance = (features**2).sum(1)
    class_of = (distance > 0.25).astype(int) + (distance > 0.75)
    classes = np.eye(CLASSES)[class_of]
    parameters = [
        np.array([next(number) * scale for _ in range(rows * columns)]).reshape(rows, columns)
        for rows, columns, scale in PARAMETERS
    ]
    first = [np.zeros_like(it) for it in parameters]
    second = [np.zeros_like(it) for it in parameters]
    expected = []
    for step in range(1, STEPS + 1):
        batch = slice((step - 1) % BATCHES * BATCH, ((step - 1) % BATCHES + 1) * BATCH)
        loss, slopes = gradients(features[batch], classes[batch], parameters)
        rate = RATE * np.sqrt(1 - BETA2**step) / (1 - BETA1**step)
        for at, slope in enumerate(slopes):
            first[at] = BETA1 * first[at] + (1 - BETA1) * slope
            second[at] = BETA2 * second[at] + (1 - BETA2) * slope**2
            parameters[at] = parameters[at] - rate * first[at] / (np.sqrt(second[at]) + EPSILON)
        if step % SHOWN == 0:
            expected.append(f"step {step:3}  loss {loss:.4f}")
    right = (forward(features, parameters)[2].argmax(1) == class_of).sum()
    expected.append(f"{right} of {count} points are classified rightly")
    for found, wanted in zip(answers, expected, strict=True):
        if found != wanted:
            raise SystemExit(f"{found}; NumPy says {wanted}")
    print(f"these are the digits of NumPy {np.__version__}")


main()
