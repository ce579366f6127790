//! The check: refusals have a readable message, and lowered operators give the reference's bytes on the host
//! and touch no others.

use dml::HResult;
use dml::core::operators::MOST_ROI_SAMPLES;
use dml::core::plan::{Aliases, Plan, Step};
use dml::core::schema::FieldKind;
use dml::core::{Capabilities, Error, TensorLayout, Validated, validate};
use dml::vk::{Concurrency, derive_barriers};
use dml_conformance::execute::{self, Executor as _, Interpreter, Lowering, plan_text};
use dml_ops::{Target, TransferUse};
use dml_reference::GUARD;

use super::draw::Draw;

/// Tensors of more bytes are lowered but not executed.
const MOST_BYTES: u64 = 1 << 18;
/// Tensors of more elements are not executed either.
const MOST_ELEMENTS: u64 = 1 << 14;
/// The longest error message, which must be one line.
const MOST_CHARACTERS: usize = 1000;

/// The outcome of a descriptor without a defect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The results are the reference's bytes.
    Equal {
        /// The operator.
        operator: &'static str,
        /// The strategy, or `in place`.
        strategy: &'static str,
        /// The number of bytes that were compared, guards included.
        bytes: u64,
    },
    /// Lowered, but too large to be executed here.
    TooLarge,
    /// Validation refused this field, or the feature level.
    Refused(String),
    /// Lowering refused it because of this limit.
    Limit(&'static str),
}

/// Checks one draw.
///
/// # Errors
/// A description of the defect.
pub fn check(draw: &Draw) -> Result<Outcome, String> {
    let lowering = CheckedLowering { draw };
    let interpreter = Interpreter::new(&draw.capabilities, draw.transfer, Some(&lowering))
        .with_tuning(draw.tuning);
    let compiled = match interpreter.compile(&draw.case.operator, draw.level) {
        Ok(compiled) => compiled,
        Err(dml::Error::Operator(error)) => return refusal(&error, draw),
        Err(error) => return Err(format!("refused in the wrong way: {error}")),
    };
    let operator = compiled.operator();
    let mut case = draw.case.clone();
    let plan = match compiled.plan(&case) {
        Ok(plan) => plan,
        Err(error) => return refusal(&error, draw),
    };
    // Only a changed descriptor may lack the in-place pairs that its operator's case has.
    if draw.is_changed && plan.allowed(&case.aliases()).is_none() {
        case.in_place.clear();
    }
    if !align(&mut case, &plan) || is_large(operator) {
        return Ok(Outcome::TooLarge);
    }
    let memory = execute::memory(operator, &case, draw.tuning.numerics)?;
    let after = compiled.execute(&case, &memory)?;
    let bytes = memory.check(&after).map_err(|difference| difference.problem)?;
    if bytes == 0 {
        return Err("nothing was compared".to_owned());
    }
    let is_in_place = !case.in_place.is_empty();
    let strategy = if is_in_place { "in place" } else { plan.strategy.name() };
    Ok(Outcome::Equal { operator: operator.schema().name, strategy, bytes })
}

/// A description of a draw's steps.
///
/// # Errors
/// The draw is refused.
pub(super) fn plan(draw: &Draw) -> Result<String, String> {
    let operator = validate(&draw.case.operator, draw.level).map_err(|it| it.to_string())?;
    let is_storage_only = draw.case.storage_only || draw.transfer == TransferUse::StorageOnly;
    let transfer = if is_storage_only { TransferUse::StorageOnly } else { TransferUse::Allowed };
    let target = Target { capabilities: &draw.capabilities, tuning: draw.tuning, transfer };
    let plan = dml_ops::lower(&operator, &target).map_err(|it| it.to_string())?;
    Ok(format!("{}\n{}", plan.strategy, plan_text::text(&plan, &draw.case.aliases())))
}

