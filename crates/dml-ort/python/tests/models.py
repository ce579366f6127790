"""models.py FOLDER [NAME...]: models that others made, with the CPU provider for what does not run.

Prints a table: nodes on the device and in all, which others there are and why, the greatest difference to the
CPU provider's answer as a part of its greatest element.
"""

import collections
import pathlib
import sys

import numpy as np

import graphs

CONTROL = {"If", "Loop", "Scan"}
# Relative to the greatest element: networks with many layers add up the rounding of their operators.
TOLERANCE = 1e-3


def run(folder, device):
    source = str(folder / "model.onnx")
    made = graphs.session(source, device)
    data = folder / "test_data_set_0"
    feeds = {it.name: np.load(data / f"input_{i}.npy") for i, it in enumerate(made.get_inputs())}
    groups, others = graphs.assigned(made)
    answers = [made.run(None, feeds) for _ in range(2)]
    wanted, far = graphs.on_cpu(source, feeds), 0.0
    for found in answers:
        for a, b in zip(found, wanted, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), (a.dtype, a.shape, b.dtype, b.shape)
            a, b = a.astype("d"), b.astype("d")
            far = max(far, np.abs(a - b).max(initial=0) / max(1e-9, np.abs(b).max(initial=0)))
    return sum(groups, []), len(groups), collections.Counter(others), far


def explained(source, device, others):
    """The nodes that are not on the device, by the reason."""
    if not others:
        return ""
    why, groups = graphs.reasons(source, device), collections.defaultdict(list)
    for name, count in others.most_common():
        groups[why.get(name, "ONNX Runtime keeps it")].append(f"{count} {name}")
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in groups.items())


def main():
    folder, names, wrong = pathlib.Path(sys.argv[1]), sys.argv[2:], []
    device = graphs.register()[-1]
    print("| Model | On the device | Groups | The others | Difference |\n|---|---|---|---|---|")
    for path in sorted(folder.iterdir()):
        if names and path.name not in names:
            continue
        own, groups, others, far = run(path, device)
        listed = explained(str(path / "model.onnx"), device, others)
        print(f"| {path.name} | {len(own)} of {len(own) + others.total()} | {groups} | {listed} | {far:.1e} |", flush=True)
        computing = sum(name not in graphs.ARITHMETIC for name in own)
        missed = sum(count for name, count in others.items() if name not in graphs.ARITHMETIC | CONTROL)
        if not far <= TOLERANCE or computing < 0.9 * (computing + missed):
            wrong.append(path.name)
    sys.exit(f"too far, or too few nodes on the device: {', '.join(wrong)}" if wrong else 0)


main()
