//! Kernels for rows.

use dml_spirv::ElementWidth;
use dml_spirv::attention::{Attention, GREATEST, Passes, SUM, can_be_online};
use dml_spirv::element_wise::{
    AccessPattern, ElementFormula, Formula, KernelOperand, Quads, Source, Value,
};
use dml_spirv::functions;
use dml_spirv::reduce::{
    Elements, Form, GREATEST_F32, ROUNDED_SUM_F32, Reduce, Reducer, SEGMENT, SUM_F32, SUM_I32,
    SUM_STATE_F32,
};
use dml_spirv::rows::{Action, Destination, Phase, Rows};

/// A kernel that reduces rows.
pub(crate) fn reduce(
    reducer: &'static Reducer,
    access: AccessPattern,
    outer_dimensions: usize,
) -> Reduce {
    Reduce {
        program: ElementFormula::default(),
        reducer,
        ends: 0,
        last: ElementFormula::default(),
        inputs: vec![KernelOperand { width: reducer.width(), access }],
        elements: Elements::Values,
        form: Form::Blocks,
        grids: None,
        output: KernelOperand { width: reducer.output_width(), access: AccessPattern::Ragged },
        outer_dimensions,
        quads: Quads { are_whole: access == AccessPattern::Whole, in_every_row: 0 },
    }
}

/// A kernel that reduces grids.
pub(crate) fn reduce_grids(reducer: &'static Reducer) -> Reduce {
    let mut kernel = reduce(reducer, AccessPattern::Ragged, 7);
    kernel.grids = Some(kernel.inputs.len());
    kernel.inputs.push(KernelOperand { width: ElementWidth::B64, access: AccessPattern::Single });
    kernel
}

/// A kernel that adds up the products of a row with others.
pub(crate) fn products(reducer: &'static Reducer, form: Form) -> Reduce {
    let multiply = match *reducer == SUM_I32 {
        true => &functions::MULTIPLY_I32,
        false => &functions::MULTIPLY_F32,
    };
    let mut kernel = reduce(reducer, AccessPattern::Whole, 1);
    kernel.program.apply(multiply, [Value::Input(0), Value::Input(1)]);
    let row = if form == Form::Columns { AccessPattern::Single } else { AccessPattern::Whole };
    kernel.inputs = [row, AccessPattern::Whole]
        .map(|access| KernelOperand { access, ..kernel.inputs[0] })
        .into();
    Reduce { form, ..kernel }
}

/// A kernel that adds up the products of integers of so many bits, which have a zero point and a scale for each 32, and a row
/// that several of such rows have in common.
pub(crate) fn products_of_integers(width: ElementWidth) -> Reduce {
    let mut program = ElementFormula::default();
    let [row, number, scale, zero_point] = [0, 1, 2, 3].map(Value::Input);
    let number = program.apply(&functions::DEQUANTIZE_SMALL, [number, scale, zero_point]);
    program.apply(&functions::MULTIPLY_F32, [number, row]);
    let kernel = reduce(&ROUNDED_SUM_F32, AccessPattern::Whole, 1);
    let operand = |width, access| KernelOperand { width, access };
    let blocks = AccessPattern::Repeated(5);
    let inputs = vec![
        operand(ElementWidth::B32, AccessPattern::Whole),
        operand(width, AccessPattern::Whole),
        operand(ElementWidth::B32, blocks),
        operand(width, blocks),
    ];
    let kernel = Reduce { program, inputs, ..kernel };
    let form = kernel.common_factor(|input| input == 0).expect("a common factor");
    assert_eq!(form, Form::CommonFactor { argument: 1 });
    Reduce { form, ..kernel }
}

/// A kernel for rows, whose inputs are rows of whole quads, and after these single elements.
fn rows(form: Form, phases: Vec<Phase>, inputs: [usize; 2]) -> Rows {
    let operand = |access| KernelOperand { width: ElementWidth::B32, access };
    let [of_rows, single] = inputs;
    let mut inputs = vec![operand(AccessPattern::Whole); of_rows];
    inputs.extend(vec![operand(AccessPattern::Single); single]);
    let quads = Quads { are_whole: form != Form::OneBlock, in_every_row: 0 };
    Rows { phases, inputs, output: operand(AccessPattern::Whole), form, outer_dimensions: 1, quads }
}

