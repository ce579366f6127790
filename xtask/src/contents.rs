//! What the unpacked packages offer to the Vulkan loader and to the commands of this project.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::Shell;

use crate::bundle::Tree;
use crate::environment::Announced;
use crate::generated;
use crate::workspace;

/// Manifests by file name, links by name, and a report.
pub(crate) struct Contents {
    drivers: BTreeMap<OsString, String>,
    layers: BTreeMap<OsString, String>,
    libraries: BTreeMap<OsString, PathBuf>,
    programs: BTreeMap<OsString, PathBuf>,
    /// One line for each thing that is there.
    pub(crate) found: Vec<String>,
    /// One line for each thing that is not.
    pub(crate) missing: Vec<String>,
}

impl Contents {
    /// Looks through `tree`.
    pub(crate) fn of(sh: &Shell, tree: &Tree) -> Result<Self> {
        let libraries = libraries(sh, tree)?;
        let programs = spirv_programs(sh, tree)?;
        let mut contents = Self {
            drivers: BTreeMap::new(),
            layers: BTreeMap::new(),
            libraries,
            programs,
            found: Vec::new(),
            missing: Vec::new(),
        };
        contents.add_lavapipe(sh, tree)?;
        contents.add_swiftshader(sh, tree)?;
        contents.add_layer(sh, tree)?;
        let loader = contents.libraries.get(&OsString::from(LOADER)).cloned();
        contents.note("Vulkan loader", loader.as_deref());
        let validator = contents.programs.get(&OsString::from("spirv-val")).cloned();
        contents.note("spirv-val", validator.as_deref());
        Ok(contents)
    }

    fn add_lavapipe(&mut self, sh: &Shell, tree: &Tree) -> Result<()> {
        let library = tree.library(sh, "libvulkan_lvp.so")?;
        // Debian calls it lvp_icd.ARCHITECTURE.json.
        let manifests = tree.files(sh, "usr/share/vulkan/icd.d")?;
        let original = manifests.into_iter().find(|it| name_of(it).starts_with("lvp_icd."));
        let original = original.filter(|_| library.is_some());
        self.note("lavapipe", original.as_ref().and(library.as_deref()));
        if let (Some(library), Some(original)) = (library, original) {
            let text = generated::driver_manifest(&sh.read_file(original)?, &library)?;
            self.drivers.insert("lvp_icd.json".into(), text);
        }
        Ok(())
    }

    fn add_swiftshader(&mut self, sh: &Shell, tree: &Tree) -> Result<()> {
        let library = tree.file("usr/lib/chromium/libvk_swiftshader.so");
        let original = tree.file("usr/lib/chromium/vk_swiftshader_icd.json");
        self.note("SwiftShader", original.as_ref().and(library.as_deref()));
        if let (Some(library), Some(original)) = (library, original) {
            let text = generated::driver_manifest(&sh.read_file(original)?, &library)?;
            self.drivers.insert("swiftshader_icd.json".into(), text);
        }
        Ok(())
    }

    /// Chromium's layer is newer than the packaged one, which misses most hazards between
    /// dispatches.
    fn add_layer(&mut self, sh: &Shell, tree: &Tree) -> Result<()> {
        let name = "VkLayer_khronos_validation.json";
        let library = "libVkLayer_khronos_validation.so";
        if let Some(new) = tree.file(&format!("usr/lib/chromium/{library}")) {
            self.note("validation layer", Some(&new));
            self.layers.insert(name.into(), generated::chromium_layer_manifest(&new));
            return Ok(());
        }
        let old = tree.library(sh, library)?;
        let original = tree.file(&format!("usr/share/vulkan/explicit_layer.d/{name}"));
        self.note("validation layer (packaged)", original.as_ref().and(old.as_deref()));
        if let (Some(old), Some(original)) = (old, original) {
            let text = generated::layer_manifest(&sh.read_file(original)?, &old)?;
            self.layers.insert(name.into(), text);
        }
        Ok(())
    }

    fn note(&mut self, what: &str, place: Option<&Path>) {
        match place {
            Some(place) => {
                let place = place.strip_prefix(workspace::root()).unwrap_or(place);
                self.found.push(format!("{what}: {}", place.display()));
            }
            None => self.missing.push(format!("{what}: not in the packages that apt offers here")),
        }
    }

    /// Writes manifests and links below `folder`.
    pub(crate) fn write(&self, sh: &Shell, folder: &Path) -> Result<Announced> {
        let place = |name: &str| folder.join(name);
        generated::sync_files(sh, &place("icd"), &self.drivers)?;
        generated::sync_files(sh, &place("layers"), &self.layers)?;
        generated::sync_links(sh, &place("lib"), &self.libraries)?;
        generated::sync_links(sh, &place("bin"), &self.programs)?;
        Ok(Announced {
            drivers: self.drivers.keys().map(|name| place("icd").join(name)).collect(),
            layers: vec![place("layers")],
            libraries: vec![place("lib")],
            programs: vec![place("bin")],
        })
    }
}

const LOADER: &str = "libvulkan.so.1";

/// What programs link to (`libNAME.so.NUMBER`); drivers and layers are named by their manifests.
/// Chromium's own copies are not among them, but for a loader where there is no other: the newer
/// layer works with Debian's.
pub(crate) fn libraries(sh: &Shell, tree: &Tree) -> Result<BTreeMap<OsString, PathBuf>> {
    let mut links = BTreeMap::new();
    if let Some(loader) = tree.file("usr/lib/chromium/libvulkan.so.1") {
        links.insert(LOADER.into(), loader);
    }
    for folder in tree.library_folders(sh)? {
        let files = sh.read_dir(folder)?;
        let wanted = files.into_iter().filter(|it| name_of(it).contains(".so."));
        links.extend(wanted.map(|path| (OsString::from(name_of(&path)), path)));
    }
    Ok(links)
}

fn spirv_programs(sh: &Shell, tree: &Tree) -> Result<BTreeMap<OsString, PathBuf>> {
    let files = tree.files(sh, "usr/bin")?;
    let wanted = files.into_iter().filter(|it| name_of(it).starts_with("spirv-"));
    Ok(wanted.map(|path| (OsString::from(name_of(&path)), path)).collect())
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