/// Checks that a refusal has a proper message.
fn refusal(error: &Error, draw: &Draw) -> Result<Outcome, String> {
    let text = error.to_string();
    let operator = draw.case.operator.schema().name;
    if !text.starts_with(operator) || text.contains('\n') || text.len() > MOST_CHARACTERS {
        return Err(format!("refused in no words for people: {text}"));
    }
    match error {
        Error::Invalid { field, .. } => Ok(Outcome::Refused(rule(&field.path))),
        Error::FeatureLevel(_) => Ok(Outcome::Refused("feature level".to_owned())),
        Error::NestedNotImplemented { .. } => Ok(Outcome::Refused("nested operator".to_owned())),
        Error::DeviceLimit { limit, needed, available, .. } => {
            let is_reason =
                needed > available && error.hresult() == HResult::DXGI_ERROR_UNSUPPORTED;
            is_reason.then_some(Outcome::Limit(limit)).ok_or_else(|| format!("no reason: {text}"))
        }
        _ => Err(format!("refused in the wrong way: {text}")),
    }
}

/// The last member of a path, without an index.
fn rule(path: &str) -> String {
    let leaf = path.rsplit('.').next().unwrap_or(path);
    leaf.split('[').next().unwrap_or(leaf).to_owned()
}

/// Moves the tensors to offsets with the alignment that their descriptors promise; false if those are far.
fn align(case: &mut dml_reference::Case, plan: &Plan) -> bool {
    let most = |list: &[Option<dml::core::plan::BindingRequirement>]| {
        list.iter().flatten().map(|it| u64::from(it.alignment)).max().unwrap_or(1)
    };
    let up = |offset: u64, alignment| (GUARD + offset).next_multiple_of(alignment) - GUARD;
    let (inputs, outputs) = (most(&plan.inputs), most(&plan.outputs));
    case.input_offset = up(case.input_offset, inputs);
    case.output_offset = up(
        case.output_offset,
        if case.in_place.is_empty() { outputs } else { inputs.max(outputs) },
    );
    case.input_offset.max(case.output_offset) <= MOST_BYTES
}

fn is_large(operator: &Validated) -> bool {
    let layouts = |kind| operator.tensors(kind).filter_map(|(_, layout)| layout);
    let is_large =
        |it: &TensorLayout| it.total_size() > MOST_BYTES || it.element_count() > MOST_ELEMENTS;
    let elements: u64 = layouts(FieldKind::Output).map(TensorLayout::element_count).sum();
    layouts(FieldKind::Input).chain(layouts(FieldKind::Output)).any(is_large)
        || elements * samples(operator) > MOST_ELEMENTS * 4
}

/// The elements that are read for each one of the output and that no tensor's size shows: samples of regions.
fn samples(operator: &Validated) -> u64 {
    let most = operator.uint("MaximumSamplesPerOutput").unwrap_or(1).min(MOST_ROI_SAMPLES);
    u64::from(most.max(1)).pow(2)
}

/// Lowers as the runtime does, checks the plan as the device does, and may reverse the order of steps that
/// the derived barriers allow a device to execute in any order.
struct CheckedLowering<'a> {
    draw: &'a Draw,
}

impl Lowering for CheckedLowering<'_> {
    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let mut plan = dml_ops::lower(operator, target)?;
        let capabilities = target.capabilities;
        plan.check(capabilities).map_err(|error| Error::Internal {
            operator: operator.schema().name,
            problem: error.to_string(),
        })?;
        if self.draw.is_reversed {
            reverse(&mut plan.init, &Aliases::NONE, capabilities);
            reverse(&mut plan.exec, &self.draw.case.aliases(), capabilities);
            for in_place in &mut plan.in_place {
                reverse(in_place.own_steps_mut(), &Aliases::NONE, capabilities);
            }
        }
        Ok(plan)
    }
}

