"""OpenVINO's Eye on the host. `peer.py` tells what a library has to offer."""

import sys


class Library:
    def __init__(self):
        # A benchmark tells nobody on the network that it ran.
        sys.modules["openvino_telemetry"] = None
        import numpy
        import openvino
        from openvino import opset9

        self.np, self.ov, self.opset = numpy, openvino, opset9
        self.version = openvino.__version__.split("-")[0]

    def prepare(self, kind, dtype, sizes, device):
        ov, opset = self.ov, self.opset
        element = {"i1": "i8", "u1": "u8", "f2": "f16", "f4": "f32", "f8": "f64"}[dtype]
        # The diagonal is a parameter: a constant one is folded when the model is compiled.
        diagonal = opset.parameter([1], dtype=self.np.int32)
        rows, columns = (opset.constant(size, dtype=self.np.int32) for size in sizes[-2:])
        arguments = [rows, columns, diagonal, element]
        if sizes[:-2]:
            arguments.append(opset.constant(sizes[:-2], dtype=self.np.int32))
        model = ov.Model([opset.eye(*arguments)], [diagonal])
        request = ov.Core().compile_model(model, "CPU").create_infer_request()
        value, out = self.np.zeros([1], self.np.int32), self.np.full(sizes, 3, dtype)
        request.set_input_tensor(ov.Tensor(value, shared_memory=True))
        request.set_output_tensor(ov.Tensor(out, shared_memory=True))
        # `value` is named so that it lives as long as the request, which only points to it.
        # By default Python is given a copy of the output.
        share = kind == "Eye_no_copy"
        run = lambda value=value: request.infer(share_outputs=share)
        return Prepared(run, lambda: out, lambda: out.fill(3))
