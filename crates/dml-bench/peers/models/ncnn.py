"""Models on ncnn with Vulkan, with 32-bit storage and arithmetic. `whole.py` tells what it has to offer."""

import importlib.util
import os
import pathlib
import subprocess

PACKAGES = ("ncnn", "pnnx")
HALVES = ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage")
TYPES = {"float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "bool": "bool"}


def converted(file, inputs, work):
    """The text of the network and its weights, which pnnx makes."""
    # Its module imports gigabytes, its program needs none of them.
    [folder] = importlib.util.find_spec("pnnx").submodule_search_locations
    shapes = (f"[{','.join(map(str, it.shape))}]{TYPES[str(it.dtype)]}" for it in inputs)
    # It writes beside the model.
    (work / "model.onnx").symlink_to(file.resolve())
    pnnx = [pathlib.Path(folder) / "pnnx", "model.onnx", "fp16=0", f"inputshape={','.join(shapes)}"]
    ended = subprocess.run(pnnx, cwd=work)
    made = work / "model.ncnn.param", work / "model.ncnn.bin"
    if ended.returncode or not all(it.is_file() for it in made):
        raise ValueError("pnnx does not convert it")
    return made


def device_index(ncnn, name):
    for index in range(ncnn.get_gpu_count()):
        if ncnn.get_gpu_info(index).device_name().startswith(name):
            return index
    raise ValueError("it does not see this device")


def network(ncnn, file, inputs, device, work):
    text, weights = converted(file, inputs, work)
    types = {line.split()[0] for line in text.read_text().splitlines()[2:]}
    if unknown := sorted(it for it in types if ncnn.layer_to_index(it) < 0):
        raise ValueError(f"no such layers: {', '.join(unknown)}")
    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    net.opt.use_winograd_convolution = os.environ.get("DML_PEER_WINOGRAD") != "off"
    for option in HALVES:
        setattr(net.opt, f"use_{option}", False)
    net.set_vulkan_device(device_index(ncnn, device))
    if net.load_param(str(text)) or net.load_model(str(weights)):
        raise ValueError("it refuses what pnnx makes of it")
    # An input computes nothing.
    on_cpu = {it.type for it in net.layers() if not it.support_vulkan and it.type != "Input"}
    if on_cpu:
        raise ValueError(f"layers on the CPU: {', '.join(sorted(on_cpu))}")
    return net


def prepare(file, inputs, expected, device, work):
    import ncnn
    import numpy

    net = network(ncnn, file, inputs, device, work)
    # It has no dimension for batches, and no whole numbers of 64 bits.
    arrays = [it[0] if it.ndim > 1 and it.shape[0] == 1 else it for it in inputs]
    arrays = [it.astype("i4") if it.dtype == "i8" else it for it in arrays]
    arrays = [numpy.ascontiguousarray(it) for it in arrays]

    def run():
        extractor, results = net.create_extractor(), []
        for name, array in zip(net.input_names(), arrays):
            extractor.input(name, ncnn.Mat(array))
        for name, like in zip(net.output_names(), expected):
            code, result = extractor.extract(name)
            if code:
                raise ValueError(f"a run ends with {code}")
            result = numpy.array(result)
            results.append(result.reshape(like.shape) if result.size == like.size else result)
        return results

    return run