fn phase(sources: &[Source], program: ElementFormula, action: Action) -> Phase {
    Phase { formula: Formula { sources: sources.to_vec(), program }, action }
}

/// The greatest element, powers, their sum and shares. What is kept is the output, bound once more, or in registers.
pub(crate) fn softmax(form: Form) -> Rows {
    let reduce = |reducer| Action::Reduce { reducer, last: ElementFormula::default() };
    let (keep, kept) = match form {
        Form::Group => (Action::Keep, Source::Kept),
        Form::Blocks | Form::OneBlock | Form::Long => (Action::Write, Source::Operand(1)),
        Form::Columns | Form::CommonFactor { .. } | Form::ColumnGroups | Form::Segments => {
            unreachable!("no whole group of rows has it")
        }
    };
    let powers = ElementFormula::of(&functions::EXP_BELOW_F32);
    let phases = vec![
        phase(&[Source::Operand(0)], ElementFormula::default(), reduce(&GREATEST_F32)),
        phase(&[Source::Operand(0), Source::Row(0)], powers, keep),
        phase(&[kept], ElementFormula::default(), reduce(&SUM_F32)),
        phase(&[kept, Source::Row(1)], ElementFormula::of(&functions::DIVIDE_F32), Action::Write),
    ];
    rows(form, phases, [2, 0])
}

/// Elements over the root of their sum of squares and a number.
pub(crate) fn norm(form: Form) -> Rows {
    let mut squares = ElementFormula::default();
    squares.apply(&functions::MULTIPLY_F32, [Value::Input(0), Value::Input(0)]);
    let reduce =
        Action::Reduce { reducer: &SUM_F32, last: ElementFormula::of(&functions::SQUARE_ROOT_F32) };
    let [add, divide] = [&functions::ADD_F32, &functions::DIVIDE_F32].map(ElementFormula::of);
    let phases = vec![
        phase(&[Source::Operand(0)], squares, reduce),
        phase(&[Source::Row(0), Source::Operand(1)], add, Action::Row),
        phase(&[Source::Operand(0), Source::Row(1)], divide, Action::Write),
    ];
    rows(form, phases, [1, 1])
}

/// The root of the sum of each row, as FLOAT16.
pub(crate) fn root_of_sum(form: Form) -> Rows {
    let (sum, last) = (&SUM_F32, ElementFormula::default());
    let (source, action) = match form {
        Form::Segments => (Source::Operand(1), Action::Join { reducer: sum, last }),
        _ => (Source::Operand(0), Action::Reduce { reducer: sum, last }),
    };
    let root = ElementFormula::chain([&functions::SQUARE_ROOT_F32, &functions::F32_TO_F16]);
    let phases = vec![
        phase(&[source], ElementFormula::default(), action),
        phase(&[Source::Row(0)], root, store(Destination::Output)),
    ];
    let output = KernelOperand { width: ElementWidth::B16, access: AccessPattern::Ragged };
    let mut kernel = Rows { output, ..rows(form, phases, [1, 0]) };
    kernel.inputs.extend((form == Form::Segments).then_some(STATES));
    kernel
}

fn store(to: Destination) -> Action {
    Action::Store { to }
}

/// The states of segments.
const STATES: KernelOperand =
    KernelOperand { width: ElementWidth::B64, access: AccessPattern::Repeated(SEGMENT.ilog2()) };