/// Reverses the order of the steps between any two adjacent barriers.
fn reverse(steps: &mut [Step], aliases: &Aliases, capabilities: &Capabilities) {
    let alignment = capabilities.limits.min_storage_buffer_offset_alignment;
    let barriers = derive_barriers(steps, aliases, alignment, Concurrency::Declared);
    let starts = (0..steps.len()).filter(|at| barriers[*at].is_some());
    let mut ends: Vec<usize> = starts.collect();
    ends.push(steps.len());
    let mut start = 0;
    for end in ends {
        steps[start..end].reverse();
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml::core::Strategy;
    use dml_reference::{Input, MemoryAfter, Random, Signature};

    #[test]
    fn an_element_that_is_not_written_and_an_input_that_is_are_found() {
        let mut checked = 0;
        for reference in dml_reference::REFERENCES.iter() {
            let types = vec![dml::DataType::Int16; reference.schema().type_parameters().count()];
            let minimal = reference.minimal(&Signature { types, rank: 4 });
            // Those of one element, in a type that they take everywhere.
            let Ok(operator) = validate(&minimal, dml::FeatureLevel::HIGHEST) else { continue };
            let case = dml_reference::Case::new("a", minimal);
            let mut memory = execute::memory(&operator, &case, dml::Numerics::Exact).unwrap();
            let outputs =
                memory.outputs.iter().map(|output| Some(output.as_ref()?.tensor.before.clone()));
            let inputs =
                memory.inputs.iter().map(|input| Some(input.as_ref()?.tensor.before.clone()));
            let mut after = MemoryAfter { inputs: inputs.collect(), outputs: outputs.collect() };
            let found = memory.check(&after).unwrap_err().problem;
            assert!(found.contains("(not written)"), "{found}");
            let expected = memory.outputs[0].as_ref().unwrap();
            if expected.elements.len() != 1 || memory.outputs.len() != 1 {
                continue;
            }
            checked += 1;
            let (output, at) =
                (after.outputs[0].as_mut().unwrap(), usize::try_from(GUARD).unwrap());
            output[at..at + 2].copy_from_slice(&expected.elements[0].to_le_bytes()[..2]);
            assert_eq!(memory.check(&after), Ok(bytes(&after)));
            let tensor = expected.tensor.clone();
            after.inputs = vec![Some(vec![0; 4])];
            memory.inputs = vec![Some(Input { tensor, is_owned: false, output: None })];
            let found = memory.check(&after).unwrap_err().problem;
            assert!(found.contains("input 0 was written to"), "{found}");
        }
        assert!(checked > 6, "{checked}");
    }

    fn bytes(after: &MemoryAfter) -> u64 {
        after.inputs.iter().chain(&after.outputs).flatten().map(|input| input.len() as u64).sum()
    }

    fn outcomes(count: u32, draw: impl Fn(&mut Random) -> Draw) -> Vec<Outcome> {
        let outcome = |at: u32| {
            let draw = draw(&mut Random::new(&format!("test/{at}")));
            check(&draw).unwrap_or_else(|it| panic!("{at}: {:?}: {it}", draw.case.operator))
        };
        (0..count).map(outcome).collect()
    }

    #[test]
    fn random_plans_give_the_reference_s_bytes_and_most_are_executed() {
        let mut outcomes = outcomes(16_000, Draw::new);
        let equal =
            outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Equal { .. })).count();
        assert!(equal > 10_000, "{equal}");
        // Every operator is drawn as often; this one alone has strategies of its own.
        let diagonal = *dml_reference::REFERENCES
            .iter()
            .find(|it| it.schema().name == "DIAGONAL_MATRIX")
            .unwrap();
        outcomes.extend(self::outcomes(1_000, |random| Draw::of(diagonal, random)));
        // FLOAT16 on a device that has all that it takes is too rare.
        let drawn = Strategy::ALL.into_iter().filter(|it| *it != Strategy::CooperativeMatrices);
        for strategy in drawn.map(Strategy::name).chain(["in place"]) {
            let is = |it: &&Outcome| matches!(it, Outcome::Equal { strategy: found, .. } if *found == strategy);
            let count = outcomes.iter().filter(is).count();
            assert!(count > 0, "{strategy}");
        }
        for wanted in ["Strides", "Sizes", "TotalTensorSizeInBytes", "Flags", "feature level"] {
            let wanted = Outcome::Refused(wanted.to_owned());
            assert!(outcomes.contains(&wanted), "{wanted:?}");
        }
        assert!(outcomes.iter().any(|outcome| matches!(outcome, Outcome::Limit(_))));
    }
}
