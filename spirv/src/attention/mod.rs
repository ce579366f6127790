//! Kernels for attention: the scores of queries and keys, their softmax, and the weighted sum of values, without a buffer
//! for scores.

mod host;

use dml_core::capabilities::with_float_modes;
use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelModule, Shared};

use crate::NativeTypes;
use crate::element_wise::{
    Calls, DIMENSIONS, Formula, FunctionCall, KernelOperand, LinkedKernel, LinkedKernels, Quads,
    Registers, Source, Value, operands, touch,
};
use crate::functions::{self as f, Function};
use crate::kernels;
use crate::link::{self, Argument, Body, Call, Callee, Source as Skeleton};
use crate::reduce::{Elements, Form, GREATEST_F32, Joining, Reducer, STATE_AT, SUM_F32};
use crate::rows::set_row;

/// Queries of a work group.
pub const QUERIES: u32 = 32;
/// Keys of a tile.
pub const KEYS: u32 = 64;
/// The most keys: the kernel joins fewer than 1 << 7 blocks of 128 weights.
pub const MOST_KEYS: u32 = 128 * ((1 << 7) - 1);
/// Elements that a value may have.
pub const MOST_ELEMENTS: u32 = 256;

/// Where [`crate::element_wise::Record`] has the queries, the keys and the elements of a value among its sizes; before them
/// are batches and heads, and the last one has the depths.
pub const QUERY_DIMENSION: usize = 4;
/// The keys. Operands that are inputs of scores go along them in the last dimension.
pub const KEY_DIMENSION: usize = 5;
/// The elements of a value. Values and the output go along them in the last dimension.
pub const ELEMENT_DIMENSION: usize = 6;

/// Among the values of a query: its greatest score.
pub const GREATEST: usize = 0;
/// Among the values of a query: the sum of its weights.
pub const SUM: usize = 1;

/// The skeletons by the elements of a value that they have room for.
static SKELETONS: [(u32, &Skeleton); 3] = [
    (64, &kernels::ATTENTION_OF_64),
    (128, &kernels::ATTENTION_OF_128),
    (256, &kernels::ATTENTION_OF_256),
];

/// The kernels that are linked already.
static LINKED: LinkedKernels<(Attention, NativeTypes)> = LinkedKernels::new();

/// A kernel for attention: what is linked for it. The record is that of an element-wise kernel with all dimensions.
///
/// A formula reads operands by [`crate::element_wise::Source::Operand`], the values of a query, [`GREATEST`] and [`SUM`], by
/// [`crate::element_wise::Source::Row`], and by [`crate::element_wise::Source::Kept`] what was computed before: the product of a query and
/// a key, a weight, or a weighted value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attention {
    /// Numbers of 32 bits that are multiplied, of operand 0, 1 and 2: queries, keys and values.
    pub factors: [Formula; 3],
    /// A score, of a product.
    pub score: Formula,
    /// The score that weights are relative to, of the greatest one of the keys; without a formula it is that one. A sink
    /// may be greater.
    pub greatest_epilogue: Option<Formula>,
    /// A weight, of a product and the greatest score.
    pub weight: Formula,
    /// The sum of weights, of that of the keys; without a formula it is that one. A sink adds its own weight.
    pub sum_epilogue: Option<Formula>,
    /// The factor of a value, of a weight and the sum of weights; without a formula it is the weight, and there is one
    /// pass over the keys fewer.
    pub share: Option<Formula>,
    /// An element of the output, of a weighted value and the sum of weights.
    pub result: Formula,
    /// Queries, keys, values, and inputs of scores; none is displaced.
    pub inputs: Vec<KernelOperand>,
    /// The operand that is written.
    pub output: KernelOperand,
    /// Elements of a value that there is room for: 64, 128 or 256.
    pub elements: u32,
    /// How often it goes through the keys.
    pub passes: Passes,
}

/// How often a kernel goes through the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passes {
    /// For the greatest score, then for weights: the bits of separate products and reductions.
    Several,
    /// Once, by online softmax: the share is applied to weighted values. Only where [`can_be_online`]. Its bits are
    /// others; the host computes those of several passes.
    Once,
}

/// Whether weights and shares are such that weighted values may be scaled instead of them: a weight is an exponential of the
/// distance of a score to the greatest one, and a share is its quotient by the sum, each at most rounded to another type.
/// The score that weights are relative to is the greatest one of the keys and others.
pub fn can_be_online(
    greatest_epilogue: Option<&Formula>,
    weight: &Formula,
    share: Option<&Formula>,
) -> bool {
    greatest_epilogue.is_none_or(is_maximum)
        && is_exponential(weight)
        && share.is_none_or(is_quotient)
}

/// Whether a value of a query is the maximum of a value and something else.
fn is_maximum(epilogue: &Formula) -> bool {
    matches!(epilogue.program.steps.as_slice(), [step] if is(step, &f::MAXIMUM_F32))
}

