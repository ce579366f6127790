//! Operations that need more than a row of a table, and their attributes.

use dml_core::operators as tables;
use dml_core::{DataType, DepthSpaceOrder, FieldValue, IsInfinityMode, PaddingMode};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::{
    ApproximateGelu, BitCast, BitShift, Blocks, Bounds, Broadcast, Cast, CastLike, Clip, Concat,
    Dropout, Einsum, ElementWise, Equal, Equation, EyeLike, FLOOR_REMAINDER, Flatten, Function,
    GELU, Gather, Margins, NEVER_INFINITE, Op, Pad, Parts, REMAINDER, Reshape, RowOperators,
    ShapeOf, Slice, Softmax, Split, SwiGlu, Transpose, Trilu, Types, Unsqueeze, Zero,
};

use crate::onnx::attributes::Attributes;
use crate::onnx::tensor;
use crate::small_float::{PowerRounding, Rounding};

pub(super) type Built = Result<Box<dyn Op>>;

/// EyeLike's types from version 22 on; from version 9 on all but the last.
pub(super) static EYE_TYPES: [ElementType; 13] = [
    ElementType::Bool,
    ElementType::Dml(DataType::Float16),
    ElementType::Dml(DataType::Float32),
    ElementType::Dml(DataType::Float64),
    ElementType::Dml(DataType::Int8),
    ElementType::Dml(DataType::Int16),
    ElementType::Dml(DataType::Int32),
    ElementType::Dml(DataType::Int64),
    ElementType::Dml(DataType::Uint8),
    ElementType::Dml(DataType::Uint16),
    ElementType::Dml(DataType::Uint32),
    ElementType::Dml(DataType::Uint64),
    ElementType::Bfloat16,
];

pub(super) fn eye_like(it: &Attributes<'_>, types: &'static [ElementType]) -> Built {
    let dtype = it.int("dtype").map(|number| element(it, "dtype", number)).transpose()?;
    Ok(Box::new(EyeLike { dtype, k: it.int("k").unwrap_or(0), types }))
}

pub(super) fn trilu(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Trilu { upper: it.flag("upper", true) }))
}

pub(super) fn element(it: &Attributes<'_>, name: &str, number: i64) -> Result<ElementType> {
    tensor::element(number).ok_or_else(|| {
        let accepted = "the numbers of TensorProto.DataType, such as 1 for float";
        it.node.invalid(format!("attribute {name}"), number, "is not a type", accepted)
    })
}

pub(super) fn cast(it: &Attributes<'_>) -> Built {
    let to = it.int("to").ok_or_else(|| it.missing("to"))?;
    Ok(Box::new(Cast { to: element(it, "to", to)?, rounding: rounding(it)? }))
}

pub(super) fn cast_like(it: &Attributes<'_>) -> Built {
    Ok(Box::new(CastLike { rounding: rounding(it)? }))
}

/// The rounding to small floats.
pub(super) fn rounding(it: &Attributes<'_>) -> Result<Rounding> {
    let given = it.text("round_mode").unwrap_or_else(|| "up".to_owned());
    let powers = choice(it, "round_mode", &given, &ROUND_MODES)?;
    Ok(Rounding { saturates: it.flag("saturate", true), powers })
}

const ROUND_MODES: [(&str, PowerRounding); 3] =
    [("up", PowerRounding::Up), ("down", PowerRounding::Down), ("nearest", PowerRounding::Nearest)];

pub(super) fn bit_cast(it: &Attributes<'_>) -> Built {
    let to = it.int("to").ok_or_else(|| it.missing("to"))?;
    Ok(Box::new(BitCast { to: element(it, "to", to)? }))
}

/// The default axis is the last one, and up to version 12 the second.
pub(super) fn softmax(it: &Attributes<'_>, operators: RowOperators, has_rest: bool) -> Built {
    let axis = it.int("axis").unwrap_or(if has_rest { 1 } else { -1 });
    Ok(Box::new(Softmax { operators, axis, has_rest }))
}

