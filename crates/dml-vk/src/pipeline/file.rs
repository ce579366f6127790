//! The file in which compiled pipelines outlive the process.
//!
//! It holds the data of vkGetPipelineCacheData after a header of this crate's own. Drivers may crash on data
//! that they did not write, so it is checked before a driver gets it: the length and the checksum against
//! damage, Vulkan's own header against another device or driver version. A file that fails a check is ignored
//! and replaced.
//!
//! ```text
//! bytes  0..8   magic
//!        8..12  version of this format
//!       12..16  CRC-32 of the data
//!       16..24  length of the data
//!       24..    the data, which begins with VkPipelineCacheHeaderVersionOne
//! ```
//!
//! All numbers are little-endian, except those of Vulkan's header, which has the host's byte order. Writers put a
//! temporary file in its place, so readers see a whole file or none, and of several processes the last one wins.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use ash::vk;
use thiserror::Error;

use crate::instance::physical::PhysicalDevice;

const MAGIC: [u8; 8] = *b"dmlpipe\n";
const FORMAT: u32 = 1;
const HEADER: usize = 24;
/// The length of VkPipelineCacheHeaderVersionOne.
const VULKAN_HEADER: usize = 32;
/// Far above the size that the kernels of this project take; a larger file is not read.
const MAX_BYTES: u64 = 64 << 20;

/// The file of one device and driver version.
#[derive(Debug)]
pub(crate) struct PipelineFile {
    path: PathBuf,
    identity: Identity,
}

/// The device and driver that data belong to, as Vulkan's header states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) vendor_id: u32,
    pub(crate) device_id: u32,
    pub(crate) pipeline_cache_uuid: [u8; vk::UUID_SIZE],
}

/// The result of reading the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileContent {
    /// No file.
    Nothing,
    /// A file that has to be replaced.
    Rejected,
    /// The data for the driver.
    Data(Vec<u8>),
}

/// Why a file is ignored.
#[derive(Debug, Error)]
pub(crate) enum Rejection {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("not a regular file")]
    Special,
    #[error("{0} bytes; at most {MAX_BYTES} are read")]
    TooLong(u64),
    #[error("not a pipeline cache of dml")]
    Magic,
    #[error("written in format {0}; this version reads format {FORMAT}")]
    Format(u32),
    #[error("{found} bytes of data, but the header states {stated}")]
    Length { stated: u64, found: usize },
    #[error("wrong checksum")]
    Checksum,
    #[error("Vulkan's header is missing or of an unknown version")]
    VulkanHeader,
    #[error("written for another device or driver version")]
    Foreign,
}

impl PipelineFile {
    /// The file for `physical` in `folder`.
    pub(crate) fn new(folder: &Path, physical: &PhysicalDevice) -> Self {
        let core = physical.instance.table.core();
        // SAFETY: the handle was enumerated from this instance, which is alive.
        let properties = unsafe { core.get_physical_device_properties(physical.raw()) };
        let info = physical.info();
        let name = format!("{}-{:08x}.pipelines", info.device_uuid_text(), info.driver_version);
        Self {
            path: folder.join(name),
            identity: Identity {
                vendor_id: properties.vendor_id,
                device_id: properties.device_id,
                pipeline_cache_uuid: properties.pipeline_cache_uuid,
            },
        }
    }

    /// The data in the file. Problems with it are logged.
    pub(crate) fn load(&self) -> FileContent {
        let checked = read(&self.path).and_then(|bytes| {
            check(&bytes, &self.identity)?;
            Ok(bytes)
        });
        match checked {
            Ok(mut bytes) => {
                bytes.drain(..HEADER);
                FileContent::Data(bytes)
            }
            Err(Rejection::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                FileContent::Nothing
            }
            Err(rejection) => {
                let path = self.path.display();
                log::warn!(
                    "the pipeline cache {path} is ignored and will be replaced: {rejection}"
                );
                FileContent::Rejected
            }
        }
    }

