//! Descriptors and plans for reports.

use std::fmt::Write as _;

use dml::core::FieldValue;
use dml::core::plan::{Aliases, Plan, Step};
use dml::{AbstractOperator, TensorDesc};

/// Longer arrays of bytes and regions are cut.
const SHOWN: usize = 8;

/// The operator and its fields, one a line.
pub fn descriptor(operator: &AbstractOperator) -> String {
    let schema = operator.schema();
    let mut text = schema.name.to_owned();
    for (field, value) in schema.fields.iter().zip(operator.fields()) {
        let value = match value {
            FieldValue::Tensor(Some(desc)) => tensor(desc),
            FieldValue::Tensor(None) => "none".to_owned(),
            FieldValue::ScalarUnion(scalar) => {
                let bits = u64::from_le_bytes(scalar.to_bytes());
                format!("{bits:#018x}")
            }
            FieldValue::Uint(value) => value.to_string(),
            FieldValue::Uint64(value) => value.to_string(),
            FieldValue::Int(value) => value.to_string(),
            FieldValue::Float(value) => format!("{value:?} ({:#010x})", value.to_bits()),
            FieldValue::Bool(value) => value.to_string(),
            other => format!("{other:?}"),
        };
        // Writing to a String does not fail.
        let _ = write!(text, "\n  {}: {value}", field.name);
    }
    text
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
    let phases = [("initialize: ", plan.init.as_slice()), ("", executed)];
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
                .map(|it| format!("{}+{} to {}", it.source_offset, it.size, it.destination_offset))
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
                .map(|it| format!("{:?} {:?} {:?}", it.slot, it.range, it.access))
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