fn is(step: &FunctionCall, function: &'static Function) -> bool {
    std::ptr::eq(step.function, function)
}

/// Whether a step only rounds a number to FLOAT16, or reads such a number.
fn is_rounding(step: &FunctionCall) -> bool {
    is(step, &f::F32_TO_F16) || is(step, &f::F16_TO_F32)
}

/// Whether a weight is the exponential of a score less the greatest one, which nothing else reads.
fn is_exponential(weight: &Formula) -> bool {
    let steps = &weight.program.steps;
    let is_greatest = |value: &Value| matches!(value, Value::Input(at) if weight.sources[*at] == Source::Row(GREATEST));
    let subtracts = |step: &FunctionCall, function| {
        is(step, function) && !is_greatest(&step.arguments[0]) && is_greatest(&step.arguments[1])
    };
    let is_power = |step: &FunctionCall| match step.arguments.as_slice() {
        [Value::Result(at)] => is(step, &f::EXP_F32) && subtracts(&steps[*at], &f::SUBTRACT_F32),
        _ => subtracts(step, &f::EXP_BELOW_F32),
    };
    let mut readers = steps.iter().filter(|step| step.arguments.iter().any(is_greatest));
    let is_read_once = readers.next().is_some() && readers.next().is_none();
    let power = steps.iter().position(is_power);
    is_read_once && power.is_some_and(|at| steps[at + 1..].iter().all(is_rounding))
}

/// Whether a share is the quotient of a weight and the sum.
fn is_quotient(share: &Formula) -> bool {
    let [first, rest @ ..] = share.program.steps.as_slice() else { return false };
    share.sources == [Source::Kept, Source::Row(SUM)]
        && is(first, &f::DIVIDE_F32)
        && first.arguments[..] == [Value::Input(0), Value::Input(1)]
        && rest.iter().all(is_rounding)
}

impl Attention {
    /// The least room for the elements of a value; `None` beyond [`MOST_ELEMENTS`].
    pub fn room(elements: u32) -> Option<u32> {
        SKELETONS.iter().map(|(room, _)| *room).find(|room| *room >= elements)
    }

