//! Random draws: a descriptor, and the device that it is lowered for.

use std::sync::OnceLock;

use dml::core::capabilities::Features;
use dml::core::{Capabilities, Numerics, Strategy, Tuning, validate};
use dml::{AbstractOperator, DataType, FeatureLevel};
use dml_ops::{OPERATORS, TransferUse};
use dml_reference::{Case, REFERENCES, Random, Reference, Signature};

use super::hostile;

/// One descriptor, its buffers, and the device that it is lowered for.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The operator, and how its tensors are bound.
    pub case: Case,
    /// Whether fields were changed at random, so that it may be refused.
    pub is_changed: bool,
    /// The feature level of the device.
    pub level: FeatureLevel,
    /// The device's limits and features.
    pub capabilities: Capabilities,
    /// Whether its buffers have transfer usage.
    pub transfer: TransferUse,
    /// The tuning for the device.
    pub tuning: Tuning,
    /// Whether steps between two barriers are executed in the opposite order.
    pub is_reversed: bool,
}

impl Draw {
    /// Draws everything. Most draws are legal.
    pub fn new(random: &mut Random) -> Self {
        // The highest level has every operator.
        let level =
            if random.one_in(2) { FeatureLevel::HIGHEST } else { random.pick(&FeatureLevel::ALL) };
        let case = legal(random, level);
        Self::around(case, level, random)
    }

    /// Draws everything except the operator.
    #[cfg(test)]
    pub fn of(reference: &'static dyn Reference, random: &mut Random) -> Self {
        let level = FeatureLevel::HIGHEST;
        let cell = Cell::of(reference, random, level);
        Self::around(cell.reference.random(random, &cell.signature), level, random)
    }

    /// Draws the rest for a legal `case`.
    fn around(mut case: Case, level: FeatureLevel, random: &mut Random) -> Self {
        let is_changed = random.one_in(5);
        if is_changed {
            case.operator = hostile::change(&case.operator, random);
            // Its inputs have as many elements as the tensor had before.
            case.inputs.clear();
        }
        Self {
            case,
            is_changed,
            level,
            capabilities: capabilities(random),
            transfer: transfer(random),
            tuning: tuning(random),
            is_reversed: random.one_in(2),
        }
    }
}

/// A case whose operator is accepted by some level, and mostly by `level`.
pub fn legal(random: &mut Random, level: FeatureLevel) -> Case {
    let cell = Cell::new(random, level);
    cell.reference.random(random, &cell.signature)
}

/// An operator with tensors of one signature.
#[derive(Clone)]
struct Cell {
    reference: &'static dyn Reference,
    signature: Signature,
}

impl Cell {
    /// A random cell, mostly one that `level` accepts; half of them are element-wise operators, of which
    /// there are many.
    fn new(random: &mut Random, level: FeatureLevel) -> Self {
        let element_wise = random.one_in(2);
        let of_kind = OPERATORS.iter().copied().filter(|it| it.is_element_wise() == element_wise);
        let operator = random.pick(&of_kind.collect::<Vec<_>>()).schema();
        let reference = dml_reference::find(operator.operator_type).expect("one of each operator");
        Self::of(reference, random, level)
    }

    /// A random signature, mostly one that `level` accepts.
    fn of(reference: &'static dyn Reference, random: &mut Random, level: FeatureLevel) -> Self {
        let accepted = accepted(level, reference);
        if accepted.is_empty() || random.one_in(32) {
            let parameters = 0..reference.schema().type_parameters().count();
            let types = parameters.map(|_| random.pick(&DataType::ALL)).collect();
            let rank = random.pick(&[1, 2, 3, 4, 5, 6, 7, 8]);
            return Self { reference, signature: Signature { types, rank } }.drawable();
        }
        random.pick(accepted)
    }

    fn all(reference: &'static dyn Reference) -> impl Iterator<Item = Self> {
        let signatures = Signature::all(reference.schema());
        signatures.map(move |signature| Self { reference, signature })
    }

    fn minimal(&self) -> AbstractOperator {
        self.reference.minimal(&self.signature)
    }

