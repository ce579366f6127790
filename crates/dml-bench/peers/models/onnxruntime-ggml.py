"""Models on ONNX Runtime with ggml, which takes Vulkan here. `whole.py` tells what it has to offer.

It keeps weights as halves: what it computes is less exact than what it is compared with.
"""

PACKAGES = ("onnxruntime-ggml",)


def prepare(file, inputs, expected, device, work):
    import onnxruntime_ggml

    session = onnxruntime_ggml.InferenceSession(str(file), {"device": "gpu"})
    feeds = {it.name: tensor for it, tensor in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feeds)
