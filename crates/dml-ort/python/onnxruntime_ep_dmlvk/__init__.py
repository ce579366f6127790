"""ONNX Runtime models on any Vulkan device: where the execution provider's library is."""

import ctypes
import pathlib


def get_library_path() -> str:
    """The path for onnxruntime.register_execution_provider_library."""
    return str(pathlib.Path(__file__).parent.resolve() / "libonnxruntime_dmlvk.so")


def get_ep_names() -> list[str]:
    """The names that the library's execution providers have in onnxruntime.get_ep_devices()."""
    return ["DmlVulkanExecutionProvider"]


def copied_bytes() -> tuple[int, int]:
    """The bytes that the library has copied from the host to devices, and from devices to the host, since it was loaded."""
    counters = (ctypes.c_uint64 * 2)()
    ctypes.CDLL(get_library_path()).DmlVkCopiedBytes(counters)
    return tuple(counters)
