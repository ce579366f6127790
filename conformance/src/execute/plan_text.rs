//! Descriptors and plans for reports.

use std::fmt::Write as _;

use dml::core::FieldValue;
use dml::core::plan::{Aliases, Plan, Step};
use dml::core::schema::FieldSchema;
use dml::{AbstractOperator, TensorDesc};

/// Longer arrays of bytes and regions are cut.
const SHOWN: usize = 8;

/// The operator and its fields, one a line.
pub fn descriptor(operator: &AbstractOperator) -> String {
    let mut text = operator.schema().name.to_owned();
    for (name, value) in fields(operator) {
        // Writing to a String does not fail.
        let _ = write!(text, "\n  {name}: {value}");
    }
    text
}

/// The operator's fields by DirectML's names, each with its value as text.
fn fields(operator: &AbstractOperator) -> impl Iterator<Item = (&'static str, String)> {
    let pairs = operator.schema().fields.iter().zip(operator.fields());
    pairs.map(|(field, value)| (field.name, field_text(field, value)))
}

fn field_text(field: &FieldSchema, value: &FieldValue) -> String {
    match value {
        FieldValue::Tensor(None) | FieldValue::OperatorDesc(None) | FieldValue::ScaleBias(None) => {
            "none".to_owned()
        }
        FieldValue::Tensor(Some(desc)) => tensor(desc),
        FieldValue::TensorArray(all) => list(all, tensor),
        FieldValue::OperatorDesc(Some(nested)) => nested_operator(nested),
        FieldValue::OperatorDescArray(all) => list(all, nested_operator),
        FieldValue::ScalarUnion(scalar) => {
            let bits = u64::from_le_bytes(scalar.to_bytes());
            format!("{bits:#018x}")
        }
        FieldValue::Uint(value) => {
            let name = field.enumeration.and_then(|enumeration| enumeration.name_of(*value));
            name.map_or_else(|| value.to_string(), |name| format!("{name} ({value})"))
        }
        FieldValue::Uint64(value) => value.to_string(),
        FieldValue::Int(value) => value.to_string(),
        FieldValue::Float(value) => float(value),
        FieldValue::Bool(value) => value.to_string(),
        FieldValue::UintArray(all) => list(all, u32::to_string),
        FieldValue::IntArray(all) => list(all, i32::to_string),
        FieldValue::FloatArray(all) => list(all, float),
        FieldValue::ScaleBias(Some([scale, bias])) => {
            format!("scale {}, bias {}", float(scale), float(bias))
        }
        FieldValue::Size2d([width, height]) => format!("width {width}, height {height}"),
    }
}

fn float(value: &f32) -> String {
    format!("{value:?} ({:#010x})", value.to_bits())
}

fn list<T>(all: &[T], text: impl Fn(&T) -> String) -> String {
    let texts: Vec<String> = all.iter().map(text).collect();
    format!("[{}]", texts.join(", "))
}

/// An operator that is the value of a field: its tensors are those of the outer one.
fn nested_operator(operator: &AbstractOperator) -> String {
    let given = fields(operator).filter(|(_, value)| value != "none");
    let texts: Vec<String> = given.map(|(name, value)| format!("{name}: {value}")).collect();
    let name = operator.schema().name;
    if texts.is_empty() { name.to_owned() } else { format!("{name} ({})", texts.join(", ")) }
}

fn tensor(desc: &TensorDesc) -> String {
    let mut text = format!("{} {:?}", desc.data_type, desc.sizes);
    if let Some(strides) = &desc.strides {
        let _ = write!(text, ", strides {strides:?}");
    }
    if let Some(size) = desc.total_tensor_size_in_bytes {
        let _ = write!(text, ", {size} bytes");
    }
    if desc.flags.bits() != 0 {
        let _ = write!(text, ", flags {:#x}", desc.flags.bits());
    }
    if desc.guaranteed_base_offset_alignment != 0 {
        let _ = write!(text, ", alignment {}", desc.guaranteed_base_offset_alignment);
    }
    text
}