    /// Replaces the file, unless with data that [`PipelineFile::load`] would refuse; returns whether it did.
    /// A failure is logged: the next process compiles once more.
    pub(crate) fn store(&self, data: &[u8]) -> bool {
        let path = self.path.display();
        let checked = check_data(data, &self.identity);
        match checked.and_then(|()| Ok(write(&self.path, data)?)) {
            Ok(()) => log::debug!("wrote {} bytes of pipelines to {path}", data.len()),
            Err(error) => {
                log::warn!("the pipeline cache {path} could not be written: {error}");
                return false;
            }
        }
        true
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Rejection> {
    // Opening a pipe could wait forever.
    if !fs::metadata(path)?.is_file() {
        return Err(Rejection::Special);
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > MAX_BYTES {
        return Err(Rejection::TooLong(length));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write(path: &Path, data: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Readable by its owner alone, and removed unless it is renamed.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&header(data))?;
    file.write_all(data)?;
    file.persist(path)?;
    Ok(())
}

fn header(data: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[12..16].copy_from_slice(&crc32fast::hash(data).to_le_bytes());
    header[16..24].copy_from_slice(&(data.len() as u64).to_le_bytes());
    header
}

/// Whether the pipeline cache file with these bytes is given to the driver of the device with this
/// vendorID, deviceID and pipelineCacheUUID.
pub fn accepts_pipeline_file(
    bytes: &[u8],
    [vendor_id, device_id]: [u32; 2],
    uuid: [u8; vk::UUID_SIZE],
) -> bool {
    check(bytes, &Identity { vendor_id, device_id, pipeline_cache_uuid: uuid }).is_ok()
}

/// Whether a whole file may be given to the driver.
fn check(bytes: &[u8], identity: &Identity) -> Result<(), Rejection> {
    let (header, data) = bytes.split_first_chunk::<HEADER>().ok_or(Rejection::Magic)?;
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
    if header[..8] != MAGIC {
        return Err(Rejection::Magic);
    }
    if word(8) != FORMAT {
        return Err(Rejection::Format(word(8)));
    }
    let stated = u64::from(word(16)) | u64::from(word(20)) << 32;
    if stated != data.len() as u64 {
        return Err(Rejection::Length { stated, found: data.len() });
    }
    if word(12) != crc32fast::hash(data) {
        return Err(Rejection::Checksum);
    }
    check_data(data, identity)
}

/// Checks that the driver's data are not too large, and are for this device.
fn check_data(data: &[u8], identity: &Identity) -> Result<(), Rejection> {
    let length = HEADER as u64 + data.len() as u64;
    if length > MAX_BYTES {
        return Err(Rejection::TooLong(length));
    }
    let header = data.first_chunk().ok_or(Rejection::VulkanHeader)?;
    let found = vulkan_identity(header).ok_or(Rejection::VulkanHeader)?;
    if found == *identity { Ok(()) } else { Err(Rejection::Foreign) }
}

/// Reads VkPipelineCacheHeaderVersionOne.
fn vulkan_identity(header: &[u8; VULKAN_HEADER]) -> Option<Identity> {
    let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
    let version = vk::PipelineCacheHeaderVersion::ONE.as_raw().cast_unsigned();
    if (word(0) as usize) < VULKAN_HEADER || word(4) != version {
        return None;
    }
    Some(Identity {
        vendor_id: word(8),
        device_id: word(12),
        pipeline_cache_uuid: *header[16..].first_chunk()?,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const IDENTITY: Identity =
        Identity { vendor_id: 0x10005, device_id: 0, pipeline_cache_uuid: [7; 16] };

    pub(crate) fn data() -> Vec<u8> {
        let words = [32, 1, IDENTITY.vendor_id, IDENTITY.device_id];
        let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        data.extend(IDENTITY.pipeline_cache_uuid);
        data.extend(b"what only the driver understands");
        data
    }

    fn file(data: &[u8]) -> Vec<u8> {
        [&header(data)[..], data].concat()
    }

    pub(crate) fn in_folder(folder: &Path) -> PipelineFile {
        PipelineFile { path: folder.join("x.pipelines"), identity: IDENTITY }
    }

    #[test]
    fn what_was_stored_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let file = in_folder(&folder.path().join("made/as/needed"));
        assert_eq!(file.load(), FileContent::Nothing);
        assert!(file.store(&data()));
        assert_eq!(file.load(), FileContent::Data(data()));
    }

    #[test]
    fn a_change_of_any_byte_is_noticed() {
        let good = file(&data());
        assert!(check(&good, &IDENTITY).is_ok());
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(check(&bad, &IDENTITY).is_err(), "byte {at}");
        }
    }

    #[test]
    fn every_other_length_is_noticed() {
        let good = file(&data());
        for length in 0..good.len() {
            assert!(check(&good[..length], &IDENTITY).is_err(), "{length} bytes");
        }
        let longer = [&good[..], &[0]].concat();
        assert!(matches!(check(&longer, &IDENTITY), Err(Rejection::Length { .. })));
    }

    #[test]
    fn a_file_of_another_device_driver_or_format_is_foreign() {
        let good = file(&data());
        let mut uuid = IDENTITY.pipeline_cache_uuid;
        uuid[15] += 1;
        for other in [
            Identity { vendor_id: 1, ..IDENTITY },
            Identity { device_id: 1, ..IDENTITY },
            Identity { pipeline_cache_uuid: uuid, ..IDENTITY },
        ] {
            assert!(matches!(check(&good, &other), Err(Rejection::Foreign)));
        }
        let mut newer = good.clone();
        newer[8] = 2;
        assert!(matches!(check(&newer, &IDENTITY), Err(Rejection::Format(2))));
        let bare = file(b"too short for Vulkan's header");
        assert!(matches!(check(&bare, &IDENTITY), Err(Rejection::VulkanHeader)));
    }

    #[test]
    fn what_is_damaged_is_rejected_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = in_folder(folder.path());
        fs::write(&file.path, b"not a pipeline cache").unwrap();
        assert_eq!(file.load(), FileContent::Rejected);
        assert!(file.store(&data()));
        assert_eq!(file.load(), FileContent::Data(data()));
    }

    #[test]
    fn what_would_not_be_read_is_not_written_and_the_older_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = in_folder(folder.path());
        let mut most = data();
        most.resize(usize::try_from(MAX_BYTES).unwrap() - HEADER, 1);
        assert!(file.store(&most));
        assert_eq!(file.load(), FileContent::Data(most.clone()));
        let (mut foreign, mut too_much) = (data(), most.clone());
        foreign[8] ^= 1;
        too_much.push(1);
        for refused in [&too_much, &foreign, &data()[..20].to_vec()] {
            assert!(!file.store(refused), "{} bytes", refused.len());
            assert_eq!(file.load(), FileContent::Data(most.clone()));
        }
    }

    #[test]
    fn too_much_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = in_folder(folder.path());
        // Sparse: nothing of it is on the disk.
        File::create(&file.path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(file.load(), FileContent::Rejected);
    }

    #[test]
    fn a_place_where_nothing_can_be_written_is_only_logged() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a file"), b"").unwrap();
        let file = in_folder(&folder.path().join("a file"));
        assert!(!file.store(&data()));
        assert_eq!(file.load(), FileContent::Rejected);
        let blocked = in_folder(folder.path());
        fs::create_dir(&blocked.path).unwrap();
        assert_eq!(blocked.load(), FileContent::Rejected);
        assert!(!blocked.store(&data()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "a temporary file is left");
    }

    #[test]
    fn readers_never_see_half_a_file_of_several_writers() {
        let folder = tempfile::tempdir().unwrap();
        let file = in_folder(folder.path());
        let contents = |writer: u8| [data(), vec![writer; 20_000 + usize::from(writer)]].concat();
        assert!(file.store(&contents(0)));
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (file, contents) = (&file, &contents);
                scope.spawn(move || (0..50).for_each(|_| assert!(file.store(&contents(writer)))));
            }
            for _ in 0..200 {
                let FileContent::Data(found) = file.load() else { panic!("no whole file") };
                assert_eq!(found, contents(found[found.len() - 1]));
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
