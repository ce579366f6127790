"""PyTorch on an NVIDIA GPU: its own kernels, cuBLAS and cuDNN. `peer.py` tells what a library has to offer."""


class Library:
    KINDS = ("add", "attention", "convolution", "gemm", "reduce_rows", "softmax")

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("no NVIDIA GPU answers")
        # Products of FLOAT32 are of 32 bits, as the operators' are.
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.torch, self.version = torch, torch.__version__

    def more(self, kind, request):
        torch, parameters = self.torch, request["parameters"]
        inputs = given(kind, request)
        a, *others = [torch.from_numpy(it).cuda() for it in inputs]

        def by_heads(it):
            steps, elements = it.shape[-2:]
            return it.reshape(1, steps, parameters["heads"], elements // parameters["heads"]).transpose(1, 2)

        def attention():
            heads = map(by_heads, (a, *others))
            made = torch.nn.functional.scaled_dot_product_attention(*heads, scale=parameters["scale"])
            return made.transpose(1, 2).reshape(request["sizes"])

        def convolution():
            margin, stride, groups = (parameters[it] for it in ("margin", "stride", "groups"))
            return torch.nn.functional.conv2d(a, *others, stride=stride, padding=margin, groups=groups)

        function = {
            "add": lambda: torch.add(a, *others),
            "attention": attention,
            "convolution": convolution,
            "gemm": lambda: torch.matmul(a, *others),
            "reduce_rows": lambda: a.sum(-1, keepdim=True),
            "softmax": lambda: torch.softmax(a, -1),
        }[kind]

        def run():
            made = function()
            torch.cuda.synchronize()
            return made

        wanted, tolerance = (sum(inputs), 0) if kind == "add" else expected(kind, inputs, parameters)
        made = Prepared(run, expected=wanted.reshape(request["sizes"]), tolerance=tolerance)
        made.result = lambda: made.last.float().cpu().numpy()
        return made

    def prepare(self, kind, dtype, sizes, device):
        torch, (rows, columns) = self.torch, sizes[-2:]
        element = {"i1": "int8", "u1": "uint8", "f2": "float16", "f4": "float32", "f8": "float64"}
        options = {"dtype": getattr(torch, element[dtype]), "device": "cuda"}
        out = torch.full([rows, columns], 3, **options)

        def run():
            if sizes[:-2]:
                made = torch.eye(rows, columns, **options).expand(sizes).contiguous()
            else:
                made = torch.eye(rows, columns, out=out, **options)
            torch.cuda.synchronize()
            return made

        def before():
            out.fill_(3)
            torch.cuda.synchronize()

        made = Prepared(run, None, before)
        made.result = lambda: made.last.cpu().numpy()
        return made
