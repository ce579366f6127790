"""decoding.py FOLDER: greedy decoding with SmolLM2-135M-Instruct, on the device and by the CPU provider.

FOLDER has f32.onnx and int4.onnx, as xtask/src/models/smollm2.py writes them. Each model decodes 64 tokens with the CPU
provider, and on each device with exact and with fast numerics, in a process of its own. Prints a table of times, memory
and nodes, and fails where tokens differ from the CPU provider's, an answer does not begin as it should, or nodes other
than the arithmetic of shapes are not on the device.
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

# "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
# "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
PROMPT = [1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712, 8182, 2]
PROMPT += [198, 1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]
# "The capital of France is Paris"
ANSWER = [504, 3575, 282, 4649, 314, 7042]
TOKENS = 64
MODELS = ["f32", "int4"]
CPU = "CPU provider"


def steps(made):
    """Decodes: for each token its id, and the seconds of the run that gave it. The first run takes the prompt."""
    past = {it.name: np.zeros([1, it.shape[1], 0, it.shape[3]], np.float32) for it in made.get_inputs() if "past" in it.name}
    tokens, length = PROMPT, 0
    for _ in range(TOKENS):
        length += len(tokens)
        feeds = {"input_ids": np.array([tokens]), "seqlens_k": np.array([length - 1], np.int32)}
        feeds |= {"total_sequence_length": np.array(length, np.int32), **past}
        start = time.perf_counter()
        logits, *present = made.run(None, feeds)
        seconds = time.perf_counter() - start
        past = dict(zip(past, present, strict=True))
        tokens = [int(logits[0, -1].argmax())]
        yield tokens[0], seconds


def decode(source, device, numerics):
    """What one process finds, as JSON: `device` is the place of a device in the list, or -1 for the CPU provider."""
    begin = time.perf_counter()
    if device < 0:
        made, groups, others = ort.InferenceSession(source, providers=["CPUExecutionProvider"]), [], []
    else:
        made = graphs.session(source, graphs.register()[device], {"numerics": numerics})
        groups, others = graphs.assigned(made)
    created = time.perf_counter() - begin
    tokens, seconds = zip(*steps(made), strict=True)
    return {
        "tokens": tokens,
        "create": created,
        "prompt": seconds[0],
        "token": statistics.median(seconds[1:]),
        "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "own": sum(map(len, groups)),
        "groups": len(groups),
        "others": others,
    }


def in_process(source, device, numerics):
    command = [sys.executable, __file__, str(source), str(device), numerics]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def row(name, where, found, same):
    others = collections.Counter(found["others"])
    listed = ", ".join(f"{count} {operator}" for operator, count in others.most_common())
    nodes = f"{found['own']} of {found['own'] + others.total()} in {found['groups']}" if found["groups"] else ""
    times = f"{found['create']:.1f} | {found['prompt'] * 1e3:.0f} | {found['token'] * 1e3:.1f}"
    print(f"| {name} | {where} | {same} of {TOKENS} | {times} | {found['resident']:.0f} | {nodes} | {listed} |", flush=True)


def main():
    folder, wrong = pathlib.Path(sys.argv[1]), []
    devices = [it.ep_metadata["name"] for it in graphs.register()]
    sizes = {name: (folder / f"{name}.onnx").stat().st_size for name in MODELS}
    print(", ".join(f"{name}.onnx has {size / 2**20:.0f} MiB" for name, size in sizes.items()))
    print("\n| Model | Where | Same tokens | Session, s | Prompt, ms | Token, ms | Peak RSS, MiB | Nodes in groups | Others |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in MODELS:
        source = folder / f"{name}.onnx"
        expected = in_process(source, -1, "exact")
        row(name, CPU, expected, TOKENS)
        if expected["tokens"][: len(ANSWER)] != ANSWER:
            wrong.append(f"{name} by the {CPU}: answers {expected['tokens']}")
        for place, device in enumerate(devices):
            for numerics in ["exact", "fast"]:
                found = in_process(source, place, numerics)
                pairs = zip(found["tokens"], expected["tokens"], strict=True)
                same = next((at for at, (a, b) in enumerate(pairs) if a != b), TOKENS)
                row(name, f"{device}, {numerics}", found, same)
                if same < TOKENS:
                    wrong.append(f"{name} on {device}, {numerics}: token {same} differs from the {CPU}'s")
                if missed := set(found["others"]) - graphs.ARITHMETIC:
                    wrong.append(f"{name} on {device}, {numerics}: not on the device: {', '.join(sorted(missed))}")
    sys.exit("\n".join(wrong))


if len(sys.argv) == 4:
    print(json.dumps(decode(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
else:
    main()
