"""IREE on Vulkan, compiled for its target vulkan-spirv. `peer.py` tells what a library has to offer."""

# Sums of products: which elements meet is in the maps, and the types are of what is read and written.
PRODUCTS = """
  {name} = linalg.generic {{
    indexing_maps = [{maps}],
    iterator_types = [{loops}]
  }} ins({x}, {y} : {of_x}, {of_y}) outs({sums} : {of_sums}) {{
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %more = arith.addf %sum, %product : f32
    linalg.yield %more : f32
  }} -> {of_sums}
"""

# Each reads `a`, and perhaps `b` and `c`, and writes `out`.
BODIES = {
    "gemm": """
  %fill = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %result = linalg.matmul ins(%a, %b : {a}, {b}) outs(%fill : {out}) -> {out}
""",
    "gemm_of_halves": """
  %single = tensor.empty() : {single}
  %fill = linalg.fill ins(%zero : f32) outs(%single : {single}) -> {single}
  %sums = linalg.matmul ins(%a, %b : {a}, {b}) outs(%fill : {single}) -> {single}
  %result = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  }} ins(%sums : {single}) outs(%empty : {out}) {{
  ^bb0(%sum: f32, %other: f16):
    %half = arith.truncf %sum : f32 to f16
    linalg.yield %half : f16
  }} -> {out}
""",
    "softmax": """
  %result = linalg.softmax dimension(1) ins(%a : {a}) outs(%empty : {out}) -> {out}
""",
    "reduce_rows": """
  %sums = tensor.empty() : tensor<{rows}xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%sums : tensor<{rows}xf32>) -> tensor<{rows}xf32>
  %reduced = linalg.reduce {{ arith.addf }}
    ins(%a : {a}) outs(%fill : tensor<{rows}xf32>) dimensions = [1]
  %result = tensor.expand_shape %reduced [[0, 1]] output_shape [{rows}, 1]
    : tensor<{rows}xf32> into {out}
""",
    "attention": """
  %all = tensor.empty() : {scores}
  %none = linalg.fill ins(%zero : f32) outs(%all : {scores}) -> {scores}
{products}
  %scale = arith.constant {scale:e} : f32
  %scaled = linalg.generic {{
    indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (h, i, j)>],
    iterator_types = ["parallel", "parallel", "parallel"]
  }} ins(%scores : {scores}) outs(%all : {scores}) {{
  ^bb0(%score: f32, %other: f32):
    %times = arith.mulf %score, %scale : f32
    linalg.yield %times : f32
  }} -> {scores}
  %shares = linalg.softmax dimension(2) ins(%scaled : {scores}) outs(%all : {scores}) -> {scores}
  %fill = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %result = linalg.batch_matmul ins(%shares, %c : {scores}, {c}) outs(%fill : {out}) -> {out}
""",
    "convolution": """
  %around = tensor.pad %a low[0, 0, {margin}, {margin}] high[0, 0, {margin}, {margin}] {{
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  }} : {a} to {around}
  %fill = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %result = linalg.conv_2d_nchw_fchw
    {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
    ins(%around, %b : {around}, {b}) outs(%fill : {out}) -> {out}
""",
    # The gates are i, o, f and c; their sums begin with what all inputs make of their weights.
    "lstm": """
  %one = arith.constant 1.0 : f32
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %steps = arith.constant {steps} : index
  %sequences = arith.constant {sequences} : index
  %all = tensor.empty() : {of_steps}
  %none = linalg.fill ins(%zero : f32) outs(%all : {of_steps}) -> {of_steps}
{of_inputs}
  %state = tensor.empty() : {state}
  %begin = linalg.fill ins(%zero : f32) outs(%state : {state}) -> {state}
  %ends:3 = scf.for %time = %first to %steps step %step
      iter_args(%hidden = %begin, %cell = %begin, %so_far = %empty) -> ({state}, {state}, {out}) {{
    %row = arith.muli %time, %sequences : index
    %now = tensor.extract_slice %of_inputs[%row, 0] [{sequences}, {width}] [1, 1]
      : {of_steps} to {of_step}
    {of_states}
    {gates}
    %next:2 = linalg.generic {{
      indexing_maps = [{same}, {same}, {same}, {same}, {same}, {same}, {same}],
      iterator_types = ["parallel", "parallel"]
    }} ins(%gate0, %gate1, %gate2, %gate3, %cell : {state}, {state}, {state}, {state}, {state})
       outs(%state, %state : {state}, {state}) {{
    ^bb0(%i: f32, %o: f32, %f: f32, %n: f32, %before: f32, %other: f32, %another: f32):
      {sigmoids}
      %new = math.tanh %n : f32
      %kept = arith.mulf %sigmoid_f, %before : f32
      %added = arith.mulf %sigmoid_i, %new : f32
      %after = arith.addf %kept, %added : f32
      %seen = math.tanh %after : f32
      %shown = arith.mulf %sigmoid_o, %seen : f32
      linalg.yield %shown, %after : f32, f32
    }} -> ({state}, {state})
    %more = tensor.insert_slice %next#0 into %so_far[%row, 0] [{sequences}, {hidden}] [1, 1]
      : {state} into {out}
    scf.yield %next#0, %next#1, %more : {state}, {state}, {out}
  }}
  %result = tensor.cast %ends#2 : {out} to {out}
""",
}

