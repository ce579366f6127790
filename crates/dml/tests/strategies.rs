//! Every strategy gives the band's bytes on every device, and leaves guards and padding unchanged.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::band::{Case, TYPES, cases};
use common::{constant, execute, on_every_device};
use dml::core::{Strategy, Tuning};
use dml::{BufferUsage, DataType, ScalarUnion, TensorDesc};
use dml_reference::Random;

/// Layouts that each suit several strategies.
fn layouts(data_type: DataType) -> Vec<TensorDesc> {
    let packed = |sizes: &[u32]| TensorDesc::packed(data_type, sizes);
    vec![
        packed(&[5, 3, 3]),
        packed(&[3, 13, 31]),
        packed(&[3, 13, 31]).with_strides(&[403, 1, 13]),
        packed(&[2, 31, 13]).with_strides(&[600, 17, 1]),
        // Rows that are copied in parts.
        packed(&[1, 3, 40_001]),
    ]
}

#[test]
fn every_strategy_gives_the_same_bytes() {
    on_every_device(|device| {
        for strategy in Strategy::ALL {
            let device = device.with_tuning(Tuning::new().with_strategy(strategy));
            for output in TYPES.into_iter().flat_map(layouts) {
                cases(&output).iter().for_each(|case| case.check(&device));
            }
        }
    });
}

#[test]
fn what_is_chosen_is_what_is_executed() {
    on_every_device(|device| {
        for strategy in [Strategy::Inline, Strategy::SeedAndCopy, Strategy::RowCopies] {
            let device = device.with_tuning(Tuning::new().with_strategy(strategy));
            let case = Case::new(None, TensorDesc::packed(DataType::Int8, &[5, 3, 3]), (0, 1));
            let operator = device.compile(case.desc()).unwrap();
            assert_eq!(operator.vulkan().plan().strategy, strategy);
        }
    });
}

fn random_case(random: &mut Random) -> Case {
    let data_type = random.pick(&TYPES);
    let sizes = [3, 4, 30, 90].map(|most| 1 + random.below(most));
    let output = random.tensor(data_type, &sizes);
    let input = match random.below(3) {
        0 => None,
        1 => Some(output.clone()),
        _ => Some(random.tensor(data_type, &sizes)),
    };
    let mut diagonal = || random.below(140).cast_signed() - 40;
    let band = (diagonal(), diagonal());
    let in_place = input.as_ref() == Some(&output) && random.one_in(2);
    Case { input, output, band, usage: BufferUsage::all(), in_place }
}

#[test]
fn random_tensors_and_preferences_give_the_bytes_of_the_band() {
    on_every_device(|device| {
        let mut random = Random::new("strategies");
        for round in 0..400 {
            let sizes = [4096, 4096, 300].map(|most| 1 + random.below(most));
            let [inline, seed, row] = sizes;
            let tuning = Tuning::new().with_sizes(inline, seed, row);
            let strategies = Strategy::ALL;
            let tuning = match strategies.get(round % (strategies.len() + 1)) {
                Some(strategy) => tuning.with_strategy(*strategy),
                None => tuning,
            };
            random_case(&mut random).check(&device.with_tuning(tuning));
        }
    });
}

#[test]
fn a_constant_of_two_words_is_repeated() {
    on_every_device(|device| {
        let tensor = TensorDesc::packed(DataType::Int64, &[3, 70_001]);
        for strategy in [None, Some(Strategy::Kernel), Some(Strategy::Inline)] {
            let mut tuning = Tuning::new();
            tuning.strategy = strategy;
            let desc = constant(&tensor, ScalarUnion::from(-5i64 << 20));
            let buffer = execute(device, &device.with_tuning(tuning).compile(desc).unwrap());
            let elements = device.read::<i64>(&buffer, 0, &tensor).unwrap();
            assert!(elements.iter().all(|element| *element == -5i64 << 20));
        }
    });
}
