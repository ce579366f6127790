"""Models on ONNX Runtime with WebGPU, which takes Vulkan here. `whole.py` tells what it has to offer."""

import ctypes
import json
import os

PACKAGES = ("onnxruntime-webgpu",)
PROVIDER = "WebGpuExecutionProvider"
DRIVERS = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")


def device_names():
    """What Vulkan's loader finds with the environment of now."""
    vulkan, instance, count = ctypes.CDLL("libvulkan.so.1"), ctypes.c_void_p(), ctypes.c_uint32()
    # VkInstanceCreateInfo, of which all but the type may be 0; VkPhysicalDeviceProperties has five numbers
    # before the name.
    info, properties = (ctypes.c_uint64 * 8)(1), ctypes.create_string_buffer(2048)
    if vulkan.vkCreateInstance(info, None, ctypes.byref(instance)):
        return []
    vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
    devices, names = (ctypes.c_void_p * count.value)(), []
    vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), devices)
    for device in devices:
        vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(device), properties)
        names.append(properties.raw[20 : 20 + 256].split(b"\0")[0].decode())
    vulkan.vkDestroyInstance(instance, None)
    return names


def show_only(device):
    """It takes any device: so there may be only one driver, with this device."""
    for driver in os.environ.get(DRIVERS[0], "").split(os.pathsep):
        if driver:
            os.environ.update(dict.fromkeys(DRIVERS, driver))
        names = device_names()
        if len(names) == 1 and names[0].startswith(device):
            return
    raise ValueError("it cannot be told which device to take")


def session(file, profile=None):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Without warnings of what exporters have left in models.
    options.log_severity_level = 3
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, str(profile)
    try:
        return onnxruntime.InferenceSession(file, options, providers=[PROVIDER], enable_fallback=0)
    except RuntimeError as error:
        if "WebGPU adapter" in str(error):
            raise ValueError("it finds no adapter") from error
        raise


def on_cpu(file, feeds, work):
    """Nodes that the CPU runs, and that make floats: whole numbers are mostly shapes, which belong there."""
    profiled = session(file, work / "profile")
    profiled.run(None, feeds)
    with open(profiled.end_profiling()) as events:
        nodes = [it["args"] for it in json.load(events) if it["cat"] == "Node"]
    others = (it for it in nodes if it.get("provider", PROVIDER) != PROVIDER)
    return {it["op_name"] for it in others if any("float" in kind for kind in it.get("output_type_shape", []))}


def prepare(file, inputs, expected, device, work):
    show_only(device)
    made = session(file)
    feeds = {it.name: tensor for it, tensor in zip(made.get_inputs(), inputs)}
    if others := on_cpu(file, feeds, work):
        raise ValueError(f"nodes on the CPU: {', '.join(sorted(others))}")
    return lambda: made.run(None, feeds)