SIGMOID = """
      %minus_{it} = arith.negf %{it} : f32
      %power_{it} = math.exp %minus_{it} : f32
      %divisor_{it} = arith.addf %power_{it}, %one : f32
      %sigmoid_{it} = arith.divf %one, %divisor_{it} : f32
"""

GATE = """
    %gate{at} = tensor.extract_slice %sums[0, {first}] [{sequences}, {hidden}] [1, 1]
      : {of_step} to {state}
"""

MAIN = """
func.func @main({inputs}, %out: {out} {{iree.abi.output = 0 : index}}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {out}
{body}
  return %result : {out}
}}
"""

# Its usual target has no arithmetic on halves. This one has, and no size of subgroups that CPU drivers lack.
OF_HALVES = ["--iree-vulkan-target=valhall"]

# Kinds whose tensors are one matrix each.
MATRICES = ("gemm", "softmax", "reduce_rows")

SOURCE = """
func.func @add(%a: {t}, %b: {t}, %out: {t} {{iree.abi.output = 0 : index}}) -> {t} {{
  %sum = arith.addf %a, %b : {t}
  return %sum : {t}
}}
"""


def tensor(sizes, element="f32"):
    return "tensor<" + "x".join([*map(str, sizes), element]) + ">"


def products(name, operands, loops, places):
    """Adds `%x` times `%y` to `%sums`. Loops are letters, of which the last is that of the depth where
    it is no place of the sums; `places` has those of each operand."""
    (x, of_x), (y, of_y), (sums, of_sums) = operands
    maps = (f"affine_map<({', '.join(loops)}) -> ({', '.join(it)})>" for it in places)
    kinds = ('"parallel"' if it in places[2] else '"reduction"' for it in loops)
    types = {"of_x": of_x, "of_y": of_y, "of_sums": of_sums}
    text = {"name": name, "x": x, "y": y, "sums": sums, "maps": ", ".join(maps)}
    return PRODUCTS.format(**text, **types, loops=", ".join(kinds))


class Body:
    """What a kind of operator reads, as it is asked for here, and the text of its body."""

    def __init__(self, kind, inputs, parameters):
        self.parameters, self.result = parameters or {}, lambda found, sizes: found.reshape(sizes)
        # A tensor that is one matrix is that.
        self.inputs = [it.reshape(it.shape[-2:]) for it in inputs] if kind in MATRICES else inputs
        self.values, self.sizes = getattr(self, "of_" + kind)()
        self.element = "f16" if inputs[0].dtype == "f2" else "f32"
        names = dict(zip("abc", (tensor(it.shape, self.element) for it in self.inputs)))
        self.out = names["out"] = tensor(self.sizes, self.element)
        text = BODIES[kind if self.element == "f32" else kind + "_of_halves"]
        body = text.format(**{**names, **self.parameters, **self.values})
        arguments = ", ".join(f"%{it}: {names[it]}" for it in "abc"[: len(self.inputs)])
        self.source = MAIN.format(inputs=arguments, out=self.out, body=body)

    def of_gemm(self):
        a, b = self.inputs
        sizes = (a.shape[0], b.shape[1])
        return {"single": tensor(sizes)}, sizes

    def of_softmax(self):
        return {}, self.inputs[0].shape

    def of_reduce_rows(self):
        rows = self.inputs[0].shape[0]
        return {"rows": rows}, (rows, 1)

    def of_attention(self):
        self.inputs = [by_heads(it, self.parameters["heads"]) for it in self.inputs]
        self.result = lambda found, sizes: found.transpose(1, 0, 2).reshape(sizes)
        a, b, c = (tensor(it.shape) for it in self.inputs)
        heads, queries, _ = self.inputs[0].shape
        scores = tensor((heads, queries, self.inputs[1].shape[1]))
        operands = [("%a", a), ("%b", b), ("%none", scores)]
        made = products("%scores", operands, "hijk", ["hik", "hjk", "hij"])
        return {"scores": scores, "products": made}, self.inputs[2].shape

    def of_convolution(self):
        image, filters = self.inputs
        channels, size = image.shape[1:3]
        margin, stride, groups = (self.parameters[it] for it in ("margin", "stride", "groups"))
        around = size + 2 * margin
        width = (around - filters.shape[2]) // stride + 1
        if groups > 1:
            raise ValueError("there are no groups here")
        values = {"around": tensor((1, channels, around, around))}
        return values, (1, filters.shape[0], width, width)

    def of_lstm(self):
        inputs, weights, recurrence = self.inputs
        _, steps, sequences, elements = inputs.shape
        width, hidden = recurrence.shape[2:]
        self.inputs = [inputs.reshape(-1, elements), weights[0, 0], recurrence[0, 0]]
        a, b, c = (tensor(it.shape) for it in self.inputs)
        types = {
            "state": tensor((sequences, hidden)),
            "of_step": tensor((sequences, width)),
            "of_steps": tensor((steps * sequences, width)),
        }
        maps = ["ik", "jk", "ij"]
        of_inputs = [("%a", a), ("%b", b), ("%none", types["of_steps"])]
        of_states = [("%hidden", types["state"]), ("%c", c), ("%now", types["of_step"])]
        sizes = {"steps": steps, "sequences": sequences, "hidden": hidden, "width": width}
        gates = (GATE.format(at=at, first=at * hidden, **sizes, **types) for at in range(4))
        parts = {
            "of_inputs": products("%of_inputs", of_inputs, "ijk", maps),
            "of_states": products("%sums", of_states, "ijk", maps),
            "gates": "".join(gates),
            "sigmoids": "".join(SIGMOID.format(it=it) for it in ("i", "o", "f")),
            "same": "affine_map<(i, j) -> (i, j)>",
        }
        return {**parts, **types, **sizes}, (steps * sequences, hidden)