/// The steps that are executed, one a line, after the inputs that are outputs.
pub fn text(plan: &Plan, aliases: &Aliases) -> String {
    let pairs = aliases.pairs();
    let mut lines: Vec<String> =
        pairs.map(|(input, output)| format!("input {input} is output {output}")).collect();
    let Some(executed) = plan.exec_with(aliases) else {
        lines.push("which may not be executed in place like that".to_owned());
        return lines.join("\n");
    };
    let phases = [("initialize: ", plan.init.as_slice()), ("", &*executed)];
    lines.extend(
        phases
            .into_iter()
            .flat_map(|(phase, steps)| steps.iter().map(move |it| format!("{phase}{}", step(it)))),
    );
    if lines.is_empty() {
        lines.push("nothing to execute".to_owned());
    }
    lines.join("\n")
}

fn step(step: &Step) -> String {
    match step {
        Step::Fill(fill) => {
            format!("fill {:?} {:?} with {:#010x}", fill.slot, fill.range, fill.pattern)
        }
        Step::Update(update) => {
            let bytes: String =
                update.data.iter().take(2 * SHOWN).map(|it| format!("{it:02x}")).collect();
            let end = update.offset + update.data.len() as u64;
            let more = if update.data.len() > 2 * SHOWN { ".." } else { "" };
            format!("update {:?} {}..{end} with {bytes}{more}", update.slot, update.offset)
        }
        Step::Copy(copy) => {
            let regions: Vec<String> = copy
                .regions
                .iter()
                .take(SHOWN)
                .map(|region| {
                    format!(
                        "{}+{} to {}",
                        region.source_offset, region.size, region.destination_offset
                    )
                })
                .collect();
            let more = copy.regions.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let regions = regions.join(", ");
            format!("copy {:?} to {:?}: {regions}{more}", copy.source, copy.destination)
        }
        Step::Dispatch(dispatch) => {
            let key = &dispatch.kernel;
            let windows: Vec<String> = dispatch
                .windows
                .iter()
                .map(|window| format!("{:?} {:?} {:?}", window.slot, window.range, window.access))
                .collect();
            let words = dispatch.push_constants.chunks(4);
            let words: Vec<String> = words
                .map(|word| word.iter().rev().map(|it| format!("{it:02x}")).collect())
                .collect();
            format!(
                "dispatch {} {:?} in {:?} groups: {}; push constants {}",
                key.variant.name,
                key.specialization,
                dispatch.groups,
                windows.join(", "),
                words.join(" ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use dml::core::operators::{ACTIVATION_LEAKY_RELU, GEMM};

    use super::*;

    #[test]
    fn a_descriptor_shows_the_names_of_enumerations_and_no_rust() {
        let mut fields: Vec<FieldValue> =
            GEMM.fields.iter().map(|field| field.field_type.empty_value()).collect();
        let plain = descriptor(&AbstractOperator::new(&GEMM, fields.clone()).unwrap());
        assert!(plain.contains("\n  TransA: NONE (0)\n"), "{plain}");
        assert!(plain.ends_with("\n  FusedActivation: none"), "{plain}");
        let leaky = AbstractOperator::nested(&ACTIVATION_LEAKY_RELU, vec![FieldValue::Float(0.5)]);
        *fields.last_mut().unwrap() = FieldValue::OperatorDesc(Some(Box::new(leaky.unwrap())));
        let fused = descriptor(&AbstractOperator::new(&GEMM, fields).unwrap());
        let activation = "ACTIVATION_LEAKY_RELU (Alpha: 0.5 (0x3f000000))";
        assert!(fused.ends_with(&format!("\n  FusedActivation: {activation}")), "{fused}");
    }

    #[test]
    fn arrays_are_lists_of_numbers() {
        let desc = TensorDesc::packed(dml::DataType::Float32, &[2]);
        let text = |value| field_text(&GEMM.fields[0], &value);
        assert_eq!(text(FieldValue::UintArray(vec![1, 2])), "[1, 2]");
        assert_eq!(text(FieldValue::FloatArray(vec![0.5])), "[0.5 (0x3f000000)]");
        assert_eq!(text(FieldValue::TensorArray(vec![desc])), "[FLOAT32 [2]]");
        assert_eq!(text(FieldValue::Size2d([3, 4])), "width 3, height 4");
        let scaled = text(FieldValue::ScaleBias(Some([1.0, 0.0])));
        assert_eq!(scaled, "scale 1.0 (0x3f800000), bias 0.0 (0x00000000)");
    }
}