pub(super) fn einsum(it: &Attributes<'_>) -> Built {
    let text = it.text("equation").ok_or_else(|| it.missing("equation"))?;
    let equation = Equation::parse(&text).map_err(|problem| {
        let accepted = "terms of letters, as in ij,jk->ik";
        it.node.invalid("attribute equation", &text, problem, accepted)
    })?;
    Ok(Box::new(Einsum { equation }))
}

/// In version 7 the mask has the data's type.
pub(super) fn dropout_7(_: &Attributes<'_>) -> Built {
    Ok(Box::new(Dropout { mask: None }))
}

pub(super) fn dropout(_: &Attributes<'_>) -> Built {
    Ok(Box::new(Dropout { mask: Some(ElementType::Bool) }))
}

pub(super) fn shape(it: &Attributes<'_>) -> Built {
    let (start, end) = (it.int("start").unwrap_or(0), it.int("end"));
    Ok(Box::new(ShapeOf { element: ElementType::INT64, start, end }))
}

pub(super) fn gather(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Gather { axis: Some(it.int("axis").unwrap_or(0)) }))
}

pub(super) fn concat(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Concat { axis: it.int("axis").ok_or_else(|| it.missing("axis"))? }))
}

pub(super) fn split_2(it: &Attributes<'_>) -> Built {
    let parts = match it.ints("split") {
        Some(lengths) if !lengths.is_empty() => Parts::Lengths(lengths),
        _ => Parts::Input(Equal { count: it.outputs, has_rest: false }),
    };
    Ok(Box::new(Split { axis: it.int("axis").unwrap_or(0), parts }))
}

pub(super) fn split(it: &Attributes<'_>) -> Built {
    let count = match it.int("num_outputs") {
        None => it.outputs,
        Some(count) => {
            usize::try_from(count).ok().filter(|count| *count == it.outputs).ok_or_else(|| {
                let problem = "is not the number of outputs";
                it.node.invalid("attribute num_outputs", count, problem, it.outputs.to_string())
            })?
        }
    };
    let has_rest = it.int("num_outputs").is_some();
    let parts = Parts::Input(Equal { count, has_rest });
    Ok(Box::new(Split { axis: it.int("axis").unwrap_or(0), parts }))
}

pub(super) fn slice_1(it: &Attributes<'_>) -> Built {
    let starts = it.ints("starts").ok_or_else(|| it.missing("starts"))?;
    let ends = it.ints("ends").ok_or_else(|| it.missing("ends"))?;
    Ok(Box::new(Slice::Fixed { starts, ends, axes: it.ints("axes") }))
}

/// The modes of Pad; versions before 19 lack the last one.
pub(super) static PADDING_MODES: [(&str, PaddingMode); 4] = [
    ("constant", PaddingMode::Constant),
    ("reflect", PaddingMode::Reflection),
    ("edge", PaddingMode::Edge),
    ("wrap", PaddingMode::Wrap),
];

pub(super) fn padding_mode(
    it: &Attributes<'_>,
    modes: &[(&str, PaddingMode)],
) -> Result<PaddingMode> {
    let given = it.text("mode").unwrap_or_else(|| "constant".to_owned());
    choice(it, "mode", &given, modes)
}

/// The choice that `given` names.
pub(super) fn choice<T: Copy>(
    it: &Attributes<'_>,
    name: &str,
    given: &str,
    choices: &[(&str, T)],
) -> Result<T> {
    let found = choices.iter().find(|(name, _)| *name == given).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let path = format!("attribute {name}");
        it.node.invalid(path, format!("{given:?}"), "is unknown", names.join(", "))
    })
}

pub(super) fn pad_2(it: &Attributes<'_>) -> Built {
    let mode = padding_mode(it, &PADDING_MODES[..3])?;
    let pads = it.ints("pads").ok_or_else(|| it.missing("pads"))?;
    let value = it.float("value").unwrap_or(0.0);
    Ok(Box::new(Pad { mode, source: Margins::Attributes { pads, value } }))
}

pub(super) fn pad(it: &Attributes<'_>, modes: &[(&str, PaddingMode)]) -> Built {
    Ok(Box::new(Pad { mode: padding_mode(it, modes)?, source: Margins::Inputs }))
}

