"""decoding_peers.py FOLDER WEBGPU: SmolLM2-135M-Instruct by this provider, ONNX Runtime's WebGPU and its CPU in turn.

FOLDER has int4.onnx, as xtask/src/models/smollm2.py writes it, WEBGPU is the folder with the package onnxruntime-webgpu.
Each library is a process of its own, and they take turns: each runs a prompt of 128 tokens, three times, and then each
of 64 tokens. Caches of one size stay where the library computes, as past and as present. Prints a table of medians, and
fails where this provider's tokens differ from the CPU's.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

from prompt import PROMPT

TOKENS, PREFILL, TURNS = 64, 128, 3
SIZE = PREFILL + TOKENS
OWN, WEBGPU, CPU = "this provider", "WebGPU provider", "CPU provider"


def session(source, library):
    """The session of a library, and where its caches are."""
    import onnxruntime as ort

    if library == OWN:
        import graphs

        device = graphs.register()[0]
        return graphs.session(source, device, {"numerics": "fast"}), graphs.memory(device)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if library == CPU:
        return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"]), ("cpu", 0)
    return ort.InferenceSession(source, options, providers=["WebGpuExecutionProvider"], enable_fallback=0), ("gpu", 0, 0)


class Decoder:
    def __init__(self, source, library):
        import numpy as np
        import onnxruntime as ort

        self.np = np
        self.made, memory = session(source, library)
        shapes = {it.name: it.shape for it in self.made.get_inputs() if it.name.startswith("past")}
        make = lambda it: ort.OrtValue.ortvalue_from_numpy(np.zeros([1, it[1], SIZE, it[3]], "f"), *memory)
        self.caches = {name: make(shape) for name, shape in shapes.items()}
        self.length = 0

    def run(self, tokens):
        """The next token, and the seconds that it took."""
        self.length += len(tokens)
        np, begin, binding = self.np, time.perf_counter(), self.made.io_binding()
        binding.bind_cpu_input("input_ids", np.array([tokens]))
        binding.bind_cpu_input("seqlens_k", np.array([self.length - 1], np.int32))
        binding.bind_cpu_input("total_sequence_length", np.array(self.length, np.int32))
        for name, cache in self.caches.items():
            binding.bind_ortvalue_input(name, cache)
        for output in self.made.get_outputs():
            cache = self.caches.get(output.name.replace("present", "past"))
            binding.bind_ortvalue_output(output.name, cache) if cache else binding.bind_output(output.name)
        self.made.run_with_iobinding(binding)
        token = int(binding.get_outputs()[0].numpy()[0, -1].argmax())
        return token, time.perf_counter() - begin


def serve(source, library):
    """Answers the numbers of tokens on the standard input."""
    decoder, last = Decoder(source, library), None
    for line in sys.stdin:
        if line.strip() == "prompt":
            decoder.length, tokens = 0, (PROMPT * PREFILL)[:PREFILL]
        else:
            tokens = [last]
        last, seconds = decoder.run(tokens)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"token": last, "seconds": seconds, "resident": peak}), flush=True)


class Library:
    """A process that decodes."""

    def __init__(self, source, library, packages):
        folders = [packages] if library == WEBGPU else []
        path = os.pathsep.join([*folders, os.environ["PYTHONPATH"]])
        command = [sys.executable, __file__, str(source), library, "serve"]
        self.process = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        while line and not line.startswith("{"):
            line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process ended")
        return json.loads(line)


def main():
    folder, packages = sys.argv[1:]
    source = pathlib.Path(folder) / "int4.onnx"
    libraries = {name: Library(source, name, packages) for name in [OWN, WEBGPU, CPU]}
    found = {name: {"prompt": [], "next": [], "tokens": []} for name in libraries}
    # The first prompt and the first two tokens compile.
    for what in ["prompt", "next", "next"]:
        [it.ask(what) for it in libraries.values()]
    for what in ["prompt"] * TURNS + ["next"] * TOKENS:
        for name, library in libraries.items():
            answer = library.ask(what)
            found[name][what].append(answer["seconds"])
            found[name]["tokens"].append(answer["token"])
            found[name]["resident"] = answer["resident"]
    print("| Library | Prompt of 128, ms | Token, ms | Least, ms | Peak RSS, MiB | Same tokens as the CPU |\n" + "|---" * 6 + "|")
    for name, it in found.items():
        same = sum(a == b for a, b in zip(it["tokens"], found[CPU]["tokens"], strict=True))
        times = [statistics.median(it["prompt"]), statistics.median(it["next"]), min(it["next"])]
        cells = [f"{time * 1e3:.0f}" for time in times] + [f"{it['resident']:.0f}"]
        print("|", " | ".join([name, *cells, f"{same} of {len(it['tokens'])}"]), "|")
    for library in libraries.values():
        library.process.stdin.close()
    sys.exit("tokens differ from the CPU's" if found[OWN]["tokens"] != found[CPU]["tokens"] else 0)


if sys.argv[-1] == "serve":
    serve(*sys.argv[1:3])
else:
    main()
