//! `pipeline_cache`: no file reaches a driver but one that is whole and meant for its device.
//!
//! The first byte decides what the rest is: the whole file, or the driver's data after a header that
//! is right, so that a fuzzer need not guess a checksum.

use dml::vk::accepts_pipeline_file;
use dml_reference::Random;

/// vendorID and deviceID.
const IDS: [u32; 2] = [0x10005, 0];
const UUID: [u8; 16] = *b"dmlvk fuzz uuid!";
/// Where the data begins.
const HEADER: usize = 24;

pub(super) fn run(bytes: &[u8]) -> bool {
    let Some((kind, rest)) = bytes.split_first() else { return true };
    if kind % 2 == 0 {
        assert_eq!(accepts_pipeline_file(rest, IDS, UUID), is_right(rest));
        return true;
    }
    let file = [&header(rest)[..], rest].concat();
    assert!(is_whole(&file));
    let accepted = accepts_pipeline_file(&file, IDS, UUID);
    assert_eq!(accepted, is_meant(rest));
    if accepted {
        damage(file, &mut Random::from_bytes(rest));
    }
    true
}

/// Files that differ by a bit or by their length are not accepted.
fn damage(mut file: Vec<u8>, random: &mut Random) {
    let at = random.below(u32::try_from(file.len()).unwrap_or(u32::MAX)) as usize;
    file[at] ^= 1 << random.below(8);
    assert!(!accepts_pipeline_file(&file, IDS, UUID), "byte {at}");
    file.truncate(at);
    assert!(!accepts_pipeline_file(&file, IDS, UUID), "{at} bytes");
}

fn is_right(file: &[u8]) -> bool {
    is_whole(file) && is_meant(&file[HEADER..])
}

/// As the head of `pipeline_file.rs` states the format.
fn is_whole(file: &[u8]) -> bool {
    file.len() >= HEADER && file[..HEADER] == header(&file[HEADER..])
}

fn header(data: &[u8]) -> [u8; HEADER] {
    let mut header = *b"dmlpipe\n\x01\0\0\0            ";
    header[12..16].copy_from_slice(&crc32(data).to_le_bytes());
    header[16..].copy_from_slice(&(data.len() as u64).to_le_bytes());
    header
}

/// VkPipelineCacheHeaderVersionOne: its length, which may be larger, version 1, the device.
fn is_meant(data: &[u8]) -> bool {
    let word =
        |at: usize| data.get(at..at + 4).map(|it| u32::from_ne_bytes([it[0], it[1], it[2], it[3]]));
    word(0).is_some_and(|length| length >= 32)
        && word(4) == Some(1)
        && word(8) == Some(IDS[0])
        && word(12) == Some(IDS[1])
        && data.get(16..32) == Some(&UUID[..])
}

/// CRC-32 bit by bit, apart from the crate that the runtime uses.
fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !data.iter().fold(u32::MAX, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_right_is_accepted() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let words = [32, 1, IDS[0], IDS[1]];
        let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        data.extend(UUID);
        let file = [&header(&data)[..], &data].concat();
        assert!(is_right(&file) && accepts_pipeline_file(&file, IDS, UUID));
        assert!(run(&[&[0], &file[..]].concat()) && run(&[&[1], &data[..]].concat()));
    }
}