    fn skeleton(&self) -> &'static Skeleton {
        let mut skeletons = SKELETONS.iter();
        let (_, skeleton) =
            skeletons.find(|(room, _)| *room == self.elements).expect("a room of a skeleton");
        skeleton
    }

    /// The kernel's SPIR-V, with the bindings of an element-wise one. It may use `types`.
    pub fn spirv(&self, types: NativeTypes) -> Vec<u32> {
        let epilogue = |name, formula: &Option<Formula>| {
            formula.as_ref().map(|it| (name, self.query_value(it, types)))
        };
        let greatest = &self.greatest_epilogue;
        let mut phases = match self.passes {
            Passes::Once => vec![("online_phase", self.online(types))],
            Passes::Several => vec![("greatest_phase", self.greatest(types))],
        };
        match (self.passes, &self.share) {
            (Passes::Once, _) => {
                // The weights so far are made relative to another score.
                let change = ("change", self.change(types));
                let own = epilogue("online_greatest_phase", greatest);
                phases.extend(own.map(|(name, bodies)| (name, [bodies, vec![change]].concat())));
                phases.push(("online_sum_phase", vec![]));
            }
            (Passes::Several, share) => {
                phases.extend(epilogue("greatest_epilogue_phase", greatest));
                let pass = if share.is_some() { "sum_phase" } else { "sum_and_value_phase" };
                phases.push((pass, self.sum(types)));
            }
        }
        phases.extend(epilogue("sum_epilogue_phase", &self.sum_epilogue));
        if self.passes == Passes::Several && self.share.is_some() {
            phases.push(("value_phase", self.shares(types)));
        }
        phases.push(("write_phase", self.results(types)));
        let call = |(name, bodies): (&'static str, Vec<Body>)| {
            let bodies = bodies.into_iter().chain(self.loads(types)).collect();
            Call { callee: Callee::Instance { name, bodies }, arguments: vec![] }
        };
        let bodies = [("phases", phases.into_iter().map(call).collect())];
        with_float_modes(&link::link(self.skeleton(), &bodies), types.float16.modes())
    }

    fn calls(&self, types: NativeTypes) -> Calls<'_> {
        Calls::new(&self.inputs, types)
    }

    /// Quads of queries, keys and values.
    fn loads(&self, types: NativeTypes) -> impl Iterator<Item = Body> {
        let names = ["query", "key", "value"].into_iter().zip(&self.factors);
        names.map(move |(name, factor)| {
            let mut calls = self.calls(types);
            let value = factor.result(&mut calls);
            let arguments = vec![Argument::Parameter(STATE_AT), value[0]];
            calls.call(Callee::Exported("replace"), arguments);
            (name, calls.made)
        })
    }

    /// Joins scores to the greatest one.
    fn greatest(&self, types: NativeTypes) -> Vec<Body> {
        let mut quad = self.calls(types);
        let score = self.score.result(&mut quad);
        self.joined(&GREATEST_F32, quad, score, GREATEST, types)
    }

    /// Joins scores to the greatest one, and computes weights.
    fn online(&self, types: NativeTypes) -> Vec<Body> {
        let mut element = self.calls(types);
        let kept = self.weight.result(&mut element);
        let own = [("element", keep(element, &kept)), ("change", self.change(types))];
        self.greatest(types).into_iter().chain(own).collect()
    }

    /// Computes the factors of weights that become relative to another score.
    fn change(&self, types: NativeTypes) -> Vec<Call> {
        let mut change = self.calls(types);
        let scores = [0, 1]
            .map(|at| vec![change.call(Callee::Exported("held"), vec![Argument::Parameter(at)])]);
        let power = change.apply(&f::EXP_BELOW_F32, &scores, &[]);
        change.call(Callee::Exported("replace"), vec![Argument::Parameter(0), power[0]]);
        change.made
    }

    /// Computes a value of a query of its values so far.
    fn query_value(&self, formula: &Formula, types: NativeTypes) -> Vec<Body> {
        let mut element = self.calls(types);
        let value = formula.result(&mut element);
        vec![("element", keep(element, &value))]
    }

    /// Computes weights, and joins them to their sum.
    fn sum(&self, types: NativeTypes) -> Vec<Body> {
        let mut quad = self.calls(types);
        let weight = vec![quad.call(Callee::Exported("kept"), vec![])];
        let mut element = self.calls(types);
        let kept = self.weight.result(&mut element);
        let bodies = self.joined(&SUM_F32, quad, weight, SUM, types);
        bodies.into_iter().chain([("element", keep(element, &kept))]).collect()
    }

    /// Computes what values are multiplied by.
    fn shares(&self, types: NativeTypes) -> Vec<Body> {
        let mut element = self.calls(types);
        let mut kept = self.weight.result(&mut element);
        if let Some(share) = &self.share {
            element.call(Callee::Exported("keep"), vec![kept[0]]);
            kept = share.result(&mut element);
        }
        vec![("element", keep(element, &kept))]
    }

    /// Writes the output.
    fn results(&self, types: NativeTypes) -> Vec<Body> {
        let mut element = self.calls(types);
        if let (Passes::Once, Some(share)) = (self.passes, &self.share) {
            // A share is at most 1, and may be rounded to FLOAT16; a weighted value need not fit there.
            let mut quotient = share.clone();
            quotient.program.steps.own().truncate(1);
            let kept = quotient.result(&mut element);
            element.call(Callee::Exported("keep"), vec![kept[0]]);
        }
        let result = self.result.result(&mut element);
        element.store(self.output, &result);
        vec![("element", element.made)]
    }

    /// The bodies by which a phase joins a quad of numbers to a value of the query.
    fn joined(
        &self,
        reducer: &'static Reducer,
        quad: Calls<'_>,
        number: Registers,
        value: usize,
        types: NativeTypes,
    ) -> Vec<Body> {
        let (elements, quads) = (Elements::Values, Quads::default());
        let joining = Joining { reducer, elements, form: Form::Group, quads };
        let mut quad = quad;
        let state = joining.state_of(&mut quad, number);
        let mut row = self.calls(types);
        let result = joining.result(&mut row);
        let own = [("quad", joining.quad(quad, state)), ("row", set_row(row, value, &result))];
        joining.bodies(types).into_iter().chain(own).collect()
    }

    /// The kernel as plans name it, which may use `types`, linked if nobody has it now.
    pub fn variant(&self, types: NativeTypes) -> Shared<KernelModule> {
        LINKED.get((self.clone(), types), |(it, _)| it.module(types))
    }

    fn module(&self, types: NativeTypes) -> KernelModule {
        let skeleton = self.skeleton();
        let formulas = self.factors.iter().chain([&self.score]).chain(&self.greatest_epilogue);
        let formulas = formulas.chain([&self.weight]).chain(&self.sum_epilogue);
        let formulas = formulas.chain(&self.share).chain([&self.result]).map(Formula::name);
        let formulas: Vec<String> = formulas.collect();
        let operands = operands(&self.inputs, self.output);
        let passes = if self.passes == Passes::Once { " online" } else { "" };
        let name = format!("{}{passes} {} {operands}", skeleton.name, formulas.join("; "));
        let kernel = self.clone();
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(&kernel, dispatch);
        let linked =
            LinkedKernel { name, spirv: self.spirv(types), skeleton, host: Box::new(host) };
        linked.module(&self.inputs, touch(self.output))
    }
}

/// The body that keeps what `calls` has computed.
fn keep(mut calls: Calls<'_>, value: &Registers) -> Vec<Call> {
    calls.call(Callee::Exported("keep"), vec![value[0]]);
    calls.made
}

/// All dimensions of a record but the last are outer ones.
const OUTER_DIMENSIONS: usize = DIMENSIONS - 1;
