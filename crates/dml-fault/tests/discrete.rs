//! The example `wrapping_driver` as a discrete card: without a flush or an invalidation, bytes are wrong.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "plain calls of Vulkan")]

#[path = "discrete/card.rs"]
mod card;

use card::{Card, each_card};
use dml_fault::dml_vk::ash::vk;

const SIZE: u64 = 1000;

fn pattern() -> Vec<u8> {
    (0..SIZE).map(|index| u8::try_from(index * 7 % 251).unwrap()).collect()
}

/// The bytes that the host reads after it has sent a pattern to the device and back.
fn round_trip(card: &Card, flushes: bool, invalidates: bool) -> Vec<u8> {
    let upload = card.buffer(SIZE, vk::MemoryPropertyFlags::HOST_VISIBLE);
    let device = card.buffer(SIZE, vk::MemoryPropertyFlags::DEVICE_LOCAL);
    let readback = card.buffer(SIZE, vk::MemoryPropertyFlags::HOST_CACHED);
    card.map(&upload).copy_from_slice(&pattern());
    if flushes {
        card.flush(&upload, 0, vk::WHOLE_SIZE);
    }
    card.copy(&upload, &device);
    card.copy(&device, &readback);
    if invalidates {
        card.invalidate(&readback, 0, vk::WHOLE_SIZE);
    }
    let read = card.map(&readback).to_vec();
    [upload, device, readback].into_iter().for_each(|buffer| card.destroy(buffer));
    read
}

#[test]
fn with_a_flush_and_an_invalidation_bytes_arrive() {
    each_card(|card| assert_eq!(round_trip(card, true, true), pattern()));
}

#[test]
fn without_a_flush_the_device_does_not_see_what_was_written() {
    each_card(|card| assert_ne!(round_trip(card, false, true), pattern()));
}

#[test]
fn without_an_invalidation_the_host_does_not_see_what_was_written() {
    each_card(|card| assert_ne!(round_trip(card, true, false), pattern()));
}

#[test]
fn a_flush_sends_whole_atoms_and_no_more() {
    each_card(|card| {
        let size = 3 * 256;
        let upload = card.buffer(size, vk::MemoryPropertyFlags::HOST_VISIBLE);
        card.map(&upload).fill(1);
        card.flush(&upload, 0, vk::WHOLE_SIZE);
        card.map(&upload).fill(2);
        card.flush(&upload, 300, 100);
        // Bytes that the host had not flushed are lost.
        card.invalidate(&upload, 0, vk::WHOLE_SIZE);
        let expected = [[1; 256], [2; 256], [1; 256]].concat();
        assert_eq!(card.map(&upload), expected);
        card.destroy(upload);
    });
}

#[test]
fn what_is_written_stays_with_the_host_when_it_unmaps() {
    each_card(|card| {
        let upload = card.buffer(SIZE, vk::MemoryPropertyFlags::HOST_VISIBLE);
        let readback = card.buffer(SIZE, vk::MemoryPropertyFlags::HOST_CACHED);
        card.map(&upload).copy_from_slice(&pattern());
        card.copy(&upload, &readback);
        card.invalidate(&readback, 0, vk::WHOLE_SIZE);
        assert_ne!(card.map(&readback), pattern());
        assert_eq!(card.map(&upload), pattern(), "a second mapping shows the first one's writes");
        [upload, readback].into_iter().for_each(|buffer| card.destroy(buffer));
    });
}

#[test]
fn the_card_says_that_it_is_discrete() {
    each_card(|card| {
        let (properties, max_allocation) = card.properties();
        assert_eq!(properties.device_type, vk::PhysicalDeviceType::DISCRETE_GPU);
        let name = properties.device_name_as_c_str().unwrap().to_str().unwrap();
        assert!(name.ends_with(" as a discrete card"), "{name}");
        let limits = properties.limits;
        assert_eq!(limits.non_coherent_atom_size, 256);
        assert_eq!(limits.min_storage_buffer_offset_alignment, 256);
        assert_eq!(limits.min_uniform_buffer_offset_alignment, 256);
        assert_eq!(max_allocation, 1 << 30);
        let memory = card.memory();
        assert_eq!(memory.memory_heap_count, 2);
        let types = memory.memory_types_as_slice();
        let has = |kind: &vk::MemoryType, flag| kind.property_flags.contains(flag);
        assert!(types.iter().all(|data_type| {
            has(data_type, vk::MemoryPropertyFlags::DEVICE_LOCAL)
                != has(data_type, vk::MemoryPropertyFlags::HOST_VISIBLE)
                && !has(data_type, vk::MemoryPropertyFlags::HOST_COHERENT)
        }));
    });
}

#[test]
fn device_memory_cannot_be_mapped_and_allocations_are_bounded() {
    each_card(|card| {
        let device = card.buffer(SIZE, vk::MemoryPropertyFlags::DEVICE_LOCAL);
        assert_eq!(card.try_map(&device), Err(vk::Result::ERROR_MEMORY_MAP_FAILED));
        card.destroy(device);
        let more = card.try_allocate((1 << 30) + 1, 0);
        assert_eq!(more, Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
    });
}
