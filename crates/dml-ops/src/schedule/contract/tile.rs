//! Which tiles sums are added up in.

use dml_core::Strategy;
use dml_core::kernel::select;
use dml_spirv::product::{Arithmetic, Product, Record, Tile};

use crate::Target;

/// So many work groups keep a GPU busy, more or less: the number is not measured.
const ENOUGH_GROUPS: u64 = 96;

/// The tile to use here: one that the device can have, the rows as they are read, and the preferences suggest.
pub(super) fn best(record: &Record, rows_are_quads: bool, target: &Target<'_>) -> Tile {
    if !rows_are_quads {
        return Tile::Row;
    }
    // Kernels of one tile need the same of a device.
    let arithmetic = Arithmetic::Floats;
    let module = |tile| Product { tile, columns_are_whole: false, arithmetic }.variant();
    let tiles: Vec<Tile> = preferred(record, target).chain([Tile::Registers]).collect();
    let modules: Vec<_> = tiles.iter().copied().map(module).collect();
    let selected = select(&modules, target.capabilities);
    let at = modules.iter().position(|module| module == selected);
    at.map_or(Tile::Registers, |at| tiles[at])
}

/// The tiles that fit, best first.
fn preferred(record: &Record, target: &Target<'_>) -> impl Iterator<Item = Tile> {
    const SHARED: [Tile; 3] = [Tile::Shared128, Tile::Shared64, Tile::Shared32];
    let mut all = SHARED.into_iter().chain([Tile::Tall]);
    let forced = all.find(|it| Some(strategy(*it)) == target.tuning.strategy);
    let columns: u32 = record.columns.iter().product();
    let shares = target.tuning.shared_tiles;
    let serves = move |tile: &Tile| {
        let [rows, across] = tile.sides();
        let is_half_full = record.rows > rows / 2 && columns > across / 2;
        // A tall tile takes an invocation no longer than a smaller one does.
        let is_enough = record.count(*tile) >= ENOUGH_GROUPS;
        let is_worth_it = is_enough || matches!(tile, Tile::Shared32 | Tile::Tall);
        is_half_full && is_worth_it && tile.is_shared() == shares
    };
    let is_chosen = target.tuning.strategy.is_none();
    let chosen = SHARED.into_iter().chain([Tile::Tall]).filter(serves);
    forced.into_iter().chain(chosen.filter(move |_| is_chosen))
}

/// The strategy of plans with such tiles.
pub(super) fn strategy(tile: Tile) -> Strategy {
    match tile {
        Tile::Row => Strategy::Kernel,
        Tile::Few | Tile::FewDeep => Strategy::FewRows,
        Tile::Registers => Strategy::RegisterTiles,
        Tile::Tall => Strategy::TallTiles,
        Tile::Shared32 => Strategy::SharedTiles32,
        Tile::Shared64 => Strategy::SharedTiles64,
        Tile::Shared128 => Strategy::SharedTiles128,
    }
}

#[cfg(test)]
mod tests {
    use dml_core::capabilities::{Feature, Limit};
    use dml_core::{Capabilities, Tuning};

    use super::*;
    use crate::TransferUse;

    fn best_of([rows, columns]: [u32; 2], tuning: Tuning, capabilities: &Capabilities) -> Tile {
        let operands = Default::default();
        let (columns, depths) = ([1, 1, 1, columns], [1, 1, 1, 512]);
        let (goes_on, batches, part) = (false, [1; 2], 512);
        let record = Record { goes_on, batches, rows, columns, depths, part, operands };
        best(&record, true, &Target { capabilities, tuning, transfer: TransferUse::Allowed })
    }

    #[test]
    fn large_tiles_are_for_large_products_of_gpus() {
        let mut gpu = Capabilities::vulkan_minimum();
        gpu.limits = gpu.limits.with(Limit::MaxComputeSharedMemorySize, 32 << 10);
        for limit in [Limit::MaxComputeWorkGroupInvocations, Limit::MaxComputeWorkGroupSizeX] {
            gpu.limits = gpu.limits.with(limit, 1024);
        }
        let shared = Tuning::new().with_shared_tiles();
        assert_eq!(best_of([2048, 2048], shared, &gpu), Tile::Shared128);
        assert_eq!(best_of([1024, 1024], shared, &gpu), Tile::Shared64);
        assert_eq!(best_of([512, 512], shared, &gpu), Tile::Shared32);
        assert_eq!(best_of([8, 8192], shared, &gpu), Tile::Registers);
        assert_eq!(best_of([2048, 2048], Tuning::new(), &gpu), Tile::Registers);
    }

    #[test]
    fn tall_tiles_are_for_many_rows_where_nothing_is_shared_and_words_are_read_in_pairs() {
        let mut cpu = Capabilities::vulkan_minimum();
        assert_eq!(best_of([64, 64], Tuning::new(), &cpu), Tile::Registers);
        cpu.features = cpu.features.with(Feature::ShaderInt64, true);
        assert_eq!(best_of([64, 64], Tuning::new(), &cpu), Tile::Tall);
        assert_eq!(best_of([8, 64], Tuning::new(), &cpu), Tile::Registers);
        assert_eq!(best_of([64, 64], Tuning::new().with_shared_tiles(), &cpu), Tile::Shared32);
        let forced = Tuning::new().with_strategy(Strategy::TallTiles);
        assert_eq!(best_of([8, 8], forced, &cpu), Tile::Tall);
    }

    #[test]
    fn a_tile_that_the_device_cannot_have_is_not_chosen() {
        let least = Capabilities::vulkan_minimum();
        // 256 invocations are more than Vulkan guarantees.
        let shared = Tuning::new().with_shared_tiles();
        assert_eq!(best_of([4096, 4096], shared, &least), Tile::Shared64);
        let forced = Tuning::new().with_strategy(Strategy::SharedTiles128);
        assert_eq!(best_of([4096, 4096], forced, &least), Tile::Registers);
        let forced = Tuning::new().with_strategy(Strategy::SharedTiles64);
        assert_eq!(best_of([5, 5], forced, &least), Tile::Shared64);
    }
}