    /// Operators only draw cases of signatures that some level accepts; others are replaced by the signature
    /// of the next rank.
    fn drawable(self) -> Self {
        let is_accepted = |cell: &Self| validate(&cell.minimal(), FeatureLevel::HIGHEST).is_ok();
        let with_rank =
            |rank| Self { signature: Signature { rank, ..self.signature.clone() }, ..self };
        let ranks = (1..=8).map(with_rank);
        let distance = |cell: &Self| cell.signature.rank.abs_diff(self.signature.rank);
        ranks.filter(is_accepted).min_by_key(distance).unwrap_or(self)
    }
}

/// The signatures of an operator that `level` accepts.
fn accepted(level: FeatureLevel, reference: &'static dyn Reference) -> &'static [Cell] {
    /// The signatures, by level and operator.
    static CELLS: OnceLock<Vec<(FeatureLevel, u32, Vec<Cell>)>> = OnceLock::new();
    let cells = CELLS.get_or_init(|| {
        let of = |level, reference| {
            Cell::all(reference).filter(move |it| validate(&it.minimal(), level).is_ok()).collect()
        };
        let rows = FeatureLevel::ALL.into_iter().flat_map(|level| {
            REFERENCES.iter().map(move |it| (level, it.schema().operator_type, of(level, *it)))
        });
        rows.collect()
    });
    let wanted = (level, reference.schema().operator_type);
    let found = cells.iter().find(|(level, number, _)| (*level, *number) == wanted);
    found.map_or(&[], |(.., cells)| cells)
}

/// Random limits and features of a device, or of a device under a cap.
pub fn capabilities(random: &mut Random) -> Capabilities {
    let mut capabilities = Capabilities::vulkan_minimum();
    if random.one_in(4) {
        return capabilities;
    }
    let limits = &mut capabilities.limits;
    limits.max_storage_buffer_range =
        random.pick(&[1 << 27, 1 << 16, 1 << 14, 4096, 1024, 516, 272, 64, u32::MAX.into()]);
    limits.min_storage_buffer_offset_alignment = random.pick(&[4, 16, 32, 64, 256]);
    for count in &mut limits.max_compute_work_group_count {
        *count = random.pick(&[65_535, u32::MAX, 1024, 64, 7, 3, 2, 1]);
    }
    limits.max_compute_work_group_invocations = random.pick(&[128, 1024, 64, 32, 8, 2]);
    limits.max_compute_work_group_size[0] = random.pick(&[128, 1024, 64, 16, 4]);
    if random.one_in(3) {
        // The limits that the largest work groups need.
        limits.max_compute_work_group_invocations = 1024;
        limits.max_compute_work_group_size[0] = 1024;
    }
    limits.max_compute_shared_memory_size = random.pick(&[16 << 10, 32 << 10]);
    limits.cooperative_matrix_size = random.pick(&[[0; 3], [16; 3], [8; 3], [8, 16, 32]]);
    let features = Features::from_bits(random.bits() & Features::ALL.bits());
    capabilities.features = features.unwrap_or_default().or(Features::LEAST);
    capabilities
}

/// Storage usage alone in one of four draws.
pub fn transfer(random: &mut Random) -> TransferUse {
    if random.one_in(4) { TransferUse::StorageOnly } else { TransferUse::Allowed }
}

/// A random tuning: other than the default in most draws, with a strategy in half of them, and with fast numerics in one
/// of four.
pub fn tuning(random: &mut Random) -> Tuning {
    let mut tuning = Tuning::default();
    if random.one_in(2) {
        tuning = tuning.with_local_size(random.pick(&[64, 2, 4, 32, 128, 256, 1024]));
        let mut size = || random.pick(&[0, 1, 16, 64, 256, 1024, 4096, 65_536, u32::MAX]);
        tuning = tuning.with_sizes(size(), size(), size());
    }
    if random.one_in(2) {
        tuning = tuning.with_strategy(random.pick(&Strategy::ALL));
    }
    if random.one_in(4) {
        tuning = tuning.with_numerics(Numerics::Fast);
    }
    tuning
}