class Library:
    KINDS = tuple(BODIES)

    def __init__(self):
        from importlib import metadata

        import iree.compiler
        import iree.runtime
        import numpy

        self.np, self.compiler, self.runtime = numpy, iree.compiler, iree.runtime
        self.version = metadata.version("iree-base-compiler")

    def prepare(self, kind, dtype, sizes, device):
        """`add`: operands and result are on the device and stay there; nothing is allocated."""
        if (kind, dtype) != ("add", "f4"):
            raise ValueError(f"there is no {kind} of this type here")
        np, device = self.np, self.device(device)
        elements = np.arange(np.prod(sizes)).reshape(sizes)
        a, b = ((elements % modulus - 30).astype("f4") for modulus in (61, 59))
        source = SOURCE.format(t=tensor(sizes))
        made = self.compiled(device, source, "add", (a, b), np.full(sizes, 99, "f4"))
        made.expected = a + b
        return made

    def more(self, kind, request):
        """The same of other operators, with tensors as it has them."""
        inputs = given(kind, request)
        result, tolerance = expected(kind, inputs, request["parameters"])
        body = Body(kind, inputs, request["parameters"])
        other = self.np.full(body.sizes, 99, inputs[0].dtype)
        device = self.device(request["device"])
        made = self.compiled(device, body.source, "main", body.inputs, other)
        found, sizes = made.result, request["sizes"]
        made.result = lambda: body.result(found(), sizes)
        made.expected, made.tolerance = result.reshape(sizes), tolerance
        return made

    def compiled(self, device, source, name, inputs, other):
        """A call of a function, before which the output has what `other` has, which is no result."""
        np, runtime = self.np, self.runtime
        inputs = (*map(np.ascontiguousarray, inputs), other, other)
        on_device = [runtime.asdevicearray(device, it) for it in inputs]
        *arguments, _ = on_device
        options = OF_HALVES if other.dtype == "f2" else []
        binary = self.compiler.compile_str(
            source, target_backends=["vulkan-spirv"], input_type="none", extra_args=options
        )
        context = runtime.SystemContext(config=runtime.Config(device=device))
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
        function = context.modules.module[name]
        out, source = (array._buffer_view.get_buffer() for array in on_device[-2:])
        staging = device.allocator.allocate_buffer(
            memory_type=int(runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(runtime.BufferUsage.TRANSFER_TARGET | runtime.BufferUsage.MAPPING_SCOPED),
            allocation_size=out.byte_length(),
        )

        def read_back():
            # Its own `to_host` imports host memory, which it does not align as these drivers ask.
            self.copy(device, out, staging)
            return staging.map().asarray(other.shape, other.dtype)

        overwrite = lambda: self.copy(device, source, out)
        return Prepared(lambda: function(*arguments), read_back, overwrite)

    def device(self, name):
        driver = self.runtime.get_driver("vulkan")
        for info in driver.query_available_devices():
            if info["name"].startswith(name):
                return driver.create_device(info["device_id"])
        raise ValueError("it does not see this device")

    def copy(self, device, source, target):
        fence, semaphore = self.runtime.HalFence, device.create_semaphore(0)
        done = fence.create_at(semaphore, 1)
        device.queue_copy(
            source,
            target,
            wait_semaphores=fence.create_at(semaphore, 0),
            signal_semaphores=done,
        )
        done.wait()
