"""Packs a wheel: pack.py FOLDER SOURCES LIBRARY VERSION TAG prints its name."""

import base64, hashlib, pathlib, sys, zipfile

folder, sources, library = map(pathlib.Path, sys.argv[1:4])
version, tag = sys.argv[4:]
module, info = "onnxruntime_ep_dmlvk", f"onnxruntime_ep_dmlvk-{version}.dist-info"
metadata = f"""Metadata-Version: 2.4
Name: onnxruntime-ep-dmlvk
Version: {version}
Summary: ONNX Runtime execution provider for any Vulkan device
License-Expression: MIT OR Apache-2.0
Requires-Python: >=3.10
Description-Content-Type: text/markdown

{(sources / "README.md").read_text()}"""
wheel = f"Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n"
root = sources.parents[2]
files = {
    f"{module}/__init__.py": (sources / module / "__init__.py").read_bytes(),
    f"{module}/{library.name}": library.read_bytes(),
    f"{info}/METADATA": metadata.encode(),
    f"{info}/WHEEL": wheel.encode(),
    **{f"{info}/licenses/{it}": (root / it).read_bytes() for it in ("LICENSE-APACHE", "LICENSE-MIT")},
}


def line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


record = "".join(line(*it) for it in files.items()) + f"{info}/RECORD,,\n"
name = f"{module}-{version}-{tag}.whl"
with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
    for path, data in {**files, f"{info}/RECORD": record.encode()}.items():
        entry = zipfile.ZipInfo(path)
        entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
        archive.writestr(entry, data)
print(name)
