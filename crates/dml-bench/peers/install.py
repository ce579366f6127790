"""Installs libraries to be compared with: `python3 install.py FOLDER NAME..`, of which there are requirements.

Each library has a folder of its own, made with pip's `--target`: that needs no virtual environment
and is allowed where the system's Python is managed by its distribution. What cannot be had is said,
here and in the report: its reason is left in a file that the benchmark reads.
"""

import shutil
import subprocess
import sys
from pathlib import Path

# The fixed versions of each library's packages.
REQUIREMENTS = Path(__file__).parent / "requirements"
# Packages that need an NVIDIA GPU and take gigabytes.
FOR_NVIDIA_GPUS = ("cupy", "torch")
# A program in a package whose Python modules ask for gigabytes.
ALONE = ("pnnx",)
OPTIONS = ("--quiet", "--disable-pip-version-check", "--only-binary", ":all:")


def has_nvidia_gpu():
    program = shutil.which("nvidia-smi")
    return program and subprocess.run([program, "-L"], capture_output=True).returncode == 0


def install(name, requirements, folder):
    if name in FOR_NVIDIA_GPUS and not has_nvidia_gpu():
        raise OSError("no NVIDIA GPU answers")
    target, stamp = folder / name, folder / f"{name}.stamp"
    wanted = requirements.read_text()
    if target.is_dir() and stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"peers: installing {name}", file=sys.stderr)
    stamp.unlink(missing_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", *OPTIONS, *(["--no-deps"] if name in ALONE else [])]
    subprocess.run([*pip, "--target", target, "-r", requirements], check=True)
    stamp.write_text(wanted)


def main(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        requirements = REQUIREMENTS / f"{name}.txt"
        missing = folder / f"{name}.missing"
        missing.unlink(missing_ok=True)
        try:
            install(name, requirements, folder)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"peers: {name} could not be had: {error}", file=sys.stderr)
            missing.write_text(f"{error}\n")


main(Path(sys.argv[1]), sys.argv[2:])