/// The kernels of a sum of squares for long rows: the states of segments; and elements over the joined sum, which is
/// written as well.
pub(crate) fn segments() -> [Rows; 2] {
    let mut squares = ElementFormula::default();
    squares.apply(&functions::MULTIPLY_F32, [Value::Input(0), Value::Input(0)]);
    let states = Action::Segment { reducer: &SUM_STATE_F32 };
    let first = rows(Form::Segments, vec![phase(&[Source::Operand(0)], squares, states)], [1, 0]);
    let output = KernelOperand { width: ElementWidth::B64, access: AccessPattern::Ragged };
    let join = Action::Join { reducer: &SUM_F32, last: ElementFormula::default() };
    let phases = vec![
        phase(&[Source::Operand(2)], ElementFormula::default(), join),
        phase(&[Source::Row(0)], ElementFormula::default(), store(Destination::Input(1))),
        phase(
            &[Source::Operand(0), Source::Row(0)],
            ElementFormula::of(&functions::DIVIDE_F32),
            Action::Write,
        ),
    ];
    let mut second = rows(Form::Segments, phases, [1, 1]);
    second.inputs.push(STATES);
    [Rows { output, ..first }, second]
}

/// Attentions of every room for elements.
pub(crate) fn attentions() -> Vec<(String, Attention)> {
    let rooms = [64, 128, 256].into_iter();
    let of_room = |room| {
        let by = ["weights", "shares", "weights and sinks"];
        let by = [by, ["weights online", "shares online", "weights and sinks online"]].concat();
        let names = by.into_iter().map(move |by| format!("attention of {room} by {by}"));
        names.zip(attentions_of(room))
    };
    rooms.flat_map(of_room).collect()
}

/// Attentions whose scores have a bias. Sums are divided by the sum of weights at the end, or weights before; each in several
/// passes and in one. Sinks are inputs of queries.
fn attentions_of(elements: u32) -> [Attention; 6] {
    let operand = |access| KernelOperand { width: ElementWidth::B32, access };
    let formula = |sources: &[Source], program| Formula { sources: sources.to_vec(), program };
    let copy = |source| formula(&[source], ElementFormula::default());
    let divide = || ElementFormula::of(&functions::DIVIDE_F32);
    let by_sum = || formula(&[Source::Kept, Source::Row(SUM)], divide());
    let bias = [Source::Kept, Source::Operand(3)];
    let mut weight = ElementFormula::of(&functions::ADD_F32);
    weight.apply(&functions::EXP_BELOW_F32, [weight.last(), Value::Input(2)]);
    let kernel = Attention {
        factors: [0, 1, 2].map(|at| copy(Source::Operand(at))),
        score: formula(&bias, ElementFormula::of(&functions::ADD_F32)),
        greatest_epilogue: None,
        weight: formula(&[bias[0], bias[1], Source::Row(GREATEST)], weight),
        sum_epilogue: None,
        share: None,
        result: by_sum(),
        inputs: vec![operand(AccessPattern::Whole); 4],
        output: operand(AccessPattern::Whole),
        elements,
        passes: Passes::Several,
    };
    let by_shares =
        Attention { share: Some(by_sum()), result: copy(Source::Kept), ..kernel.clone() };
    let online = |kernel: &Attention| {
        assert!(can_be_online(
            kernel.greatest_epilogue.as_ref(),
            &kernel.weight,
            kernel.share.as_ref()
        ));
        Attention { passes: Passes::Once, ..kernel.clone() }
    };
    let maximum = ElementFormula::of(&functions::MAXIMUM_F32);
    let mut sum = ElementFormula::of(&functions::EXP_BELOW_F32);
    sum.apply(&functions::ADD_F32, [Value::Input(2), sum.last()]);
    let by_sinks = Attention {
        greatest_epilogue: Some(formula(&[Source::Row(GREATEST), Source::Operand(4)], maximum)),
        sum_epilogue: Some(formula(
            &[Source::Operand(4), Source::Row(GREATEST), Source::Row(SUM)],
            sum,
        )),
        inputs: vec![operand(AccessPattern::Whole); 5],
        ..kernel.clone()
    };
    let all = [kernel, by_shares, by_sinks];
    let once = all.each_ref().map(online);
    let [a, b, c] = all;
    let [d, e, f] = once;
    [a, b, c, d, e, f]
}
