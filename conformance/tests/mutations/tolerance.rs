//! Every operator's tolerance is as tight as it says: results that are a little farther off are found.

use std::collections::BTreeSet;

use dml::core::plan::{Plan, Slot};
use dml::core::schema::{Comparison, FieldKind, OperatorSchema};
use dml::core::{DataTypeSet, Error, Validated, validate};
use dml::{AbstractOperator, DataType, FeatureLevel};
use dml_conformance::cases::{BadBinding, Case, Filter, Kind, all, random};
use dml_conformance::execute::{Details, Executable, Executor, Lowering, Runtime, run};
use dml_conformance::pattern::Pattern;
use dml_conformance::results::ResultCode;
use dml_reference::{Case as CornerCase, Memory, MemoryAfter, Output};

use crate::{THOROUGH, findings, found, interpreter, on_a_device};

/// Executes as another does, and then changes bits of one element of an output.
struct Nudged<'a> {
    executor: &'a dyn Executor,
    output: usize,
    bits: u64,
}

impl Executor for Nudged<'_> {
    fn compile(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        let inner = self.executor.compile(operator, level)?;
        Ok(Box::new(NudgedOperator { nudged: self, inner }))
    }
}

struct NudgedOperator<'a> {
    nudged: &'a Nudged<'a>,
    inner: Box<dyn Executable + 'a>,
}

impl Executable for NudgedOperator<'_> {
    fn operator(&self) -> &Validated {
        self.inner.operator()
    }

    fn plan(&self, corner: &CornerCase) -> Result<Plan, Error> {
        self.inner.plan(corner)
    }

    fn execute(&self, corner: &CornerCase, memory: &Memory) -> Result<MemoryAfter, String> {
        let mut after = self.inner.execute(corner, memory)?;
        let Nudged { output, bits, .. } = *self.nudged;
        if let (Some(Some(output)), Some(Some(bytes))) =
            (memory.outputs.get(output), after.outputs.get_mut(output))
        {
            nudge(output, bytes, bits);
        }
        Ok(after)
    }

    fn bind(&self, wrong: Option<(Slot, BadBinding)>) -> Option<dml::Result<()>> {
        self.inner.bind(wrong)
    }
}

/// Changes `bits` of the element in the middle.
fn nudge(output: &Output, bytes: &mut [u8], bits: u64) {
    let count = output.layout.element_count();
    let middle = usize::try_from(count / 2).unwrap();
    let place = output.layout.element_offsets().nth(middle).unwrap();
    let first = output.tensor.offset * 8 + place * u64::from(output.layout.data_type().bits());
    for bit in (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit) {
        bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
    }
}

/// The cases of one operator at the highest level that have outputs.
fn cases_of(operator: &dml_ops::Operator) -> Vec<Case> {
    let name = operator.schema().name.to_lowercase();
    let is_its = |case: &&Case| case.id.operator == name && case.kind() == Kind::Outputs;
    THOROUGH.iter().filter(is_its).cloned().collect()
}

/// The types of the outputs of a case.
fn output_types(case: &Case) -> Vec<DataType> {
    let outputs = case.operator.bindings(FieldKind::Output);
    outputs.filter_map(|(_, tensor)| Some(tensor?.data_type)).collect()
}

/// Whether of each output that may have `data_type` some case finds that it has other `bits` in one element.
fn is_found(cases: &[Case], executor: &dyn Executor, data_type: DataType, bits: u64) -> bool {
    let outputs = cases.iter().map(|case| output_types(case).len()).max().unwrap_or(0);
    (0..outputs).all(|output| {
        let nudged = Nudged { executor, output, bits };
        let has_it = |case: &&Case| output_types(case).get(output) == Some(&data_type);
        let is_seen = |case| run(case, &nudged, Details::Failures).result != ResultCode::Pass;
        let mut with_it = cases.iter().filter(has_it).peekable();
        with_it.peek().is_none() || with_it.any(is_seen)
    })
}

