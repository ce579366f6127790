"""file_types.py ANSWERS: whether Magika says the same of the files, as its package reads and classifies them.

Each line of the answers is what the example printed of a file.

The model takes variances from differences of large sums, so that ONNX Runtime itself has two scores for a file:
by itself, and among others. They are up to 5e-3 apart for files that are padding for the most part. What is
found may be as far from them as they are from each other, beside the tolerance for models.
"""

import collections
import pathlib
import sys

import onnxruntime
from magika import Magika


def main():
    answers = pathlib.Path(sys.argv[1]).read_text().splitlines()
    found = dict(line.rsplit(": ", 1) for line in answers)
    magika = Magika()
    labels, largest = collections.Counter(), 0.0
    for (path, answer), together in zip(found.items(), magika.identify_paths(list(found))):
        alone, together = magika.identify_path(path).prediction, together.prediction
        label = str(alone.dl.label)
        labels[label] += 1
        if answer == "too short to tell":
            if label != "undefined":
                raise SystemExit(f"{path}: too short to tell; Magika says {label}")
            continue
        given, score = answer.split()
        difference = min(abs(float(score) - it.score) for it in (alone, together))
        allowed = 1e-4 + 1e-3 * alone.score + abs(alone.score - together.score)
        if given != label or not difference <= allowed:
            expected = f"{label} {alone.score:.6f}, and among others {together.score:.6f}"
            raise SystemExit(f"{path}: {answer}; Magika says {expected}")
        largest = max(largest, difference)
    most = ", ".join(f"{count} {label}" for label, count in labels.most_common(6))
    name = f"ONNX Runtime {onnxruntime.__version__}"
    print(f"{len(found)} files have the types that Magika finds with {name}: {most}, ...")
    print(f"the largest difference of scores is {largest:.1e}")


main()
