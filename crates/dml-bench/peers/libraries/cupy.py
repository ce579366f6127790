"""cupy.eye, and the memset of CUDA, on an NVIDIA GPU. `peer.py` tells what a library has to offer."""


class Library:
    def __init__(self):
        import cupy

        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise RuntimeError("no NVIDIA GPU answers")
        self.cupy, self.version = cupy, cupy.__version__

    def prepare(self, kind, dtype, sizes, device):
        cupy, (rows, columns) = self.cupy, sizes[-2:]
        synchronize = cupy.cuda.runtime.deviceSynchronize
        if kind == "cudaMemset":
            out = cupy.full(sizes, 3, dtype=dtype)

            def run():
                cupy.cuda.runtime.memset(out.data.ptr, 0, out.nbytes)
                synchronize()

            # Zeros are no identity: the caller is told that there is nothing to compare.
            return Prepared(run, lambda: None, lambda: (out.fill(3), synchronize()))

        def run():
            made = cupy.eye(rows, columns, dtype=dtype)
            if sizes[:-2]:
                made = cupy.ascontiguousarray(cupy.broadcast_to(made, sizes))
            synchronize()
            return made

        made = Prepared(run)
        made.result = lambda: made.last.get()
        return made