#[test]
fn where_nothing_is_tolerated_the_last_bit_of_one_element_is_found() {
    let interpreter = interpreter(&Runtime);
    let mut checked = 0;
    for operator in dml_ops::OPERATORS.iter() {
        let (schema, cases) = (operator.schema(), cases_of(operator));
        let types: BTreeSet<DataType> = cases.iter().flat_map(output_types).collect();
        assert!(!types.is_empty(), "{} has no case with outputs", schema.name);
        for data_type in types {
            if matches!(schema.comparison(data_type), Comparison::Ulp(1..)) {
                continue;
            }
            let is_found = is_found(&cases, &interpreter, data_type, 1);
            assert!(is_found, "{}: no case sees the last bit of {data_type}", schema.name);
            checked += 1;
        }
    }
    eprintln!("{checked} types of outputs that allow nothing");
}

/// Operators as if their rows allowed something else for floating-point results.
struct Allowing(u32);

impl Lowering for Allowing {
    fn validate(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> Result<Validated, Error> {
        let comparisons = Vec::leak(vec![(DataTypeSet::ALL, Comparison::Ulp(self.0))]);
        let schema = OperatorSchema { comparisons, varied: None, ..*operator.schema() };
        // It lives as long as the program, as any schema does.
        let schema: &'static OperatorSchema = Box::leak(Box::new(schema));
        validate(&AbstractOperator::new(schema, operator.fields().to_vec())?, level)
    }
}

/// Whether some case finds that half of `allowed` is too little: on the host, else on a device.
fn is_found_with_half(cases: &[Case], allowed: u32) -> bool {
    let half = Allowing(allowed / 2);
    let is_found = |executor: &dyn Executor| found(cases, executor).next().is_some();
    if is_found(&interpreter(&half)) {
        return true;
    }
    let on_devices = std::cell::Cell::new(false);
    on_a_device(&half, |_, executor| {
        on_devices.set(on_devices.get() || is_found(executor));
    });
    on_devices.get()
}

/// A tolerance of which half would do is too wide. 1 unit is the least that anything has which is not rounded
/// correctly, and has no half.
#[test]
fn half_the_tolerance_fails_somewhere_for_each_operator_that_has_one() {
    let mut too_wide = vec![];
    for operator in dml_ops::OPERATORS.iter() {
        let schema = operator.schema();
        for data_type in DataType::ALL {
            let Comparison::Ulp(allowed @ 2..) = schema.comparison(data_type) else { continue };
            let mut cases = cases_of(operator);
            cases.retain(|case| output_types(case).contains(&data_type));
            if cases.is_empty() || is_found_with_half(&cases, allowed) {
                continue;
            }
            let pattern: Pattern = format!("*/{}/*", schema.name.to_lowercase()).parse().unwrap();
            let filter = Filter::new(Some(&pattern));
            let more = all(FeatureLevel::HIGHEST, &filter);
            let drawn = random(FeatureLevel::HIGHEST, &filter, 40, 0);
            let mut more: Vec<Case> = more.chain(drawn).collect();
            more.retain(|case| {
                case.kind() == Kind::Outputs && output_types(case).contains(&data_type)
            });
            if !is_found_with_half(&more, allowed) {
                too_wide.push(format!("{}: {allowed} ULP for {data_type}", schema.name));
            }
        }
    }
    assert_eq!(too_wide, Vec::<String>::new(), "half of it is enough");
}

/// Shows that the test before can fail and can pass, whatever tolerances there are.
#[test]
fn results_two_units_off_need_a_tolerance_of_two() {
    let add = dml_ops::OPERATORS.iter().find(|it| it.schema().name == "ELEMENT_WISE_ADD").unwrap();
    let mut cases = cases_of(add);
    cases.retain(|case| output_types(case) == [DataType::Float32]);
    let found = |case: &Case, allowed| {
        let lowering = Allowing(allowed);
        let executor = interpreter(&lowering);
        findings(std::slice::from_ref(case), &Nudged { executor: &executor, output: 0, bits: 2 })
    };
    // The second bit of most numbers is two units.
    let needs_two = |case: &&Case| found(case, 1).len() == 1 && found(case, 2).is_empty();
    let needing = cases.iter().find(needs_two).expect("a case with a number in the middle");
    assert!(found(needing, 1)[0].contains("2 ULP apart, 1 allowed"), "{:?}", found(needing, 1));
    assert!(!is_found_with_half(std::slice::from_ref(needing), 4));
}
