"""genai.py FOLDER: greedy decoding with SmolLM2-135M-Instruct by a stock onnxruntime-genai, on the device and on the CPU.

FOLDER has int4.onnx, as xtask/src/models/smollm2.py writes it. onnxruntime-genai gives a mask instead of lengths, from
which nodes like those of its own model builder compute the lengths. Prints the tokens, time and memory of each way of
decoding, every one in a process of its own, and fails where tokens differ.
"""

import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime_ep_dmlvk as ep
from onnx import TensorProto, helper, numpy_helper

from prompt import ANSWER, PROMPT

TOKENS = 16
LENGTH = 128
CPU = "CPU"


def with_mask(model):
    """The model with the input attention_mask in place of the two lengths."""
    graph = model.graph
    inputs = [it for it in graph.input if it.name not in ["seqlens_k", "total_sequence_length"]]
    inputs.insert(1, helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"]))
    del graph.input[:]
    graph.input.extend(inputs)
    for name, value in [("ones", [1]), ("one", 1)]:
        graph.initializer.append(numpy_helper.from_array(np.array(value, np.int64), name))
    steps = [
        ("ReduceSum", ["attention_mask", "ones"], "count", {"keepdims": 0}),
        ("Sub", ["count", "ones"], "last", {}),
        ("Cast", ["last"], "seqlens_k", {"to": TensorProto.INT32}),
        ("Shape", ["attention_mask"], "sizes", {}),
        ("Gather", ["sizes", "one"], "total", {"axis": 0}),
        ("Cast", ["total"], "total_sequence_length", {"to": TensorProto.INT32}),
    ]
    nodes = [helper.make_node(operator, read, [made], made, **attributes) for operator, read, made, attributes in steps]
    nodes += graph.node
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def config(model, shares):
    """What onnxruntime-genai has to know of the model."""
    caches = [it for it in model.graph.input if it.name.startswith("past")]
    groups, width = (caches[0].type.tensor_type.shape.dim[at].dim_value for at in [1, 3])
    attention = next(it for it in model.graph.node if it.op_type == "GroupQueryAttention")
    heads = next(it.i for it in attention.attribute if it.name == "num_heads")
    names = {"input_ids": "input_ids", "attention_mask": "attention_mask"}
    decoder = {
        "filename": "model.onnx",
        "head_size": width,
        "hidden_size": heads * width,
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "num_hidden_layers": len(caches) // 2,
        "inputs": names | {"past_key_names": "past.%d.key", "past_value_names": "past.%d.value"},
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
    }
    vocabulary = model.graph.output[0].type.tensor_type.shape.dim[2].dim_value
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    described = {"type": "llama", "vocab_size": vocabulary, "context_length": 1024, "decoder": decoder}
    search = {"max_length": LENGTH, "do_sample": False, "past_present_share_buffer": shares}
    return {"model": described | ids, "search": search}


def decode(folder, provider):
    """Decodes in this process."""
    import onnxruntime_genai as og

    chosen = og.Config(folder)
    chosen.clear_providers()
    if provider != CPU:
        og.register_execution_provider_library(provider, ep.get_library_path())
        chosen.append_provider(provider)
    model = og.Model(chosen)
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=LENGTH)
    generator = og.Generator(model, parameters)
    generator.append_tokens(PROMPT)
    tokens, seconds = [], []
    while len(tokens) < TOKENS and not generator.is_done():
        begin = time.perf_counter()
        generator.generate_next_token()
        seconds.append(time.perf_counter() - begin)
        tokens.append(int(generator.get_next_tokens()[0]))
    # The first token came with the prompt.
    middle, peak = statistics.median(seconds[1:]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"tokens": tokens, "token": middle, "resident": peak / 1024}


def in_process(folder, provider):
    command = [sys.executable, __file__, str(folder), provider]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def main():
    source, wrong = pathlib.Path(sys.argv[1]) / "int4.onnx", []
    model = with_mask(onnx.load(source))
    [provider] = ep.get_ep_names()
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/model.onnx")
        print("| Provider | Caches | Tokens | Token, ms | Peak RSS, MiB |\n|---|---|---|---|---|")
        answers = {}
        for shares in [True, False]:
            pathlib.Path(folder, "genai_config.json").write_text(json.dumps(config(model, shares)))
            for name in [CPU, provider]:
                found = in_process(folder, name)
                tokens = answers.setdefault(CPU, found["tokens"])
                where = f"{name}, {'one buffer' if shares else 'growing'}"
                numbers = [f"{found['token'] * 1e3:.0f}", f"{found['resident']:.0f}"]
                print("|", " | ".join([*where.split(", "), str(len(found["tokens"])), *numbers]), "|", flush=True)
                if found["tokens"] != tokens or tokens[: len(ANSWER)] != ANSWER:
                    wrong.append(f"{where}: {found['tokens']}, not {tokens}")
    sys.exit("\n".join(wrong) or 0)


if len(sys.argv) == 3:
    print(json.dumps(decode(*sys.argv[1:])))
else:
    main()