fn blocks(it: &Attributes<'_>, to_depth: bool) -> Built {
    let orders =
        [("DCR", DepthSpaceOrder::DepthColumnRow), ("CRD", DepthSpaceOrder::ColumnRowDepth)];
    let given = it.text("mode").unwrap_or_else(|| "DCR".to_owned());
    let order = choice(it, "mode", &given, &orders)?;
    let size = it.int("blocksize").ok_or_else(|| it.missing("blocksize"))?;
    Ok(Box::new(Blocks { size, to_depth, order }))
}

pub(super) fn space_to_depth(it: &Attributes<'_>) -> Built {
    blocks(it, true)
}

pub(super) fn depth_to_space(it: &Attributes<'_>) -> Built {
    blocks(it, false)
}

pub(super) fn unsqueeze_1(it: &Attributes<'_>) -> Built {
    let axes = it.ints("axes").ok_or_else(|| it.missing("axes"))?;
    Ok(Box::new(Unsqueeze { axes: Some(axes) }))
}

pub(super) fn reshape(it: &Attributes<'_>) -> Built {
    let zero = if it.flag("allowzero", false) { Zero::Kept } else { Zero::Copied };
    Ok(Box::new(Reshape { zero, shape: None }))
}

pub(super) fn flatten(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Flatten { axis: it.int("axis").unwrap_or(1) }))
}

pub(super) fn transpose(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Transpose { order: it.ints("perm") }))
}

pub(super) fn expand(_: &Attributes<'_>) -> Built {
    Ok(Box::new(Broadcast { bidirectional: true }))
}

pub(super) fn clip_6(it: &Attributes<'_>) -> Built {
    let (min, max) = (it.float("min"), it.float("max"));
    Ok(Box::new(Clip { bounds: Bounds::Attributes { min, max } }))
}

pub(super) fn clip(_: &Attributes<'_>) -> Built {
    Ok(Box::new(Clip { bounds: Bounds::Inputs }))
}

pub(super) fn modulus(it: &Attributes<'_>) -> Built {
    let truncates = it.flag("fmod", false);
    let function = if truncates { REMAINDER } else { FLOOR_REMAINDER };
    Ok(Box::new(ElementWise::new(function)))
}

pub(super) fn gelu(it: &Attributes<'_>) -> Built {
    match it.text("approximate").as_deref() {
        None | Some("none") => Ok(Box::new(ElementWise::new(GELU))),
        Some("tanh") => Ok(Box::new(ApproximateGelu)),
        Some(other) => {
            let (path, accepted) = ("attribute approximate", "\"none\" or \"tanh\"");
            Err(it.node.invalid(path, format!("{other:?}"), "is unknown", accepted))
        }
    }
}

pub(super) fn bit_shift(it: &Attributes<'_>) -> Built {
    let direction = it.text("direction").ok_or_else(|| it.missing("direction"))?;
    let directions = [("LEFT", BitShift::Left), ("RIGHT", BitShift::Right)];
    Ok(Box::new(choice(it, "direction", &direction, &directions)?))
}

pub(super) fn swi_glu(it: &Attributes<'_>) -> Built {
    Ok(Box::new(SwiGlu { alpha: it.float("alpha").unwrap_or(1.0) }))
}

pub(super) fn is_infinity(it: &Attributes<'_>) -> Built {
    let detects = ["detect_positive", "detect_negative"].map(|name| it.flag(name, true));
    let mode = match detects {
        [true, true] => IsInfinityMode::Either,
        [true, false] => IsInfinityMode::Positive,
        [false, true] => IsInfinityMode::Negative,
        [false, false] => return Ok(Box::new(ElementWise::new(NEVER_INFINITE))),
    };
    let function = Function::new(Types::Numbers, &tables::ELEMENT_WISE_IS_INFINITY).truth();
    let attributes = vec![FieldValue::Uint(mode.dml_value())];
    Ok(Box::new(ElementWise { attributes, ..ElementWise::new(function) }))
}
