//! Other libraries for `bench --peers`: Python packages in fixed versions, below `target/peers`.
//!
//! Each library has a folder of its own, made with pip's `--target`: that needs no virtual
//! environment and is allowed where the system's Python is managed by its distribution. What cannot
//! be had is said, here and in the report: its reason is left in a file that the benchmark reads.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::process::find_program;
use crate::{apt, workspace};

/// A library and the file that pins its packages.
struct Peer {
    name: &'static str,
    requirements: &'static str,
    /// Of no use without one, and gigabytes.
    needs_nvidia_gpu: bool,
}

const fn cpu(name: &'static str, requirements: &'static str) -> Peer {
    Peer { name, requirements, needs_nvidia_gpu: false }
}

const fn gpu(name: &'static str, requirements: &'static str) -> Peer {
    Peer { name, requirements, needs_nvidia_gpu: true }
}

const PEERS: [Peer; 6] = [
    cpu("numpy", include_str!("../../crates/dml-bench/peers/requirements/numpy.txt")),
    cpu("onnxruntime", include_str!("../../crates/dml-bench/peers/requirements/onnxruntime.txt")),
    cpu("openvino", include_str!("../../crates/dml-bench/peers/requirements/openvino.txt")),
    cpu("jax", include_str!("../../crates/dml-bench/peers/requirements/jax.txt")),
    gpu("torch", include_str!("../../crates/dml-bench/peers/requirements/torch.txt")),
    gpu("cupy", include_str!("../../crates/dml-bench/peers/requirements/cupy.txt")),
];

/// Installs what is missing and returns the folder.
pub(crate) fn make_sure(sh: &Shell) -> Result<PathBuf> {
    let folder = workspace::root().join("target/peers");
    sh.create_dir(&folder)?;
    let mut pip = None;
    for peer in &PEERS {
        let missing = folder.join(format!("{}.missing", peer.name));
        sh.remove_path(&missing)?;
        if let Err(error) = install(sh, &folder, peer, &mut pip) {
            eprintln!("peers: {} could not be had: {error:#}", peer.name);
            sh.write_file(&missing, format!("{error:#}\n"))?;
        }
    }
    Ok(folder)
}

/// `pip` is found for the first peer that needs it.
fn install(sh: &Shell, folder: &Path, peer: &Peer, pip: &mut Option<Pip>) -> Result<()> {
    if peer.needs_nvidia_gpu && !has_nvidia_gpu(sh) {
        bail!("no NVIDIA GPU answers");
    }
    let (target, stamp) = (folder.join(peer.name), folder.join(format!("{}.stamp", peer.name)));
    if sh.read_file(&stamp).is_ok_and(|text| text == peer.requirements) && target.is_dir() {
        return Ok(());
    }
    let pip = match pip {
        Some(pip) => pip,
        None => pip.insert(Pip::find(sh, folder)?),
    };
    eprintln!("peers: installing {}", peer.name);
    sh.remove_path(&stamp)?;
    sh.remove_path(&target)?;
    let requirements = folder.join(format!("{}.txt", peer.name));
    sh.write_file(&requirements, peer.requirements)?;
    pip.install(sh, &requirements, &target)?;
    sh.write_file(&stamp, peer.requirements)?;
    Ok(())
}

fn has_nvidia_gpu(sh: &Shell) -> bool {
    find_program("nvidia-smi").is_some() && cmd!(sh, "nvidia-smi -L").quiet().read().is_ok()
}

/// The package installer: Python's own module, or the copy in Debian's archive.
enum Pip {
    Module,
    Wheel(PathBuf),
}

impl Pip {
    fn find(sh: &Shell, folder: &Path) -> Result<Self> {
        if find_program("python3").is_none() {
            bail!("there is no python3");
        }
        if cmd!(sh, "python3 -m pip --version").quiet().ignore_stderr().read().is_ok() {
            return Ok(Self::Module);
        }
        if !apt::present() {
            bail!("python3 has no pip, and there is no apt to bring it");
        }
        Self::from_apt(sh, folder).context("python3 has no pip, and apt could not bring it")
    }

    /// A wheel can be run without being installed.
    fn from_apt(sh: &Shell, folder: &Path) -> Result<Self> {
        let apt_folder = folder.join("apt");
        let apt = apt::Apt::new(sh, &apt_folder)?;
        apt.update()?;
        let downloads = folder.join("downloads");
        sh.create_dir(&downloads)?;
        apt.download(&["python3-pip-whl".to_owned()], &downloads)?;
        let root = folder.join("pip");
        for package in sh.read_dir(&downloads)? {
            apt::unpack(sh, &package, &root)?;
        }
        let wheels = sh.read_dir(root.join("usr/share/python-wheels"))?;
        let is_pip = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pip-"))
        };
        let wheel = wheels.into_iter().find(is_pip).context("the package holds no pip")?;
        Ok(Self::Wheel(wheel))
    }

    fn install(&self, sh: &Shell, requirements: &Path, target: &Path) -> Result<()> {
        let program: Vec<String> = match self {
            Self::Module => vec!["-m".to_owned(), "pip".to_owned()],
            Self::Wheel(wheel) => vec![wheel.join("pip").to_string_lossy().into_owned()],
        };
        let options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
        let arguments =
            ["--target".as_ref(), target.as_os_str(), "-r".as_ref(), requirements.as_os_str()];
        cmd!(sh, "python3 {program...} install {options...} {arguments...}").run()?;
        Ok(())
    }
}
