use super::super::Slot;
use super::*;
use crate::plan::region::Repeat;

const OUT: Slot = Slot::Output(0);

fn copy(source: Slot, regions: Vec<CopyRegion>) -> Copy {
    Copy { source, destination: OUT, regions }
}

fn region(
    [source_offset, destination_offset, size]: [u64; 3],
    (count, [source_stride, destination_stride, growth]): (u32, [i64; 3]),
) -> CopyRegion {
    let repeat = Repeat { count, source_stride, destination_stride, growth };
    CopyRegion { source_offset, destination_offset, size, repeat }
}

/// Byte by byte: whether nothing is written twice, and nothing that is read where both are one slot.
fn keeps_apart(copy: &Copy) -> bool {
    let regions: Vec<CopyRegion> =
        copy.regions.iter().flat_map(|region| region.regions()).collect();
    let read: Vec<u64> = regions
        .iter()
        .filter(|_| copy.source == copy.destination)
        .flat_map(|region| region.source_offset..region.source_offset + region.size)
        .collect();
    let mut written = Vec::new();
    regions.iter().all(|region| {
        (region.destination_offset..region.destination_offset + region.size).all(|byte| {
            let is_new = !written.contains(&byte);
            written.push(byte);
            is_new && !read.contains(&byte)
        })
    })
}

#[test]
fn a_copy_is_checked_as_its_bytes_are() {
    let loops: Vec<CopyRegion> = [-3, 0, 2, 4]
        .into_iter()
        .flat_map(|stride| [-1, 0, 1].map(|growth| (stride, growth)))
        .flat_map(|(stride, growth)| {
            [(12, 30), (40, 20), (60, 41)].map(|(source, destination)| {
                region([source, destination, 3], (3, [stride, stride + growth, growth]))
            })
        })
        .chain([CopyRegion::once(0, 31, 1), CopyRegion::once(24, 33, 2)])
        .collect();
    let (mut accepted, mut refused) = (0, 0);
    for (source, one, other) in [OUT, Slot::Input(0)]
        .into_iter()
        .flat_map(|source| loops.iter().map(move |one| (source, one)))
        .flat_map(|(source, one)| loops.iter().map(move |other| (source, one, other)))
    {
        let copy = copy(source, vec![*one, *other]);
        let checked = copy.check();
        assert_eq!(checked.is_ok(), keeps_apart(&copy), "{copy:?}: {checked:?}");
        if checked.is_ok() { accepted += 1 } else { refused += 1 }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} {refused}");
}

#[test]
fn a_refusal_names_both_ranges() {
    let twice = copy(Slot::Input(0), vec![CopyRegion::once(0, 0, 8), CopyRegion::once(8, 4, 8)]);
    assert_eq!(
        twice.check().unwrap_err().to_string(),
        "copy to output 0: bytes 0..8 and 4..12 overlap (accepted: regions that write nothing twice \
         and nothing that is read)"
    );
    let onto_itself = copy(OUT, vec![CopyRegion::once(0, 4, 8)]);
    let overlap = InvalidCopy::Overlap { destination: OUT, one: 0..8, other: 4..12 };
    assert_eq!(onto_itself.check(), Err(overlap));
    let none = copy(OUT, vec![]).check();
    assert_eq!(none, Err(InvalidCopy::NoRegion { destination: OUT }));
}

#[test]
fn a_region_without_bytes_or_beyond_64_bits_is_refused() {
    let half = i64::MIN;
    let wrong = [
        CopyRegion::once(0, 0, 0),
        CopyRegion::once(u64::MAX, 0, 2),
        CopyRegion::once(0, u64::MAX, 2),
        region([0, 0, 8], (0, [0, 0, 0])),
        // The last one is empty.
        region([0, 0, 8], (3, [8, 8, -4])),
        // The second is somewhere else altogether, and the third where the first is.
        region([0, 0, 8], (3, [half, 8, 0])),
        region([0, 0, 8], (3, [8, half, 0])),
        region([0, 0, 8], (3, [8, 8, half])),
    ];
    for region in wrong {
        let checked = copy(Slot::Input(0), vec![region]).check();
        assert_eq!(checked, Err(InvalidCopy::Region(region)));
    }
}

/// Billions of regions take no time as long as their loops lie apart.
#[test]
fn loops_are_not_unrolled_where_they_lie_apart() {
    let rows = |at: u64| region([0, at, 8], (u32::MAX, [0, 16, 0]));
    assert_eq!(copy(Slot::Input(0), vec![rows(0), rows(1 << 37)]).check(), Ok(()));
}
