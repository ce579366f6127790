//! The errors of operators' functions against their oracles, compared with the bounds in the schema: on a
//! sample of all numbers in every run of the tests, on every number at night.

use dml_core::DataType::{self, Float16, Float32};
use dml_core::schema::Comparison;
use dml_reference::number::Number;
use dml_reference::{Random, accepts, edges, function_of_floats};
use dml_spirv::functions::{self as f, Function};

use super::{FunctionsOfOperator, ROWS};

/// The step, a prime, between the single-precision numbers that are tried.
const STEP: usize = 4099;
/// The number of random argument tuples for functions with several arguments.
const DRAWN: usize = 1 << 18;

/// The operators whose schema allows an error in units in the last place. Exact functions have tests of their own.
fn functions() -> impl Iterator<Item = (&'static FunctionsOfOperator, &'static Function)> {
    let is_bounded =
        |row: &&FunctionsOfOperator| matches!(row.schema.comparison(Float32), Comparison::Ulp(1..));
    ROWS.iter().filter(is_bounded).filter_map(|row| Some((row, row.functions.f32?)))
}

/// The error message if the result of `function` for the single-precision `arguments` is further from the
/// oracle than the schema allows for a result of `data_type`.
fn defect(
    row: &FunctionsOfOperator,
    function: &Function,
    arguments: &[u64],
    data_type: DataType,
) -> Option<String> {
    let single = |bits: &u64| f32::from_bits(u32::try_from(*bits).unwrap_or(u32::MAX));
    let numbers: Vec<f64> = arguments.iter().map(|argument| single(argument).into()).collect();
    let expected = function_of_floats(row.schema, &numbers).expect("a function of floats");
    let expected = Number::decode(DataType::Float64, expected.to_bits());
    let expected = expected.encode(data_type);
    let found = (function.twin)(arguments);
    let found = if data_type == Float16 { (f::F32_TO_F16.twin)(&[found]) } else { found };
    let comparison = row.schema.comparison(data_type);
    (!accepts(comparison, data_type, expected, found)).then(|| {
        let name = row.schema.name;
        format!("{name} of {numbers:?} ({arguments:x?}) is {found:#x}, not {expected:#x}: {comparison:?}")
    })
}

/// Fails with the first defect of each function.
fn check<A: AsRef<[u64]>, I: Iterator<Item = A>>(
    data_type: DataType,
    is_meant: fn(&Function) -> bool,
    arguments: impl Fn(&Function) -> I,
) {
    let of = |(row, function): (&FunctionsOfOperator, &Function)| {
        arguments(function).find_map(|it| defect(row, function, it.as_ref(), data_type))
    };
    let defects: Vec<String> = functions().filter(|(_, it)| is_meant(it)).filter_map(of).collect();
    assert!(defects.is_empty(), "{}", defects.join("\n"));
}

fn is_unary(function: &Function) -> bool {
    function.arity + function.parameters == 1
}

fn check_unary(step: usize) {
    check(Float32, is_unary, |_| {
        (0..=u64::from(u32::MAX)).step_by(step).chain(edges(Float32)).map(|it| [it])
    });
}

#[test]
fn unary_functions_are_within_their_bounds_of_a_sample_of_all_numbers() {
    check_unary(STEP);
}

#[test]
#[ignore = "takes an hour: `cargo xtask nightly` runs it"]
fn unary_functions_are_within_their_bounds_of_every_number() {
    check_unary(1);
}

#[test]
fn unary_functions_are_within_their_bounds_of_every_half() {
    check(Float16, is_unary, |_| (0..=u64::from(u16::MAX)).map(|it| [(f::F16_TO_F32.twin)(&[it])]));
}

/// A number at an edge, one whose size is typical of sums or exponents, or any number.
fn argument(random: &mut Random, edges: &[u64]) -> u64 {
    match random.below(4) {
        0 => random.pick(edges),
        1 => random.word().into(),
        _ => (random.word() & 0x807f_ffff | (112 + random.below(24)) << 23).into(),
    }
}

/// All tuples of `count` edges.
fn tuples(edges: &[u64], count: usize) -> impl Iterator<Item = Vec<u64>> {
    let all = edges.len().pow(u32::try_from(count).expect("a few arguments"));
    (0..all).map(move |tuple| {
        let digit = |at| tuple / edges.len().pow(at) % edges.len();
        (0..).take(count).map(|at| edges[digit(at)]).collect()
    })
}

#[test]
fn functions_of_several_numbers_are_within_their_bounds_of_edges_and_drawn_ones() {
    let edges = edges(Float32);
    check(
        Float32,
        |it| !is_unary(it),
        |function| {
            let count = function.arity + function.parameters;
            let mut random = Random::new(function.name);
            let edges = edges.as_slice();
            let drawn = (0..DRAWN)
                .map(move |_| (0..count).map(|_| argument(&mut random, edges)).collect::<Vec<_>>());
            tuples(edges, count).chain(drawn)
        },
    );
}
