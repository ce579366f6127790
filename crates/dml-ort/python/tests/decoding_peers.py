"""decoding_peers.py FOLDER WEBGPU: SmolLM2-135M-Instruct by this provider, ONNX Runtime's WebGPU and its CPU in turn.

FOLDER has int4.onnx, as xtask/src/models/smollm2.py writes it, WEBGPU is the folder with the package onnxruntime-webgpu.
Each library is a process of its own, and they take turns: each runs a prompt of 128 tokens, three times, and then each
of 64 tokens. Caches of one size stay where the library computes, as past and as present. Prints a table of medians, and
fails where this provider's tokens differ from the CPU's. Device memory is that of lavapipe, which has it in shared pages.
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
    """The session of a library, and where it computes."""
    import onnxruntime as ort

    if library == OWN:
        import graphs

        device = graphs.register()[0]
        return graphs.session(source, device, {"numerics": "fast"}), graphs.memory(device)[:2]
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if library == CPU:
        return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"]), ["cpu"]
    return ort.InferenceSession(source, options, providers=["WebGpuExecutionProvider"], enable_fallback=0), ["webgpu"]


class Decoder:
    def __init__(self, source, library):
        import numpy as np
        import onnxruntime as ort

        self.np = np
        self.made, memory = session(source, library)
        zeros = lambda it: ort.OrtValue.ortvalue_from_numpy(np.zeros([1, it[1], SIZE, it[3]], "f"))
        pasts = [it for it in self.made.get_inputs() if it.name.startswith("past")]
        # The first run leaves the caches where the library computes.
        self.caches, self.memory = {it.name: zeros(it.shape) for it in pasts}, memory
        self.length = 0

    def run(self, tokens):
        """The next token, and the seconds and CPU seconds that it took."""
        self.length += len(tokens)
        np, begin, busy = self.np, time.perf_counter(), time.process_time()
        binding = self.made.io_binding()
        binding.bind_cpu_input("input_ids", np.array([tokens]))
        binding.bind_cpu_input("seqlens_k", np.array([self.length - 1], np.int32))
        binding.bind_cpu_input("total_sequence_length", np.array(self.length, np.int32))
        for name, cache in self.caches.items():
            binding.bind_ortvalue_input(name, cache)
        logits, *presents = [it.name for it in self.made.get_outputs()]
        binding.bind_output(logits)
        for name in presents:
            if self.memory:
                binding.bind_output(name, *self.memory)
            else:
                binding.bind_ortvalue_output(name, self.caches[name.replace("present", "past")])
        self.made.run_with_iobinding(binding)
        if self.memory:
            self.caches = dict(zip(self.caches, binding.get_outputs()[1:], strict=True))
            self.memory = None
        token = int(binding.get_outputs()[0].numpy()[0, -1].argmax())
        return token, time.perf_counter() - begin, time.process_time() - busy


def device_memory():
    """The bytes that lavapipe has allocated and that were written, in MiB."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("RssShmem:")[1].split()[0]) / 1024


def serve(source, library):
    """Answers the numbers of tokens on the standard input."""
    decoder, last = Decoder(source, library), None
    for line in sys.stdin:
        if line.strip() == "prompt":
            decoder.length, tokens = 0, (PROMPT * PREFILL)[:PREFILL]
        else:
            tokens = [last]
        last, seconds, busy = decoder.run(tokens)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answer = {"token": last, "seconds": seconds, "busy": busy, "resident": peak, "device": device_memory()}
        print(json.dumps(answer), flush=True)


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
    found = {name: {"prompt": [], "next": [], "tokens": [], "resident": 0, "device": {}} for name in libraries}
    # The first prompt and the first two tokens compile.
    for what in ["prompt", "next", "next"]:
        [it.ask(what) for it in libraries.values()]
    for what in ["prompt"] * TURNS + ["next"] * TOKENS:
        for name, library in libraries.items():
            answer = library.ask(what)
            found[name][what].append((answer["seconds"], answer["busy"]))
            found[name]["tokens"].append(answer["token"])
            found[name]["resident"] = answer["resident"]
            found[name]["device"][what] = answer["device"]
    times = ["Prompt of 128, ms", "CPU ms", "Token, ms", "CPU ms"]
    memory = ["Peak RSS, MiB", "Device memory after prompts, MiB", "after tokens"]
    heads = ["Library", *times, *memory, "Tokens like the CPU's"]
    print("|", " | ".join(heads), "|\n" + "|---" * len(heads) + "|")
    for name, it in found.items():
        same = sum(a == b for a, b in zip(it["tokens"], found[CPU]["tokens"], strict=True))
        times = [statistics.median(turn) for what in ["prompt", "next"] for turn in zip(*it[what], strict=True)]
        memory = [it["resident"], *it["device"].values()]
        cells = [f"{time * 1e3:.0f}" for time in times] + [f"{bytes:.0f}" for bytes in memory]
        print("|", " | ".join([name, *cells, f"{same} of {len(it['tokens'])}"]), "|")
    for library in libraries.values():
        library.process.stdin.close()
    sys.exit("tokens differ from the CPU's" if found[OWN]["tokens"] != found[CPU]["tokens"] else 0)


if sys.argv[-1] == "serve":
    serve(*sys.argv[1:3])
else:
    main()
