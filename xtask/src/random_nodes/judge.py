"""Which library is right where they disagree: ONNX's text decides, and each case is named with its reason."""

import numpy as np

HALVED = "ONNX Runtime divides by scales of float16 in 32 bits; the text says the type of the scale"
ALIGNED = "ONNX Runtime rounds the resized length down first; the text and ONNX's own tests use size * scale"
CLAMPED = "ONNX Runtime interpolates beyond the border; the text takes the border's values there"

ONE_POINT = "ONNX Runtime puts the only point of a dimension in the middle; the reference at the first corner"
NO_DIMENSION = "ONNX Runtime takes a scalar for one dimension; the text says none, which differs from NumPy"

# Nodes for which ONNX's reference implementation decides, with what ONNX Runtime does otherwise.
REFERENCE = {
    "QuantizeLinear": [(HALVED, lambda node: node.inputs[1].values.dtype == np.float16)],
    "Resize": [
        (
            ALIGNED,
            lambda node: node.attributes.get("coordinate_transformation_mode") == "align_corners"
            and len(node.inputs) < 4,
        )
    ],
    "NonZero": [(NO_DIMENSION, lambda node: node.inputs[0].values.ndim == 0)],
    "AffineGrid": [(ONE_POINT, lambda node: node.attributes.get("align_corners") and 1 in node.inputs[1].values[2:])],
    "GridSample": [
        (
            CLAMPED,
            lambda node: node.attributes.get("mode") in ("cubic", "bicubic")
            and node.attributes.get("padding_mode") == "border",
        )
    ],
}

# Operators whose reference implementation is wrong, or lacks attributes, so that ONNX Runtime alone is asked:
# nodes that it does not run are drawn again.
WITHOUT_REFERENCE = {
    "AveragePool": "automatic pads with ceil_mode or fewer windows than elements",
    "BatchNormalization": "float16 is rounded after each operation",
    "ConvTranspose": "groups, and automatic pads",
    "Conv": "automatic pads of strides beyond the kernel",
    "GRU": "clip, directions and lengths of sequences",
    "GlobalAveragePool": "ranks other than 4",
    "GlobalLpPool": "ranks other than 4",
    "GlobalMaxPool": "ranks other than 4",
    "Hardmax": "versions before 13, which flatten",
    "LRN": "loops over batches instead of channels",
    "LSTM": "clip, directions and lengths of sequences",
    "LogSoftmax": "versions before 13, which flatten",
    "LpPool": "automatic pads, ceil_mode",
    "MaxPool": "automatic pads, ceil_mode, indices",
    "OneHot": "values lose digits, other depths than numbers",
    "QLinearConv": "scales of each filter",
    "RNN": "clip, directions and lengths of sequences",
    "ReduceSumSquare": "the type of the result",
    "RoiAlign": "places of samples",
    "Softmax": "versions before 13, which flatten",
    "Unsqueeze": "versions before 13 with axes out of order",
}

# Not drawn, because neither library has what the text says:
# - pooling and ConvTranspose with auto_pad SAME_* and strides beyond the window: ONNX Runtime and the reference
#   cut elements off for some operators and refuse others; here no pad is below 0, as in TensorFlow;
# - pooling with auto_pad SAME_* and dilations: ONNX Runtime computes the pads without dilations;
# - MaxPool with storage_order and equal numbers in a window: which of them is counted is nowhere said;
# - Resize with keep_aspect_ratio_policy and axes from the end: ONNX Runtime keeps all sizes;
# - Dropout's mask before version 12: ONNX Runtime gives false in inference, the reference true;
# - LSTM with clip: ONNX Runtime does not clip what `h` reads, the reference ignores clip;
# - Slice backwards with an end of the greatest integer: ONNX Runtime takes it for the beginning, as INT_MIN;
# - ReduceMean of no elements: undefined.


def reference_decides(node):
    """The reason why the reference implementation is right about this node, or None."""
    cases = REFERENCE.get(node.operator, [])
    return next((reason for reason, applies in cases if applies(node)), None)
