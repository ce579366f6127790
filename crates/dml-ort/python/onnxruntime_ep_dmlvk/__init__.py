"""ONNX Runtime models on any Vulkan device: where the execution provider's library is."""

import pathlib


def get_library_path() -> str:
    """The path for onnxruntime.register_execution_provider_library."""
    return str(pathlib.Path(__file__).parent.resolve() / "libonnxruntime_dmlvk.so")


def get_ep_names() -> list[str]:
    """The names that the library's execution providers have in onnxruntime.get_ep_devices()."""
    return ["DmlVulkanExecutionProvider"]
